/* SPDX-License-Identifier: MIT */
/*
 * repl_command.c - the commands of the prompt, a row each. See repl.h
 */

#include "agent/base/units.h"
#include "agent/repl/repl.h"

#define WORDS_MAX 3

static int parse_state(const char *word, uint32_t *state, struct err *e)
{
	uint64_t n;

	if (units_parse_count(word, &n) < 0 || n > UINT32_MAX)
		return err_say(e, EINVAL, "'%.40s' is no state's number", word);
	*state = (uint32_t)n;
	return 0;
}

/* what comes next is of this branch, which is at this state */
static int go_to(struct repl *r, const char *command, uint32_t branch, uint32_t state,
		 struct err *e)
{
	r->session.branch = branch;
	r->session.state = state;
	r->branches[branch].state = state;
	return repl_record(r, command, branch, state, NULL, e);
}

static int rollback(struct repl *r, char *const *words, struct err *e)
{
	const uint32_t branch = r->session.branch;
	uint32_t state = 0;
	int s = parse_state(words[0], &state, e);

	if (s == 0)
		s = session_change(&r->session, SESSION_ROLLBACK, branch, state, e);
	if (s < 0)
		return s;
	show_note(&r->show, "at state %" PRIu32 " again; files stay", state);
	return go_to(r, "rollback", branch, state, e);
}

/* its number, or -ENOENT */
static int find_branch(const struct repl *r, const char *name, struct err *e)
{
	for (uint32_t i = 0; i < r->branch_count; i++)
		if (r->branches[i].name[0] && strcmp(r->branches[i].name, name) == 0)
			return (int)i;
	return err_say(e, ENOENT, "there is no branch '%.40s'; :branch lists them", name);
}

static int list_branches(struct repl *r)
{
	for (uint32_t i = 0; i < r->branch_count; i++)
		if (r->branches[i].name[0])
			show_note(&r->show, "%c %s at state %" PRIu32,
				  i == r->session.branch ? '*' : ' ', r->branches[i].name,
				  r->branches[i].state);
	return 0;
}

static int branch(struct repl *r, char *const *words, struct err *e)
{
	const uint32_t new = r->branch_count;
	uint32_t state = r->session.state;
	int s = 0;

	if (!words[0])
		return list_branches(r);
	if (strlen(words[0]) >= REPL_NAME_BYTES ||
	    words[0][strspn(words[0], TEXT_WORD ".-")] ||
	    find_branch(r, words[0], e) >= 0)
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
	r->branch_count++;
	return go_to(r, "branch", new, state, e);
}

static int switch_to(struct repl *r, char *const *words, struct err *e)
{
	int found = find_branch(r, words[0], e);

	return found < 0
		       ? found
		       : go_to(r, "switch", (uint32_t)found, r->branches[found].state, e);
}

static int drop(struct repl *r, char *const *words, struct err *e)
{
	int found = find_branch(r, words[0], e);
	const uint32_t branch = (uint32_t)found;

	if (found < 0)
		return found;
	if (branch == r->session.branch)
		return err_say(e, EBUSY, "you are on that branch; :switch first");

	int s = session_change(&r->session, SESSION_DROP, branch, 0, e);

	if (s < 0)
		return s;
	r->branches[found].name[0] = '\0';
	return repl_record(r, "drop", branch, 0, NULL, e);
}

static int states(struct repl *r, char *const *words, struct err *e)
{
	const cJSON *root = session_status(&r->session, e);

	(void)words;
	if (!root)
		return -e->errnum;
	show_note(&r->show, "session number %u, root tree %s, %s for a step",
		  r->session.jails, r->plan.jail->rootfs,
		  units_say_time(r->plan.step_ms).text);
	show_note(&r->show, "on branch %s, at state %" PRIu32,
		  r->branches[r->session.branch].name, r->session.state);
	show_note(&r->show, "  %-7s%-7s%s", "state", "from", "memory");
	for (const cJSON *one = json_first(json_get(root, "states")); one;
	     one = one->next) {
		uint64_t state = 0, parent = 0, bytes = 0;

		(void)json_count(one, "state", &state);
		(void)json_count(one, "parent", &parent);
		(void)json_count(one, "bytes", &bytes);
		show_note(&r->show, "%c %-7" PRIu64 "%-7" PRIu64 "%s",
			  state == r->session.state ? '*' : ' ', state, parent,
			  units_say_size(bytes).text);
	}
	return 0;
}

static int reset(struct repl *r, char *const *words, struct err *e)
{
	(void)words;

	int s = session_renew(&r->session, e);

	repl_start(r);
	if (s < 0)
		return s;
	show_note(&r->show, "a new session");
	return repl_record(r, "reset", 0, 0, NULL, e);
}

static int help(struct repl *r, char *const *words, struct err *e);

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
	{ "states", "", 0, 0, states,
	  "Session, branch, and the states that are kept: what each came from." },
	{ "files", "[DIR]", 0, 1, repl_files,
	  "List /work, or a folder of it: kind, bytes, time, name." },
	{ "put", "FILE [NAME]", 1, 2, repl_put, "Copy a file of yours into /work." },
	{ "get", "NAME [FILE]", 1, 2, repl_get,
	  "Copy a file out of /work; nothing of yours is written over." },
	{ "show", "", 0, 0, repl_show, "Show again what the last step showed." },
	{ "status", "", 0, 0, states, "The same." },
	{ "reset", "", 0, 0, reset, "End the session and begin a new one." },
	{ "help", "", 0, 0, help, "This list." },
	{ "quit", "", 0, 0, quit, "Leave, as Ctrl-D and exit() do." },
};

static int help(struct repl *r, char *const *words, struct err *e)
{
	char head[40];

	(void)words;
	(void)e;
	for (size_t i = 0; i < COUNT(commands); i++) {
		(void)snprintf(head, sizeof(head), ":%s %s", commands[i].name,
			       commands[i].usage);
		show_note(&r->show, "%-20s%s", head, commands[i].help);
	}
	return 0;
}

void repl_names(const char *part, size_t length, struct text *names)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strncmp(commands[i].name, part, length) == 0)
			text_printf(names, "%s\n", commands[i].name);
}

static int act(struct repl *r, char *text, struct err *e)
{
	char *words[WORDS_MAX + 2] = { NULL };
	char *rest = NULL;
	int count = 0;

	for (char *w = strtok_r(text, " \t", &rest); w && count <= WORDS_MAX;
	     w = strtok_r(NULL, " \t", &rest))
		words[count++] = w;
	for (size_t i = 0; count && i < COUNT(commands); i++) {
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

	text_add(&copy, line + 1, length - 1);

	int s = act(r, copy.length ? copy.bytes : (char[]){ "" }, e);

	return s >= 0 || s == -EINTR || r->transcript.failed ? s : repl_go_on(r, e);
}
