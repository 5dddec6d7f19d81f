/* SPDX-License-Identifier: MIT */
/*
 * cgroup_scope.c - where no leaves may be made, start again in a delegated scope of
 * systemd: see cgroup_enter_scope() in cgroup.h
 *
 * Theory of operation
 *   systemd-run --scope moves itself into a new scope and executes what it was given in
 *   its own place, so that pid, fds, folder and signals stay as they are. If it fails it
 *   ends with a status of its own, which would pass for the program's. So a child tries
 *   it first, and keeps its words; only where that works does this process become it.
 *   "--in-scope" before the command says that this has happened, so that it happens once.
 * See systemd-run(1), systemd.scope(5)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/cgroup.h"

/* never by PATH: as root, this is executed as root */
static const char *const runners[] = { "/usr/bin/systemd-run", "/bin/systemd-run" };

static bool in_scope;
static char refusal[160]; /* what systemd-run said; empty: not tried */

void cgroup_entered_scope(void)
{
	in_scope = true;
}

bool cgroup_in_scope(void)
{
	return in_scope;
}

static const char *find_runner(void)
{
	for (size_t i = 0; i < sizeof(runners) / sizeof(runners[0]); i++)
		if (access(runners[i], X_OK) == 0)
			return runners[i];
	return NULL;
}

const char *cgroup_advice(void)
{
	static char text[400];
	unsigned int uid = geteuid();

	if (!find_runner())
		(void)snprintf(text, sizeof(text),
			       "there is no systemd-run; type as root: d=/sys/fs/cgroup/"
			       "u%u; echo +cpu +memory +pids >/sys/fs/cgroup/"
			       "cgroup.subtree_control; mkdir $d; chown %u $d "
			       "$d/cgroup.procs $d/cgroup.subtree_control; echo %d "
			       ">$d/cgroup.procs",
			       uid, uid, getppid());
	else if (uid == 0)
		(void)snprintf(
			text, sizeof(text),
			"type: systemd-run --scope -p Delegate=yes stepjail ...%s%s",
			*refusal ? ", which was tried: " : "", refusal);
	else
		(void)snprintf(
			text, sizeof(text),
			"type: systemd-run --user --scope -p Delegate=yes stepjail "
			"...%s%s%s%u%s",
			*refusal ? ", which was tried: " : "", refusal,
			"; where this user has no systemd, as root: systemd-run "
			"--uid=",
			uid, " -p Delegate=yes --pipe --wait stepjail ...");
	return text;
}

/* systemd-run's command line, with @more behind it */
static char **scope_argv(const char *runner, char *exe, char *const *more)
{
	static char user[] = "--user", scope[] = "--scope", quiet[] = "--quiet",
		    property[] = "--property=Delegate=yes", end[] = "--",
		    guard[] = "--in-scope";
	size_t n = 0, count = 0;
	char **argv;

	while (more[count])
		count++;
	argv = calloc(count + 9, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[n++] = (char *)(uintptr_t)runner;
	if (geteuid() != 0)
		argv[n++] = user;
	argv[n++] = scope;
	argv[n++] = quiet;
	argv[n++] = property;
	argv[n++] = end;
	argv[n++] = exe;
	argv[n++] = guard;
	memcpy(argv + n, more, count * sizeof(*argv));
	return argv;
}

/* can it be done? Ends with 0 or not, and its words, in one line, are in refusal */
static int try_runner(const char *runner, char *exe)
{
	static char version[] = "version";
	cleanup_free char **argv = scope_argv(runner, exe, (char *[]){ version, NULL });
	int ends[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (!argv || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(ends[1], 2) == 2)
			(void)execv(runner, argv);
		_exit(1);
	}
	(void)close(ends[1]);
	n = pid < 0 ? 0 : io_read_all(ends[0], refusal, sizeof(refusal) - 1);
	(void)close(ends[0]);
	refusal[n > 0 ? n : 0] = '\0';
	refusal[strcspn(refusal, "\n")] = '\0';
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void cgroup_enter_scope(char *const *argv)
{
	const char *runner = find_runner();
	char exe[PATH_MAX], where[128];
	struct err e;
	int base = -1, r;
	ssize_t n;

	if (in_scope || !runner)
		return;
	r = cgroup_find(NULL, &base, where, sizeof(where), &e);
	io_close_fd(&base);
	if (r != -EACCES && r != -EBUSY)
		return;
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n < 0)
		return;
	exe[n] = '\0';
	(void)signal(SIGCHLD, SIG_DFL);
	if (try_runner(runner, exe) != 0) {
		if (!*refusal)
			(void)snprintf(refusal, sizeof(refusal), "it fails");
		return;
	}

	cleanup_free char **words = scope_argv(runner, exe, argv + 1);

	if (words)
		(void)execv(runner, words);
	(void)snprintf(refusal, sizeof(refusal), "%s", strerror(errno));
}
