/* SPDX-License-Identifier: MIT */
/*
 * warm_program.c - a template whose clones look at their walls: in place of the interpreter
 *
 * Linked with what the interpreter is linked with. --template: be one, its channel on fd 0;
 * whatever else: the same look by an ordinary program, executed.
 */
#include <signal.h>
#include <stdlib.h>

#define main walls_main
#include "tests/integration/walls.c"
#undef main

#include "init/err.h"
#include "jail/warm.h"

/* a warm program knows nothing that an executed one would not */
static void look_at_template(void)
{
	char text[64] = "";
	struct stat st;

	wall(kill(getppid(), 0) < 0 && errno == EPERM, "init is not to be signalled");
	wall(stat("/stepjail", &st) < 0, "no folder of the template");
	wall(readlink("/proc/self/fd/0", text, sizeof(text) - 1) < 0 ||
		     strncmp(text, "socket:", 7) != 0,
	     "not the template's channel");
	wall(refused(open("/proc/self/exe", O_WRONLY | O_CLOEXEC)), "its own file");
	for (int pid = 3; pid < 400; pid++) {
		(void)snprintf(text, sizeof(text), "/proc/%d", pid);
		wall(stat(text, &st) < 0 && kill(pid, 0) < 0 && errno == ESRCH,
		     "no other process is there");
	}
	for (int s = 1; s < NSIG; s++) {
		struct sigaction now = { 0 };

		wall(sigaction(s, NULL, &now) < 0 || now.sa_handler == SIG_DFL,
		     "signals are by default");
	}
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int channel, null;

	if (argc < 2 || strcmp(argv[1], "--template") != 0)
		return walls_main(argc, argv);
	channel = fcntl(0, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (channel < 0 || dup2(null, 0) < 0)
		return 2;
	(void)close(null);

	int r = warm_serve(channel, &e);

	if (r == 1) {
		look_at_template();
		r = walls_main(argc - 1, argv + 1);
		(void)fflush(stdout);
		_exit(r);
	}
	if (r < 0)
		(void)fprintf(stderr, "%s\n", e.text);
	return r < 0;
}
