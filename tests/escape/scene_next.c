/* SPDX-License-Identifier: MIT */
/*
 * scene_next.c - scenes of probes whose victim is the user's next jail, or its launcher
 */
#include "tests/escape/scene.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* another jail of the same options and two more words. @input: its stdin, -1 for none */
static int run_another(const struct run *r, int input, const char *option,
		       const char *value, const char *const last[4])
{
	char *words[2 * WORDS_MAX], bind[PATH_MAX + 32];
	const char *const first[] = { r->launcher,      "run",  "--bind", bind,
				      "--capture=both", option, value };
	size_t n = 0;
	int status = -1;
	pid_t pid = fork();

	if (pid != 0) {
		(void)waitpid(pid, &status, 0);
		return status;
	}
	(void)snprintf(bind, sizeof(bind), "%s:" PROBE_PATH, r->bound);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		words[n++] = (char *)(uintptr_t)first[i];
	for (size_t i = 0; r->user[i]; i++)
		words[n++] = r->user[i];
	words[n++] = (char *)(uintptr_t) "--";
	words[n++] = (char *)(uintptr_t)PROBE_PATH;
	for (size_t i = 0; i < 4; i++)
		words[n++] = (char *)(uintptr_t)last[i];
	words[n] = NULL;
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(input >= 0 && fd == 0 ? input : open("/dev/null", O_RDWR), fd);
	(void)execv(words[0], words);
	_exit(125);
}

/* it does nothing, and ends */
static int run_next(const struct run *r, const char *option, const char *value)
{
	return run_another(r, -1, option, value, (const char *[4]){ "nothing" });
}

/* what jails without walls have left is not there before a run, and does not stay */
static void forget(struct run *r)
{
	(void)r;
	(void)umount2("/run/stepjail/net", MNT_DETACH);
}

/* Until no socket is in the first lease but @most: those that a jail had are freed some
 * milliseconds after its end, and until then the next jail is in another lease. */
static void wait_freed(unsigned long most)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char text[1024] = "";
		int fd = open("/run/stepjail/net/0", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
			_exit(0); /* an ordinary user's jails have none */
		for (int i = 0; i < 1000; i++) {
			if (probe_read("/proc/thread-self/net/sockstat", text,
				       sizeof(text)) > 0 &&
			    strtoul(text + strlen("sockets: used "), NULL, 10) <= most)
				break;
			(void)usleep(10000);
		}
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
}

/* the probe's first half, in a jail that ends before its other half begins */
static void left(struct run *r)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		r->missing = "a pair of sockets";
		return;
	}
	r->input = r->fd[0] = ends[0];
	r->fd[1] = ends[1];
	run_word(r, "%s", r->marker);
	if (!r->inside)
		return;
	forget(r);
	(void)run_another(
		r, ends[1], "--report", "/dev/null",
		(const char *[4]){ "--probe-self", r->probe->name, "leave", r->marker });
	wait_freed((r->probe->walls & W(LEASE)) != 0);
}

/* outside, a process in the same namespace, which ends as well */
static void left_outside(struct run *r)
{
	char leave[] = "leave", *argv[] = { leave, r->marker, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		(void)dup2(r->fd[1], 0);
		r->probe->act(argv);
		_exit(1);
	}
	(void)waitpid(pid, NULL, 0);
}
const struct scene scene_left = { .wrap = IN_NAMESPACES,
				  .set_up = left,
				  .tear_down = forget,
				  .outside = left_outside };

static void planted(struct run *r)
{
	run_folder(r, "open");
	run_file(r, "victim", "kept\n");
	run_option(r, "--bind-rw", "%s:" SHOWN_PATH, run_path(r, "open"));
	run_word(r, "%s", run_where(r, SHOWN_PATH, run_path(r, "open")));
}

/* the next run writes into the folder that the jail had; outside, any program does */
static int written_through(struct run *r)
{
	if (r->inside) {
		(void)run_next(r, "--report", run_path(r, "open/link"));
		(void)run_next(r, "--report", run_path(r, "open/way/victim"));
	} else {
		(void)close(open(run_path(r, "open/link"), O_WRONLY | O_TRUNC));
	}
	return !probe_file_has(run_path(r, "victim"), "kept");
}
const struct scene scene_planted = { .set_up = planted, .effect = written_through };

#define NOT_YET (-1)

/* the probe waits on its stdin, having said that it is ready */
static void flight(struct run *r)
{
	int ends[2];

	if (r->inside && r->limits->captured)
		r->missing =
			"output as it is printed, by which the probe says that it is "
			"ready: run without --capture";
	else if (pipe2(ends, O_CLOEXEC) < 0)
		r->missing = "a pipe";
	else
		r->input = r->fd[0] = ends[0], r->fd[1] = ends[1];
	r->most = NOT_YET;
}

/* outside, any process that has a limit as low as the jail's and hands over one fd */
static int send_one(const struct run *r)
{
	rlim_t files = (rlim_t)r->limits->files;
	int ends[2], status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ files, files });
		_exit(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
		      !probe_send_stdin(ends[0], 1));
	}
	(void)waitpid(pid, &status, 0);
	return status;
}

static void send_while_held(struct run *r)
{
	if (r->most != NOT_YET || !strstr(r->text, "ready"))
		return;
	r->most = r->inside ? run_next(r, "--report", "/dev/null") : send_one(r);
	(void)close(r->fd[1]);
	r->fd[1] = -1;
}

static int nobody_sends(struct run *r)
{
	return r->most != 0;
}
const struct scene scene_flight = { .set_up = flight,
				    .sample = send_while_held,
				    .effect = nobody_sends };
