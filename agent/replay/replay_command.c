/* SPDX-License-Identifier: MIT */
/*
 * replay_command.c - what was done at a prompt between steps, done again. See replay.h
 */

#include "agent/replay/replay.h"
#include "init/io.h"

#define NOTHING 0 /* the session's own lines say it all */
#define SEND_FILE (-1)
#define PEEK (-2) /* names were asked for, which used up a state's number */

static int put(struct replay *r, const cJSON *line, struct err *e)
{
	const cJSON *file = json_get(line, "file");
	const char *name = json_text(file, "name");
	cleanup_fd int fd = -1;

	if (!*name)
		return err_say(e, EBADMSG, "the transcript does not say which file");

	const char *path =
		replay_file(r, json_text(file, "path"), json_text(file, "sha256"), e);

	if (!path)
		return -e->errnum;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(e, errno, "%s", path);
	return session_put(r->session, fd, name, e);
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
	{ "complete", PEEK, false },
	{ .name = NULL },
};

int replay_command(struct replay *r, const cJSON *line, struct err *e)
{
	uint32_t branch = 0, state = 0;
	bool good = json_u32(line, "branch", &branch) && json_u32(line, "state", &state);
	const struct command_row *row = commands;
	int s = 0;

	while (row->name && strcmp(row->name, json_text(line, "command")) != 0)
		row++;
	if (!good || !row->name)
		return err_say(e, EBADMSG, "the transcript has an unknown command");
	if (row->change == SEND_FILE)
		s = put(r, line, e);
	else if (row->change == PEEK)
		s = session_peek(r->session, "pass\n", strlen("pass\n"), &r->step, e);
	else if (row->change != NOTHING)
		s = session_change(r->session, (enum session_change)row->change, branch,
				   state, e);
	if (s < 0 && s != -EINTR) {
		/* it did not fail then; and there is no jail without a session */
		replay_differs(r, ":%s cannot be repeated: %s", row->name, e->text);
		return replay_renew(r, e);
	}
	if (s == 0 && row->moves) {
		r->session->branch = branch;
		r->session->state = state;
	}
	return s;
}
