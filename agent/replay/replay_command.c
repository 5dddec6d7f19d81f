/* SPDX-License-Identifier: MIT */
/*
 * replay_command.c - what was done at a prompt between steps, done again. See replay.h
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/replay/replay.h"
#include "init/io.h"
#include "init/serve_wire.h"

static int ask(struct replay *r, uint16_t type, const struct serve_state *to,
	       struct err *e)
{
	size_t bytes = type == WIRE_DROP ? sizeof(struct serve_at) : sizeof(*to);

	return session_ask(&r->session, type, to, bytes, NULL, e);
}

static int rollback(struct replay *r, const struct serve_state *to, const cJSON *line,
		    struct err *e)
{
	(void)line;
	return ask(r, WIRE_ROLLBACK, to, e);
}

static int branch(struct replay *r, const struct serve_state *to, const cJSON *line,
		  struct err *e)
{
	(void)line;
	return ask(r, WIRE_BRANCH, to, e);
}

static int drop(struct replay *r, const struct serve_state *to, const cJSON *line,
		struct err *e)
{
	(void)line;
	return ask(r, WIRE_DROP, to, e);
}

static int put(struct replay *r, const struct serve_state *to, const cJSON *line,
	       struct err *e)
{
	const cJSON *file = json_get(line, "file");
	const char *name = json_text(file, "name");
	const char *path = *name ? replay_file(r, json_text(file, "path"),
					       json_text(file, "sha256"), e)
				 : NULL;
	cleanup_fd int fd = -1;

	(void)to;
	if (!*name)
		return err_say(e, EBADMSG, "the transcript does not say which file");
	if (!path)
		return -e->errnum;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, errno, "%s", path);
	return session_put(&r->session, fd, name, e);
}

static const struct {
	const char *name;
	/* NULL where the session's own lines say it all */
	int (*act)(struct replay *r, const struct serve_state *to, const cJSON *line,
		   struct err *e);
	bool moves; /* the session is there then */
} commands[] = {
	{ "rollback", rollback, true }, { "branch", branch, true },
	{ "switch", NULL, true },       { "drop", drop, false },
	{ "put", put, false },          { "reset", NULL, false },
};

/* a command that fails now, and did not then, is a difference; there is no jail without
 * one */
static int refused(struct replay *r, const char *name, int s, const struct err *why,
		   struct err *e)
{
	cleanup_text struct text words = { 0 };

	if (s == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	text_printf(&words, ":%s cannot be done again: %s", name, why->text);
	replay_differs(r, text_string(&words));
	if (r->session.open)
		return 0;
	r->fresh = true;
	return session_renew(&r->session, e);
}

int replay_command(struct replay *r, const cJSON *line, struct err *e)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(line, "command");
	struct serve_state to = { 0 };
	struct err why = { 0 };

	if (!cJSON_IsString(name) || !json_u32(line, "branch", &to.branch) ||
	    !json_u32(line, "state", &to.state))
		return err_say(e, EBADMSG, "the transcript has a command that is none");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name->valuestring) != 0)
			continue;

		int s = commands[i].act ? commands[i].act(r, &to, line, &why) : 0;

		if (s < 0)
			return refused(r, commands[i].name, s, &why, e);
		if (commands[i].moves) {
			r->session.branch = to.branch;
			r->session.state = to.state;
		}
		return 0;
	}
	return err_say(e, EBADMSG, "the transcript has a command that is none");
}
