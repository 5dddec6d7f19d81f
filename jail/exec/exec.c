/* SPDX-License-Identifier: MIT */
/*
 * exec.c - a program more in a container that runs
 *
 * The jail's helper starts it, see helper/call.h. What stays of exec is its stand-in: the
 * process that an engine waits for, signals, and gets the program's status from.
 */
#include <signal.h>
#include <string.h>
#include <sys/file.h>

#include "init/io.h"
#include "jail/base/stdio_check.h"
#include "jail/helper/call.h"
#include "jail/oci/command.h"

/* what an engine describes in a file, or PROGRAM... with the container's own environment
 * and directory */
static int read_program(struct bundle *b, const struct call *c,
			const struct container *box, struct err *e)
{
	int r;

	if (c->option[OPTION_PROCESS])
		return bundle_process(b, c->option[OPTION_PROCESS], e);
	if (!c->words[0])
		return err_say(e, EINVAL, "exec: say --process FILE, or PROGRAM...");
	r = bundle_read(b, bundle_text(box->json, "bundle"), e);
	b->terminal = false;
	words_free(&b->args);
	for (size_t i = 0; c->words[i]; i++)
		words_add(&b->args, "%s", c->words[i]);
	return r;
}

/* those that begin so, without that */
static void add(struct words *w, const struct words *from, const char *before)
{
	size_t n = strlen(before);

	for (size_t i = 0; i < from->count; i++)
		if (strncmp(from->word[i], before, n) == 0)
			words_add(w, "%s", from->word[i] + n);
}

static int begin(const struct bundle *b, const struct call *c,
		 const struct container *box, struct err *e)
{
	struct words w = { 0 };
	int slave = -1, r = console_open(b, c->option[OPTION_CONSOLE_SOCKET], &slave, e);
	bool own = slave < 0;
	const int stdio[] = { own ? 0 : slave, own ? 1 : slave, own ? 2 : slave };

	add(&w, &b->options, "--chdir=");
	add(&w, &b->args, "");
	add(&w, &b->options, "--env=");
	if (r == 0 && own)
		r = stdio_check(e);
	if (r == 0)
		r = call_begin(box->folder, "exec", w.word, w.count, b->args.count, stdio,
			       e);
	if (r == -ECONNREFUSED)
		r = err_say(
			e, ECONNREFUSED,
			"container '%s' can start no other program: its first one has ended the helper that does that, or it runs with lock-code, or with fewer than 80 --files",
			c->id);
	io_close_fd(&slave);
	words_free(&w);
	return r;
}

/* become the program's stand-in, or make it and return */
static int stand_in(const struct call *c, int connection, struct err *e)
{
	const char *file = c->option[OPTION_PID_FILE];
	bool stays = !c->option[OPTION_DETACH];
	pid_t pid = stays ? getpid() : fork();
	char text[16];
	int r;

	if (pid < 0)
		return err_set(e, errno, "fork the program's stand-in");
	(void)snprintf(text, sizeof(text), "%d", pid);
	r = pid && file ? container_write(AT_FDCWD, file, text, e) : 0;
	if (pid == 0 || (stays && r == 0))
		call_watch(connection);
	/* and with it the program, as with this process */
	if (!stays && r < 0)
		(void)kill(pid, SIGKILL);
	return r;
}

int command_exec(const struct call *c, struct err *e)
{
	cleanup_container struct container box = CONTAINER_NONE;
	cleanup_fd int connection = -1;
	struct bundle b = { 0 };
	sigset_t all;
	int r = container_running(&box, c, e);

	if (r == 0 && container_status(&box) != STATUS_RUNNING)
		r = err_say(e, EINVAL, "container '%s' is created: start it first",
			    c->id);
	if (r == 0)
		r = read_program(&b, c, &box, e);
	/* a helper that the program has stopped must not keep others from the container,
	 * and one that it has ended not end this process */
	(void)flock(box.folder, LOCK_UN);
	(void)signal(SIGPIPE, SIG_IGN);
	/* an engine may block some, and a helper that does not answer be waited for */
	(void)sigemptyset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (r == 0)
		r = connection = begin(&b, c, &box, e);
	bundle_free(&b);
	/* a signal is passed on once that can be done */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	return r < 0 ? r : stand_in(c, connection, e);
}
