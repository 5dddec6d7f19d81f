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
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"

/* not found by PATH, because root executes it */
static char runner[] = "/usr/bin/systemd-run";

bool cgroup_in_scope;
static char refusal[160]; /* what systemd-run said; empty where it was not tried */

static bool has_runner(void)
{
	/* as sd_booted(3) */
	return access("/run/systemd/system", F_OK) == 0 && access(runner, X_OK) == 0;
}

const char *cgroup_advice(void)
{
	static char text[400];
	unsigned int uid = geteuid();

	if (has_runner())
		(void)snprintf(
			text, sizeof(text),
			"type: systemd-run %s--scope -p Delegate=yes stepjail ...%s%s; where this user has no systemd, as root: systemd-run --uid=%u -p Delegate=yes --pipe --wait stepjail ...",
			uid ? "--user " : "", *refusal ? ", which was tried: " : "",
			refusal, uid);
	else
		(void)snprintf(
			text, sizeof(text),
			"no systemd-run here; type as root: d=/sys/fs/cgroup/u%u; echo +cpu +memory +pids >/sys/fs/cgroup/cgroup.subtree_control; mkdir $d; chown %u $d $d/cgroup.procs $d/cgroup.subtree_control; echo %d >$d/cgroup.procs",
			uid, uid, getppid());
	return text;
}

int cgroup_ask(char *const *argv, int stream, char *text, size_t size)
{
	int ends[2], status = -1;
	ssize_t n;
	pid_t pid;

	*text = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (dup2(null, 0) == 0 && dup2(null, 3 - stream) == 3 - stream &&
		    dup2(ends[1], stream) == stream)
			(void)execv(argv[0], argv);
		_exit(1);
	}
	(void)close(ends[1]);
	n = pid < 0 ? 0 : io_read_all(ends[0], text, size - 1);
	(void)close(ends[0]);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

bool cgroup_ask_delegated(const char *path)
{
	static char systemctl[] = "/bin/systemctl",
		    which[2][9] = { "--system", "--user" }, show[] = "show",
		    value[] = "--value", property[] = "--property=Delegate";
	static char asked[PATH_MAX];
	static bool answer;
	char text[8];

	if (strcmp(path, asked) == 0)
		return answer;
	(void)snprintf(asked, sizeof(asked), "%s", path);
	answer = cgroup_ask((char *[]){ systemctl, which[strstr(path, "/user@") != NULL],
					show, value, property, strrchr(asked, '/') + 1,
					NULL },
			    1, text, sizeof(text)) == 0 &&
		 strcmp(text, "yes") == 0;
	return answer;
}

void cgroup_enter_scope(char *const *argv)
{
	static char exe[PATH_MAX];
	char *words[] = {
		runner, "--user", "--scope",    "--quiet", "--property=Delegate=yes",
		"--",   exe,      "--in-scope", "version", NULL
	};
	const size_t fixed = 8, first = geteuid() == 0;
	size_t count = 1;
	struct err e;
	char where[128];
	int base = -1, r;

	if (cgroup_in_scope || !has_runner())
		return;
	r = cgroup_find(NULL, &base, where, sizeof(where), &e);
	io_close_fd(&base);
	if ((r != -EACCES && r != -EBUSY) ||
	    readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return;
	words[first] = runner;
	(void)signal(SIGCHLD, SIG_DFL);
	if (cgroup_ask(words + first, 2, refusal, sizeof(refusal)) != 0) {
		if (!*refusal)
			(void)snprintf(refusal, sizeof(refusal), "its job fails");
		return;
	}
	while (argv[count])
		count++;

	char **all = calloc(fixed + count, sizeof(*all));

	if (!all)
		return;
	memcpy(all, words + first, (fixed - first) * sizeof(*all));
	memcpy(all + fixed - first, argv + 1, count * sizeof(*all));
	(void)execv(runner, all);
	(void)snprintf(refusal, sizeof(refusal), "%s", strerror(errno));
	free(all);
}
