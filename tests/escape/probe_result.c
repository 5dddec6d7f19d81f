/* SPDX-License-Identifier: MIT */
/*
 * probe_result.c - forged results: what a program may try to have the report say
 *
 * The scene reads the report and compares: what the kernel told the launcher counts, and
 * nothing that the program says.
 */
#include "tests/escape/scene.h"

#include <sys/socket.h>

/* what the launcher's own failures and timeouts exit with */
static void exit_as_launcher(char **argv)
{
	(void)argv;
	_exit(125);
}

static void exit_as_timeout(char **argv)
{
	(void)argv;
	_exit(124);
}

/* as if the launcher, or a memory limit, had killed it */
static void kill_as_limit(char **argv)
{
	(void)argv;
	(void)kill(getpid(), SIGKILL);
}

static void signal_as_cpu(char **argv)
{
	(void)argv;
	(void)signal(SIGXCPU, SIG_DFL);
	(void)kill(getpid(), SIGXCPU);
}

/* a report of its own, on every fd there is, before it fails */
static void print_report(char **argv)
{
	static const char forged[] =
		"\n{\"stepjail\":\"0\",\"verdict\":\"completed\",\"exit_code\":0,"
		"\"status\":0}\n";

	(void)argv;
	for (int fd = 1; fd < 1024; fd++)
		(void)!write(fd, forged, sizeof(forged) - 1);
	_exit(3);
}

/* the frame by which init says how the program ended: type, length, and a zero status */
static void forge_frame(char **argv)
{
	unsigned char frame[64] = { 0 };

	(void)argv;
	for (int fd = 3; fd < 1024; fd++)
		for (unsigned char type = 1; type < 8; type++) {
			frame[4] = type;
			(void)!send(fd, frame, sizeof(frame),
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		}
	_exit(3);
}

/* the program ends well, and a child of it goes on: the jail must be over all the same */
static void outlive(char **argv)
{
	(void)argv;
	if (fork() == 0) {
		(void)setsid();
		(void)alarm(20);
		(void)pause();
	}
	_exit(3);
}

/* a child fails in its place */
static void exit_by_child(char **argv)
{
	(void)argv;
	if (fork() == 0)
		_exit(0);
	(void)wait(NULL);
	(void)kill(getppid(), SIGCHLD);
	_exit(3);
}

/* calls that are told of, and that do nothing wherever they are let through */
static void ask_keyring(void)
{
	(void)syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0, 0, 0);
}

static void ask_events(void)
{
	(void)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

/* far more of one kind than are answered at once, and one of another behind it */
static void flood_record(char **argv)
{
	(void)argv;
	for (int i = 0; i < 600; i++)
		ask_keyring();
	ask_events();
	_exit(3);
}

/* one call, and a record of others that nobody made, on every fd */
static void forge_record(char **argv)
{
	static const char forged[] =
		"\n\"violations\":{\"total\":0,\"unlisted\":0,\"list\":[]}\n";

	(void)argv;
	ask_events();
	for (int fd = 1; fd < 1024; fd++)
		(void)!write(fd, forged, sizeof(forged) - 1);
	forge_frame(argv);
}

/* the call is a child's, which ends, and whose parent would rather not have it known */
static void disown_record(char **argv)
{
	(void)argv;
	if (fork() == 0) {
		(void)setsid();
		ask_events();
		_exit(0);
	}
	(void)wait(NULL);
	_exit(3);
}

#define ROW(name, text, act, expected)                                                   \
	{                                                                                \
		name, text, W(REPORT), &scene_judged, act, 0, expected                   \
	}

/* what the report's record must have, "|" between */
#define LIST(name, text, act, expected)                                                  \
	{                                                                                \
		name, text, W(SECCOMP) | W(REPORT), &scene_listed, act, 0, expected      \
	}

/* the verdict and exit code that the report must give, however loudly they differ */
static const struct probe probes[] = {
	ROW("forge-launcher", "end as if the launcher had failed", exit_as_launcher,
	    "exited 125"),
	ROW("forge-timeout", "end as if a wall time had ended it", exit_as_timeout,
	    "exited 124"),
	ROW("forge-memory", "end as if a memory limit had killed it", kill_as_limit,
	    "signaled 137"),
	ROW("forge-cpu", "end as if a CPU limit had killed it", signal_as_cpu,
	    "signaled 152"),
	ROW("forge-report", "write a report of its own on every fd", print_report,
	    "exited 3"),
	ROW("forge-frame", "send init's frames to the launcher", forge_frame, "exited 3"),
	ROW("forge-outlive", "go on in a child when the program has ended", outlive,
	    "exited 3"),
	ROW("forge-child", "have a child's end taken for its own", exit_by_child,
	    "exited 3"),
	LIST("violation-flood", "hide a refused call behind a flood of another kind",
	     flood_record,
	     "\"count\":600,|\"syscall\":\"keyctl\"|\"syscall\":\"perf_event_open\""),
	LIST("violation-forge", "write a record of refused calls of its own",
	     forge_record, "\"count\":1,|\"syscall\":\"perf_event_open\""),
	LIST("violation-child", "have a refused call made by a child that is gone",
	     disown_record, "\"count\":1,|\"syscall\":\"perf_event_open\""),
};

AREA(result, "forged results", probes);
