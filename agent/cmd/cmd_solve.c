/* SPDX-License-Identifier: MIT */
/*
 * cmd_solve.c - stepjail-agent solve: one task, one model, one jail
 */
#include <unistd.h>

#include "agent/base/memory.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/solve.h"
#include "agent/skills/skills.h"

#define ROW(group, kind, field) OPT_ROW(group, kind, struct solve_options, field)
#define COMMON(group, kind, field) OPT_COMMON(group, kind, struct solve_options, field)
#define PART(rows, field) OPT_PART(rows, struct solve_options, field)

static const struct opt opts[] = {
	{ "model", "MODEL", NULL, COMMON(MODEL, TEXT, model),
	  "Who writes the code: openai, anthropic, ollama, llamacpp or vllm, which say how a server is spoken to and where it usually is (openai is right for each server of chat completions; give --base-url), also with the model's name: ollama/NAME; or scripted:FILE, replies from a file, with no model." },
	{ "model-name", "NAME", NULL, COMMON(MODEL, TEXT, plan.model_name),
	  "The model's name on the server." },
	{ "code-in", NULL, "text", COMMON(MODEL, CHOICE, code_in),
	  "Take code from the text of replies (in fences or tags), or from calls of a tool named python; then a tool named answer can end the task, too.",
	  .choices = { "text", "tools" } },
	{ "base-url", "URL", NULL, COMMON(MODEL, TEXT, plan.base_url),
	  "The server's address, without /chat/completions or /messages at its end, such as https://api.openai.com/v1, and without a query. Each --model has its own default." },
	{ "key-file", "FILE", NULL, COMMON(MODEL, TEXT, plan.key_file),
	  "Read the API key from this file, which nobody else may be able to read (chmod 600), or from a pipe as /dev/fd/NUMBER. Without it the key is in STEPJAIL_API_KEY, or OPENAI_API_KEY with openai, ANTHROPIC_API_KEY with anthropic." },
	{ "model-time", "TIME", "2m", ROW(MODEL, TIME, plan.request_ms),
	  "Give a request up when the server has sent nothing for this long.", .min = 100,
	  .max = HOUR_MS },
	{ "retries", "NUMBER", "4", ROW(MODEL, COUNT, plan.retries),
	  "How often to repeat a request that failed: no connection, 408, 429, 5xx, or an answer that broke off.",
	  .min = 0, .max = 1000 },
	{ "retry-wait", "TIME", "500ms", ROW(MODEL, TIME, plan.retry_wait_ms),
	  "Wait this long before the first retry, and twice as long before each next one, up to 40 times as long.",
	  .min = 1, .max = HOUR_MS },
	{ "context", "TOKENS", NULL, ROW(MODEL, COUNT, context_tokens),
	  "Size of the model's context window; when it is nearly full, old observations are left out.",
	  .min = 1000, .max = 1000000000 },
	{ "reply-tokens", "NUMBER", NULL, ROW(MODEL, COUNT, reply_tokens),
	  "The longest reply to ask for; without this the server decides (with anthropic, it is 8192).",
	  .min = 1, .max = 1000000000 },
	{ "vision", NULL, NULL, ROW(MODEL, FLAG, plan.vision),
	  "Send the pictures that steps show (PNG) to the model, which must be able to see. The newest 8 are sent, each of 2 MiB and 8000 pixels a side at the most; --check-prompt does not get them." },
	{ "set", "KEY=JSON", NULL, ROW(MODEL, LIST, set),
	  "One more member of each request, such as temperature=0.2, seed=7 or reasoning='{\"effort\": \"high\"}'. May be given again." },
	{ "header-file", "FILE", NULL, ROW(MODEL, TEXT, plan.header_file),
	  "Send each line of this file, \"Name: value\", as one more header of each request. Nobody else may be able to read it (chmod 600)." },
	{ "stateless", NULL, NULL, ROW(JAIL, FLAG, stateless),
	  "Run each step in a fresh jail; nothing is kept from step to step." },
	{ "tests", "FILE", NULL, COMMON(JUDGING, LIST, tests),
	  "The answer counts when the tests in this file pass in a fresh jail: unittest, pytest with --rootfs data, or plain cases (.json, .jsonl), which the model cannot read. May be given again." },
	{ "continue", "[=TRANSCRIPT]", NULL, COMMON(TASK, TEXT, again),
	  "Go on where this run ended, or was cut off: its code runs again in the new session, and the model has its conversation before TASK. Alone, the last run of solve or chat." },
	{ "confirm", NULL, NULL, COMMON(TASK, FLAG, confirm),
	  "Ask on the terminal before each step: y runs it; n REASON does not, and tells the model why; stop ends the task." },
	{ "skills", "DIR", NULL, ROW(TASK, TEXT, skills),
	  "Let the code import the modules in this folder (from skills.NAME import NAME), and tell the model of them." },
	{ "system", "FILE", NULL, ROW(TASK, TEXT, system),
	  "Give the model the words in this file, behind the agent's own rules." },
	{ "json", NULL, NULL, COMMON(RESULTS, FLAG, json),
	  "Print one JSON object at the end, also of a run that fails before its first step, and nothing else on stdout; progress goes to stderr." },
	{ "events", NULL, NULL, ROW(RESULTS, FLAG, events), TRANSCRIPT_EVENTS },
	{ "quiet", NULL, NULL, COMMON(RESULTS, FLAG, quiet),
	  "Show no progress on stderr." },
	{ .name = NULL },
};

static void solve_free(struct solve **where)
{
	struct solve *s = *where;

	session_close(&s->task.session);
	broker_close(&s->task.confined.broker);
	loop_free(&s->loop);
	transcript_close(&s->task.transcript);
	jail_binds_free(&s->binds);
	text_free(&s->asked);
	cJSON_Delete(s->settings);
	resume_close(&s->resume);
	lines_close(&s->lines);
	free(s);
}

/* @task: NULL for a chat */
static int solve_run(const void *options, const char *task, struct stop *stop,
		     struct err *e)
{
	const struct solve_options *o = options;
	__attribute__((cleanup(solve_free))) struct solve *s =
		memory_zeroed(1, sizeof(*s));

	s->o = o;
	s->chat = !task;
	s->task.stop = stop;
	s->task.transcript.fd = -1;
	s->task.confined = CONFINED_NOT(o->require_confinement);
	s->loop.task = s->loop.checks.task = &s->task;
	s->loop.out = OUT_NONE;
	s->loop.shown = SHOWN_NONE;
	s->loop.asker.fd = s->resume.fd = -1;
	show_open(&s->task.show, o->quiet ? -1 : STDERR_FILENO, (enum show_color)o->color,
		  stop);

	int r = task && strcmp(task, "-") == 0 ? solve_read_task(s, e) : 0;

	if (r == 0)
		r = solve_plan(s, e);
	if (r < 0)
		return r;
	show_line(&s->task.show, "%s", text_string(&s->loop.model.label));
	s->task.confined.client = s->loop.model.client;
	r = confined_go(&s->task.confined, stop, e);
	/* from here on, what comes is hostile */
	if (r == 0 && s->resume.fd >= 0)
		r = resume_check(&s->resume, &s->loop, e);
	s->loop.asked = s->asked.length ? text_string(&s->asked) : task;
	s->loop.context_tokens = o->context_tokens;
	s->loop.reply_tokens = o->reply_tokens;
	show_wait(&s->task.show, "preparing the tree ", s->o->jail.rootfs);
	if (r == 0)
		r = session_open(&s->task.session, &s->task.plan, stop, e);
	show_wait(&s->task.show, NULL, "");
	if (r < 0 ||
	    (o->skills && skills_list(o->skills, &s->task.session, &s->task.show,
				      &s->loop.preface, e) < 0) ||
	    (s->loop.tests.count && tests_start(&s->loop.tests, &s->task, e) < 0) ||
	    checks_start(&s->loop.checks, e) < 0)
		return loop_unstarted(&s->loop, -e->errnum, e);
	show_not_enforced(&s->task.show, s->task.session.opened);
	/* what stepjail said while it started: that a wall is missing, for one */
	show_said(&s->task.show, &s->task.session.serve.diag);
	if (task)
		return solve_finish(s, loop_run(&s->loop, e), e);
	r = loop_begin(&s->loop, e);
	return solve_finish(
		s, loop_end(&s->loop, r < 0 ? loop_broken(r) : chat_talk(s, e), e), e);
}

#define ALL_PARTS                                                                        \
	OPT_PARTS(PART(jail_opts, jail), PART(out_opts, out), { opts, 0 },               \
		  PART(budget_opts, budget), PART(pass_opts, jail),                      \
		  PART(host_opts, jail), PART(checks_opts, checks),                      \
		  PART(transcript_opts, transcript),                                     \
		  PART(confine_opts, require_confinement), PART(color_opts, color))

static const struct exit_row exits[] = {
	{ "0", "The model gave an answer." },
	{ "3", "No answer: the steps, or another limit of the task, are used up." },
	{ "4",
	  "No answer: the model failed. It could not be reached, it refused, or its reply made no sense." },
	{ "5",
	  "No answer: --check-prompt refused what was to be sent to the model, or a person said stop at --confirm." },
	{ "6", "An answer, but not all files of --out could be written." },
	{ "124", "No answer: --wall-time is used up." },
	{ NULL, NULL },
};

const struct command command_solve = {
	.name = "solve",
	.operand = "TASK",
	.summary = "Let a model solve a task by writing Python that runs in a jail.",
	.about =
		"The model is given the task, and the names and first lines of the files. Its code runs in a jail, step by step in one interpreter; after each step it is told what the code printed and how it ended. A reply without code is the answer.\n\n"
		"With - for TASK, the task is read from stdin, at most 1 MiB.\n\n"
		"The FILE of --model scripted:FILE is UTF-8 text. A line '--- turn' begins a reply, and the lines behind it are its text. Directly behind '--- turn' there may be lines 'expect: TEXT', which the message that is answered must contain; 'finish: length', which marks the reply as cut off; and 'call: python', which makes the text the arguments of a call of that tool (or of answer). Lines before the first turn that begin with # are comments.\n\n"
		"With --tests, the model writes files; its answer counts when the tests pass with these files in a fresh jail. Tests for unittest or pytest share a process with the solution, so a solution that is written to change the test runner passes them. Plain cases are compared in a jail where the solution has never been. They are a list of objects like {\"call\": \"module.function\", \"args\": [1], \"kwargs\": {}, \"returns\": 2}, or with \"raises\": \"ValueError\".\n\n"
		"Code is taken from ```python fences and <execute_python> tags; where a reply has neither, from fences without a word. Several blocks are run as one step, in order. With --code-in tools, code is taken only from calls of the tool python. A reply without a call is the answer, and so is the text of a call of the tool answer, which may be code.\n\n" SHOWN_ABOUT
		"\n\n"
		"A check (--check-answer, --check-reply, --check-prompt) is a command line: words and quotes as in a shell, but nothing is expanded, and there is no shell. It runs in a fresh jail with the root tree, limits and files of the steps, and reads from stdin what it is to check. python3 is the jail's own interpreter; another program needs --lock-code=no. Only exit status 0 lets that pass: a check that crashes, takes too long or hits a limit has refused. A check that cannot be started ends the task with status 125.\n\n"
		"With --skills DIR, the code can import DIR's modules: from skills.NAME import NAME. The model is told of the 32 that were changed last: signature and first line of the docstring. No jail can change DIR. To keep a function that a model has written, let it be copied out by --out, look at it, and put it into DIR.\n\n"
		"A task has six limits: --steps, --wall-time, --total-cpu-time, --total-output, --total-tokens, --total-cost. After each step the model is told what is left of them. When steps, CPU time or output are used up, it has one more reply to answer in; the other limits end the task at once.",
	.exits = exits,
	ALL_PARTS,
	.opts_bytes = sizeof(struct solve_options),
	.run = solve_run,
};

const struct command command_chat = {
	.name = "chat",
	.summary = "Talk with a model that works with Python in a jail.",
	.about =
		"What a person types goes to the model, whose code runs step by step in one session, as with solve; its reply without code is the answer, and the next line is the person's. Variables are kept from turn to turn. :undo takes the last turn back, from the conversation and with its variables; files stay. Ctrl-C interrupts a step, and ends the chat while the model is waited for. exit, :quit and Ctrl-D leave.\n\n"
		"--steps and --wall-time are those of a turn; the other limits are those of the whole chat. --continue goes on where an earlier chat or solve has ended.",
	ALL_PARTS,
	.opts_bytes = sizeof(struct solve_options),
	.run = solve_run,
};
