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

#define NOTHING 0 /* the session's own lines say it all */
#define SEND_FILE (-1)

static int put(struct replay *r, const cJSON *line, struct err *e)
{
	const cJSON *file = json_get(line, "file");
	const char *name = json_text(file, "name");
	const char *path;
	cleanup_fd int fd = -1;

	if (!*name)
		return err_say(e, EBADMSG, "the transcript does not say which file");
	path = replay_file(r, json_text(file, "path"), json_text(file, "sha256"), e);
	if (!path)
		return -e->errnum;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, errno, "%s", path);
	return session_put(&r->session, fd, name, e);
}

static const struct command_row {
	const char *name;
	int change; /* enum session_change, SEND_FILE, or NOTHING */
	bool moves; /* the session is there then */
} commands[] = {
	{ "rollback", SESSION_ROLLBACK, true },
	{ "branch", SESSION_BRANCH, true },
	{ "switch", NOTHING, true },
	{ "drop", SESSION_DROP, false },
	{ "put", SEND_FILE, false },
	{ "reset", NOTHING, false },
};

static int act(struct replay *r, const struct command_row *row, uint32_t branch,
	       uint32_t state, const cJSON *line, struct err *e)
{
	if (row->change == NOTHING)
		return 0;
	if (row->change == SEND_FILE)
		return put(r, line, e);
	return session_change(&r->session, (enum session_change)row->change, branch,
			      state, e);
}

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
	uint32_t branch = 0, state = 0;
	struct err why = { 0 };
	bool good = json_u32(line, "branch", &branch) && json_u32(line, "state", &state);

	for (size_t i = 0; good && i < COUNT(commands); i++) {
		const struct command_row *row = &commands[i];

		if (strcmp(row->name, json_text(line, "command")) != 0)
			continue;

		int s = act(r, row, branch, state, line, &why);

		if (s < 0)
			return refused(r, row->name, s, &why, e);
		if (row->moves) {
			r->session.branch = branch;
			r->session.state = state;
		}
		return 0;
	}
	return err_say(e, EBADMSG, "the transcript has a command that is none");
}
