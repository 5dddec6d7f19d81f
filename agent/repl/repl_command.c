/* SPDX-License-Identifier: MIT */
/*
 * repl_command.c - the commands of the prompt, a row each. See repl.h
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/repl/repl.h"
#include "init/io.h"

#define WORDS_MAX 3

static int say(struct repl *r, const char *line)
{
	show_note(&r->show, line);
	return 0;
}

static int parse_state(const char *word, uint32_t *state, struct err *e)
{
	uint64_t n;

	if (units_parse_count(word, &n) < 0 || n > UINT32_MAX)
		return err_say(e, EINVAL, "'%.40s' is no state's number", word);
	*state = (uint32_t)n;
	return 0;
}

static int rollback(struct repl *r, char *const *words, struct err *e)
{
	const uint32_t branch = r->session.branch;
	uint32_t state = 0;
	int s = parse_state(words[0], &state, e);
	char line[80];

	if (s == 0)
		s = session_change(&r->session, SESSION_ROLLBACK, branch, state, e);
	if (s < 0)
		return s;
	r->session.state = state;
	r->branches[branch].state = state;
	(void)snprintf(line, sizeof(line), "at state %" PRIu32 " again; files stay",
		       state);
	(void)say(r, line);
	return repl_record(r, "rollback", branch, state, NULL, e);
}

static int find_branch(const struct repl *r, const char *name)
{
	for (uint32_t i = 0; i < r->branch_count; i++)
		if (r->branches[i].name[0] && strcmp(r->branches[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int list_branches(struct repl *r)
{
	for (uint32_t i = 0; i < r->branch_count; i++) {
		const struct repl_branch *b = &r->branches[i];
		char line[REPL_NAME_BYTES + 40];

		if (!b->name[0])
			continue;
		(void)snprintf(line, sizeof(line), "%c %s at state %" PRIu32,
			       i == r->session.branch ? '*' : ' ', b->name, b->state);
		(void)say(r, line);
	}
	return 0;
}

static bool good_name(const char *name)
{
	return strlen(name) < REPL_NAME_BYTES &&
	       strspn(name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
		       strlen(name);
}

static int branch(struct repl *r, char *const *words, struct err *e)
{
	const uint32_t new = r->branch_count;
	uint32_t state = r->session.state;
	int s = 0;

	if (!words[0])
		return list_branches(r);
	if (!good_name(words[0]) || find_branch(r, words[0]) >= 0)
		return err_say(
			e, EINVAL,
			"a branch's name is new, of letters, digits and _.-, at most 31 of them");
	if (r->branch_count == REPL_BRANCHES_MAX)
		return err_say(e, E2BIG, "there have been %d branches; :reset for more",
			       REPL_BRANCHES_MAX);
	if (words[1])
		s = parse_state(words[1], &state, e);
	if (s == 0)
		s = session_change(&r->session, SESSION_BRANCH, new, state, e);
	if (s < 0)
		return s;
	(void)snprintf(r->branches[new].name, REPL_NAME_BYTES, "%s", words[0]);
	r->branches[new].state = state;
	r->branch_count++;
	r->session.branch = new;
	r->session.state = state;
	return repl_record(r, "branch", new, state, NULL, e);
}

static int no_branch(const char *name, struct err *e)
{
	return err_say(e, ENOENT, "there is no branch '%.40s'; :branch lists them", name);
}

static int switch_to(struct repl *r, char *const *words, struct err *e)
{
	int found = find_branch(r, words[0]);

	if (found < 0)
		return no_branch(words[0], e);
	r->session.branch = (uint32_t)found;
	r->session.state = r->branches[found].state;
	return repl_record(r, "switch", r->session.branch, r->session.state, NULL, e);
}

static int drop(struct repl *r, char *const *words, struct err *e)
{
	int found = find_branch(r, words[0]);
	const uint32_t branch = (uint32_t)found;

	if (found < 0)
		return no_branch(words[0], e);
	if (branch == r->session.branch)
		return err_say(e, EBUSY, "you are on that branch; :switch first");

	int s = session_change(&r->session, SESSION_DROP, branch, 0, e);

	if (s < 0)
		return s;
	r->branches[found].name[0] = '\0';
	return repl_record(r, "drop", branch, 0, NULL, e);
}

static void print_branches(struct repl *r)
{
	char line[120];

	(void)snprintf(
		line, sizeof(line), "branch %s, state %" PRIu32 "; %u sessions begun",
		r->branches[r->session.branch].name, r->session.state, r->session.jails);
	(void)say(r, line);
}

/* stepjail's JSON, for a person: indented, harmless */
static int print_status(struct repl *r, const cJSON *root, struct err *e)
{
	cleanup_free char *printed = cJSON_Print(root);
	cleanup_text struct text out = { 0 };

	(void)e;
	escape_lines(&out, "", printed, strlen(printed));
	print_branches(r);
	show_text(&r->show, &out);
	return 0;
}

/* a number of stepjail's JSON; -1 where it is none */
static double number(const cJSON *item, const char *name)
{
	const cJSON *n = json_get(item, name);

	return cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble < 1e15
		       ? n->valuedouble
		       : -1;
}

static int print_states(struct repl *r, const cJSON *root, struct err *e)
{
	const cJSON *list = json_get(root, "states");
	const cJSON *one = NULL;

	if (!cJSON_IsArray(list))
		return err_say(e, EBADMSG, "what stepjail answered makes no sense");
	cJSON_ArrayForEach(one, list)
	{
		double state = number(one, "state");
		char line[120];

		(void)snprintf(line, sizeof(line), "%c %.0f from %.0f, %.0f KiB",
			       state == r->session.state ? '*' : ' ', state,
			       number(one, "parent"), number(one, "bytes") / 1024);
		(void)say(r, line);
	}
	return 0;
}

static int ask_status(struct repl *r,
		      int (*print)(struct repl *r, const cJSON *root, struct err *e),
		      struct err *e)
{
	cleanup_text struct text json = { 0 };
	int s = session_status(&r->session, &json, e);

	if (s < 0)
		return s;

	cJSON *root = json_parse(text_string(&json), json.length);

	s = root ? print(r, root, e)
		 : err_say(e, EBADMSG, "what stepjail answered makes no sense");
	cJSON_Delete(root);
	return s;
}

static int status(struct repl *r, char *const *words, struct err *e)
{
	(void)words;
	return ask_status(r, print_status, e);
}

static int states(struct repl *r, char *const *words, struct err *e)
{
	(void)words;
	return ask_status(r, print_states, e);
}

static int reset(struct repl *r, char *const *words, struct err *e)
{
	(void)words;

	int s = session_renew(&r->session, e);

	repl_start(r);
	if (s < 0)
		return s;
	(void)say(r, "a new session");
	return repl_record(r, "reset", 0, 0, NULL, e);
}

static int help(struct repl *r, char *const *words, struct err *e)
{
	cleanup_text struct text out = { 0 };

	(void)words;
	(void)e;
	repl_commands_help(&out);
	show_text(&r->show, &out);
	return 0;
}

static int quit(struct repl *r, char *const *words, struct err *e)
{
	(void)words;
	(void)e;
	r->quitting = true;
	return 0;
}

static const struct {
	const char *name;
	const char *usage; /* the words behind it */
	int least, most;   /* how many */
	/* 0, or -errno with a line for the user */
	int (*act)(struct repl *r, char *const *words, struct err *e);
	const char *help;
} commands[] = {
	{ "rollback", "N", 1, 1, rollback, "Go back to state N; files stay." },
	{ "branch", "[NAME [N]]", 0, 2, branch,
	  "Begin a branch here, or at state N, and go to it; alone, list them." },
	{ "switch", "NAME", 1, 1, switch_to,
	  "Go on with another branch; the first is main." },
	{ "drop", "NAME", 1, 1, drop, "Forget a branch." },
	{ "states", "", 0, 0, states, "The states that are kept." },
	{ "files", "[DIR]", 0, 1, repl_files,
	  "List /work, or a folder of it: kind, bytes, time, name." },
	{ "put", "FILE [NAME]", 1, 2, repl_put, "Copy a file of yours into /work." },
	{ "get", "NAME [FILE]", 1, 2, repl_get,
	  "Copy a file out of /work; nothing of yours is written over." },
	{ "show", "", 0, 0, repl_show, "Show again what the last step showed." },
	{ "status", "", 0, 0, status, "What stepjail knows of the session." },
	{ "reset", "", 0, 0, reset, "End the session and begin a new one." },
	{ "help", "", 0, 0, help, "This list." },
	{ "quit", "", 0, 0, quit, "Leave, as Ctrl-D does." },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void repl_commands_help(struct text *out)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		char head[40];

		(void)snprintf(head, sizeof(head), ":%s %s", commands[i].name,
			       commands[i].usage);
		text_printf(out, "%-20s%s\n", head, commands[i].help);
	}
}

static int act(struct repl *r, char *text, struct err *e)
{
	char *words[WORDS_MAX + 2] = { NULL };
	char *rest = NULL;
	int count = 0;

	for (char *w = strtok_r(text, " \t", &rest); w && count <= WORDS_MAX;
	     w = strtok_r(NULL, " \t", &rest))
		words[count++] = w;
	for (size_t i = 0; count && i < COMMANDS; i++) {
		if (strcmp(commands[i].name, words[0]) != 0)
			continue;
		if (count - 1 < commands[i].least || count - 1 > commands[i].most)
			return err_say(e, EINVAL, "write :%s %s", commands[i].name,
				       commands[i].usage);
		return commands[i].act(r, words + 1, e);
	}
	return err_say(e, EINVAL, "there is no such command; :help lists them");
}

int repl_command(struct repl *r, const char *line, size_t length, struct err *e)
{
	cleanup_text struct text copy = { 0 };
	int s;

	text_add(&copy, line + 1, length - 1);
	s = act(r, copy.length ? copy.bytes : (char[]){ "" }, e);
	return s >= 0 || s == -EINTR || r->transcript.failed ? s : repl_go_on(r, e);
}
