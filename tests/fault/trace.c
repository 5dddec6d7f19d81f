/* SPDX-License-Identifier: MIT */
/*
 * trace.c - run a launcher under ptrace and make one of its calls fail
 *
 * Theory of operation
 *   All processes are followed (PTRACE_O_TRACEFORK and so on), but only the one that
 *   shall fail stops at its system calls, and only until it has failed: a run is hardly
 *   slower than one that nobody watches. At the call's entry its number is replaced by
 *   poll(2) of nothing, which every filter here lets through; at its exit the result is
 *   replaced by the errno. A call whose failure does not undo its work, as close(2), is
 *   let through and only its result replaced. The program itself is let go at its exec,
 *   so that it runs as ever.
 * See ptrace(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "tests/fault/fault.h"

/* the launcher itself gives a jail 30 s to stand: a wait of that length is a hang here */
#define HANG_MS 29000
/* processes that still are, so long after the launcher's end, are left behind */
#define LEFT_MS 30000
#define TICK_MS 100
#define PROCESSES 16
#define CALLS 512

struct traced {
	pid_t pid; /* 0: a free slot */
	char who[PATH_TEXT];
	unsigned int children;
	bool named;   /* its maker has told of it */
	bool stopped; /* waits for that */
	bool failing; /* between entry and exit of the call that fails */
	struct user_regs_struct saved;
	unsigned short count[CALLS];
};

static struct {
	const struct setup *setup;
	const struct fault *fault;
	struct calls *record;
	struct result *r;
	struct traced at[PROCESSES];
	pid_t launcher, keeper;
	bool started, ended; /* the launcher's exec, and its end */
	int program;         /* pidfd, or -1 */
	long deadline_ms;
} run;

static long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct traced *find(pid_t pid)
{
	for (int i = 0; i < PROCESSES; i++)
		if (run.at[i].pid == pid)
			return &run.at[i];
	return NULL;
}

static struct traced *find_or_add(pid_t pid)
{
	struct traced *t = find(pid);

	if (t)
		return t;
	t = find(0);
	if (!t) {
		(void)fprintf(stderr, "fault: more than %d processes\n", PROCESSES);
		exit(2);
	}
	*t = (struct traced){ .pid = pid };
	return t;
}

static bool watches_calls(const struct traced *t)
{
	if (!run.started || t->failing)
		return run.started;
	if (run.record)
		return !run.setup->who ||
		       fnmatch(run.setup->who, t->who, FNM_EXTMATCH) == 0;
	return run.fault && !run.r->hit && strcmp(run.fault->call.who, t->who) == 0;
}

static void resume(struct traced *t, int sig)
{
	t->stopped = false;
	/* it may have been killed meanwhile */
	(void)ptrace(watches_calls(t) ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, NULL,
		     (void *)(long)sig);
}

static void describe(const struct traced *t, const struct ptrace_syscall_info *info,
		     struct call *call)
{
	unsigned long long args[6];

	*call = (struct call){
		.nr = (long)info->entry.nr,
		.nth = t->count[info->entry.nr],
		.late = run.r->ran,
	};
	(void)strcpy(call->who, t->who);
	for (int i = 0; i < 6; i++)
		args[i] = info->entry.args[i];
	call_describe(t->pid, call->nr, args, call->detail);
}

static void note(const struct call *call)
{
	struct calls *c = run.record;

	if (c->count == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		c->at = realloc(c->at, c->room * sizeof(*c->at));
		if (!c->at)
			abort();
	}
	c->at[c->count++] = *call;
}

static void make_fail(struct traced *t)
{
	struct user_regs_struct regs;

	(void)ptrace(PTRACE_GETREGS, t->pid, NULL, &regs);
	t->saved = regs;
	t->failing = true;
	if (call_takes_place((long)regs.orig_rax))
		return;
	regs.orig_rax = SYS_poll;
	regs.rdi = regs.rsi = regs.rdx = 0;
	(void)ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
}

static void finish_failing(struct traced *t)
{
	struct user_regs_struct regs;

	(void)ptrace(PTRACE_GETREGS, t->pid, NULL, &regs);
	regs.rax = (unsigned long long)-run.fault->errnum;
	regs.rdi = t->saved.rdi;
	regs.rsi = t->saved.rsi;
	regs.rdx = t->saved.rdx;
	(void)ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
	t->failing = false;
}

static void on_call(struct traced *t)
{
	const struct call *wanted = run.fault ? &run.fault->call : NULL;
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->failing)
		finish_failing(t);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr >= CALLS)
		return;
	t->count[info.entry.nr]++;
	if (run.record) {
		struct call call;

		describe(t, &info, &call);
		note(&call);
	}
	if (!wanted || run.r->hit || strcmp(wanted->who, t->who) != 0 ||
	    wanted->nr != (long)info.entry.nr || wanted->nth != t->count[info.entry.nr])
		return;
	describe(t, &info, &run.r->met);
	run.r->hit = true;
	make_fail(t);
}

static void on_new(struct traced *maker)
{
	struct user_regs_struct regs;
	unsigned long pid = 0;
	struct traced *t;

	(void)ptrace(PTRACE_GETREGS, maker->pid, NULL, &regs);
	(void)ptrace(PTRACE_GETEVENTMSG, maker->pid, NULL, &pid);
	t = find_or_add((pid_t)pid);
	/* the launcher forks its keeper, and then the copier of --out; a jail takes
	 * clone3(2) */
	if (maker->pid == run.launcher && regs.orig_rax != SYS_clone3) {
		(void)strcpy(t->who, run.keeper ? "copier" : "keeper");
		run.keeper = run.keeper ? run.keeper : t->pid;
	} else {
		maker->children++;
		(void)snprintf(t->who, sizeof(t->who), "%.11s.%u", maker->who,
			       maker->children % 100);
	}
	t->named = true;
	if (t->stopped)
		resume(t, 0);
}

/* Return: true when it was let go */
static bool on_exec(struct traced *t)
{
	char path[64], file[256] = "";
	ssize_t n;

	if (t->pid == run.launcher && !run.started) {
		run.started = true;
		return false;
	}
	if (t->pid == run.keeper)
		(void)strcpy(run.r->outside, "the keeper is executing something; ");
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", t->pid);
	n = readlink(path, file, sizeof(file) - 1);
	if (n < 6 || strcmp(file + n - 6, "/walls") != 0)
		return false;
	run.r->ran = true;
	run.program = (int)syscall(SYS_pidfd_open, t->pid, 0);
	outside_look(run.setup, t->pid, run.r->outside, sizeof(run.r->outside));
	(void)ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
	t->pid = 0;
	return true;
}

static void on_stop(struct traced *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (!t->named) {
		t->stopped = true;
		return;
	}
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	    event == PTRACE_EVENT_CLONE)
		on_new(t);
	if (event == PTRACE_EVENT_EXEC && on_exec(t))
		return;
	if (event == 0 && sig == (SIGTRAP | 0x80))
		on_call(t);
	resume(t, event == 0 && sig != (SIGTRAP | 0x80) ? sig : 0);
}

static void on_end(pid_t pid, int status)
{
	struct traced *t = find(pid);

	if (t)
		t->pid = 0;
	if (pid != run.launcher)
		return;
	run.ended = true;
	run.r->status = status;
	run.deadline_ms = now_ms() + LEFT_MS;
}

static void kill_all(void)
{
	for (int i = 0; i < PROCESSES; i++)
		if (run.at[i].pid)
			(void)kill(run.at[i].pid, SIGKILL);
	run.deadline_ms = now_ms() + LEFT_MS;
}

static void on_late(void)
{
	size_t used = strlen(run.r->left);

	if (!run.ended)
		run.r->hung = true;
	for (int i = 0; run.ended && i < PROCESSES; i++)
		if (run.at[i].pid)
			used += (size_t)snprintf(run.r->left + used,
						 sizeof(run.r->left) - used,
						 "process %s; ", run.at[i].who);
	kill_all();
}

static void tick(int sig)
{
	(void)sig; /* what it is for is that waitpid() returns */
}

static void follow(void)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0 && WIFSTOPPED(status))
			on_stop(find_or_add(pid), status);
		else if (pid > 0)
			on_end(pid, status);
		if (now_ms() > run.deadline_ms)
			on_late();
	}
}

static void start(char *const *argv, int *out, int *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int go[2];

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(err, O_CLOEXEC) < 0)
		abort();
	run.launcher = fork();
	if (run.launcher == 0)
		launcher_become(run.setup, go, out, err, argv);
	if (run.launcher < 0 ||
	    ptrace(PTRACE_SEIZE, run.launcher, NULL, (void *)options) < 0) {
		perror("fault: seize");
		exit(2);
	}

	struct traced *t = find_or_add(run.launcher);

	t->named = true;
	(void)strcpy(t->who, "0");
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(out[1]);
	(void)close(err[1]);
}

static void check_program_gone(void)
{
	struct pollfd ended = { .fd = run.program, .events = POLLIN };

	if (run.program < 0)
		return;
	/* ticks interrupt it: several tries make LEFT_MS */
	for (int i = 0; i < LEFT_MS / TICK_MS && poll(&ended, 1, TICK_MS) <= 0; i++)
		;
	if (!ended.revents) {
		(void)strncat(run.r->left, "the program; ",
			      sizeof(run.r->left) - strlen(run.r->left) - 1);
		(void)syscall(SYS_pidfd_send_signal, run.program, SIGKILL, NULL, 0);
	}
	(void)close(run.program);
}

void trace_run(const struct setup *s, char *const *argv, const struct fault *fault,
	       struct calls *record, struct result *r)
{
	const struct itimerval every = { { 0, TICK_MS * 1000 }, { 0, TICK_MS * 1000 } };
	const struct itimerval never = { 0 };
	int out[2], err[2];

	*r = (struct result){ .status = -1 };
	(void)memset(&run, 0, sizeof(run));
	run.setup = s;
	run.fault = fault;
	run.record = record;
	run.r = r;
	run.program = -1;
	run.deadline_ms = now_ms() + HANG_MS;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* no SA_RESTART */
	(void)sigaction(SIGALRM, &(struct sigaction){ .sa_handler = tick }, NULL);
	outside_begin(s);
	start(argv, out, err);
	(void)setitimer(ITIMER_REAL, &every, NULL);
	follow();
	(void)setitimer(ITIMER_REAL, &never, NULL);
	check_program_gone();
	launcher_output(out[0], r->out, sizeof(r->out));
	launcher_output(err[0], r->err, sizeof(r->err));
	outside_left(s, r->left + strlen(r->left), sizeof(r->left) - strlen(r->left));
}
