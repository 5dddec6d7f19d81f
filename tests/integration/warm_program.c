/* SPDX-License-Identifier: MIT */
/*
 * warm_program.c - a template whose clones look at their walls: in place of the
 * interpreter
 *
 * Linked with what the interpreter is linked with. --template: be one, its channel on fd
 * 0; whatever else: the same look by an ordinary program, executed. MODE is one of
 *	locked	a clone tries to execute something, with every key that it could know
 *	stay	a clone says "stands" once it has looked, and stays
 *	threads	the template has a second thread
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define main walls_main
#include "tests/integration/walls.c"
#undef main

#include "init/err.h"
#include "jail/walls/warm.h"

/* a warm program knows nothing that an executed one would not */
static void look_at_template(void)
{
	char text[64] = "";
	struct stat st;

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

/* by --lock-code: no number in execve's fourth argument lets it through */
static void look_at_lock(void)
{
	static const unsigned long keys[] = { 0, ~0UL, 0x5ec2e75ec1a551c5UL };
	char file[] = "/bin/stepjail-interpreter";
	char *const none[] = { file, NULL };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		wall(refused(syscall(SYS_execve, file, none, none + 1, keys[i])),
		     "execve is locked");
	(void)puts("locked");
}

static void *idle(void *nothing)
{
	(void)pause();
	return nothing;
}

static int be_clone(const char *mode, int argc, char **argv)
{
	int r;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	look_at_template();
	if (strcmp(mode, "locked") == 0)
		look_at_lock();
	r = walls_main(argc - 1, argv + 1);
	if (r == 0 && strcmp(mode, "stay") == 0)
		(void)puts("stands");
	(void)fflush(stdout);
	while (strcmp(mode, "stay") == 0)
		(void)pause();
	_exit(r);
}

int main(int argc, char **argv)
{
	const char *mode = getenv("MODE") ? getenv("MODE") : "";
	pthread_t thread;
	struct err e = { 0 };
	int channel, null;

	if (argc < 2 || strcmp(argv[1], "--template") != 0)
		return walls_main(argc, argv);

	/* a template is a child of the program, as the interpreter's is */
	pid_t pid = fork();
	int status = 1;

	if (pid != 0)
		return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
	channel = fcntl(0, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (channel < 0 || dup2(null, 0) < 0)
		return 2;
	(void)close(null);

	if (strcmp(mode, "threads") == 0 &&
	    (pthread_create(&thread, NULL, idle, NULL) != 0 ||
	     pthread_setname_np(thread, "busybody") != 0))
		return 2;

	int r = warm_serve(channel, &e);

	if (r == 1)
		be_clone(mode, argc, argv);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", e.text);
	return r < 0;
}
