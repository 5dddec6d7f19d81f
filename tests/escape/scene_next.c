/* SPDX-License-Identifier: MIT */
/*
 * scene_next.c - scenes of probes whose victim is the user's next jail, or its launcher
 */
#include "tests/escape/scene.h"

#include <sys/resource.h>
#include <sys/socket.h>

/* another jail of the same options and two more words; it does nothing, and ends */
static int run_next(const struct run *r, const char *option, const char *value)
{
	char *words[2 * WORDS_MAX], bind[PATH_MAX + 32];
	const char *const first[] = { r->launcher,      "run",  "--bind", bind,
				      "--capture=both", option, value };
	const char *const last[] = { "--", PROBE_PATH, "nothing" };
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
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		words[n++] = (char *)(uintptr_t)last[i];
	words[n] = NULL;
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(open("/dev/null", O_RDWR), fd);
	(void)execv(words[0], words);
	_exit(125);
}

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
