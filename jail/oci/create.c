/* SPDX-License-Identifier: MIT */
/*
 * create.c - make a container up to its program's start, and start it
 *
 * Theory of operation
 *   create reads the bundle, and has `stepjail explain` check the options and print the
 *   plan. Then it forks. The child becomes `stepjail run --hold`: it makes the jail,
 *   reads back its walls, gives up its rights and waits at the gate. It has stdin, stdout
 *   and stderr of create, and its pid is the container's: when create exits, the engine's
 *   shim or conmon, a subreaper, adopts it and gets the program's exit status from it.
 *   Before the child does anything, its pid is in state.json. So whenever create is
 *   killed, delete --force finds what it has made.
 *   start writes a byte into the FIFO that the watcher reads; it has read it when the
 *   FIFO has no reader any more.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/terminal.h"
#include "jail/helper/call.h"
#include "jail/oci/command.h"

#define REPORT_BYTES (1U << 20)
#define START_MS 30000
#define EXEC_MS 5000 /* for a program to be executed, or for the words of why not */

/* what create has in its hands */
struct making {
	struct container box;
	struct bundle bundle;
	int go[2];    /* the child waits for a byte there until its pid is written down */
	int ready[2]; /* --hold tells there */
	int start;    /* the FIFO, for the watcher */
	int helper;   /* a file of it, to be executed */
	int socket;   /* for the helper; "exec" in the container's folder */
	int console;  /* becomes stdin, stdout and stderr; 0: none */
	pid_t child;
};

/* stepjail lies beside this program */
static int find_stepjail(char *path, size_t size, struct err *e)
{
	static const char name[] = "stepjail";
	ssize_t n = readlink("/proc/self/exe", path, size - sizeof(name));

	if (n > 0) {
		path[n] = '\0';
		memcpy(strrchr(path, '/') + 1, name, sizeof(name));
	}
	return n <= 0 || access(path, X_OK) < 0
		       ? err_set(e, errno, "find stepjail beside this program")
		       : 0;
}

/* "stepjail", its command, and the plan's options */
static struct words begin_words(const struct making *m, const char *command)
{
	struct words w = { 0 };

	words_add(&w, "stepjail");
	words_add(&w, "%s", command);
	for (size_t i = 0; i < m->bundle.options.count; i++)
		words_add(&w, "%s", m->bundle.options.word[i]);
	return w;
}

/* let stepjail itself judge its options, and keep the plan for people */
static int check_options(struct making *m, const char *stepjail, struct err *e)
{
	cleanup_fd int plan = openat(m->box.folder, "plan",
				     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char text[ERR_TEXT_MAX] = "";
	int ends[2], status = -1;
	pid_t child;

	if (plan < 0 || pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0)
		return err_set(e, errno, "%s: ask stepjail for the plan", m->box.path);
	if (child == 0) {
		if (dup2(plan, 1) >= 0 && dup2(ends[1], 2) >= 0)
			(void)execv(stepjail, begin_words(m, "explain").word);
		_exit(1);
	}
	(void)close(ends[1]);
	(void)io_read_all(ends[0], text, sizeof(text) - 1);
	(void)close(ends[0]);
	(void)waitpid(child, &status, 0);
	text[strcspn(text, "\n")] = '\0';
	/* its own words name it as well */
	return status == 0 ? 0 : err_say(e, EINVAL, "%s", text + strlen("stepjail: "));
}

/* The container gets the slave as its stdin, stdout and stderr, never by a path, and not
 * as its controlling terminal: it cannot type into it, and Ctrl-C is the engine's. */
int console_open(const struct bundle *b, const char *path, int *slave, struct err *e)
{
	if (b->terminal != (path != NULL))
		return err_say(
			e, EINVAL,
			"process.terminal and --console-socket go together: one is missing");
	return path ? terminal_offer(path, slave, e) : 0;
}

static int prepare(struct making *m, const char *console, struct err *e)
{
	int r = console_open(&m->bundle, console, &m->console, e);

	if (r == 0 &&
	    (mkfifoat(m->box.folder, "start", 0600) < 0 ||
	     (m->start = openat(m->box.folder, "start", O_RDWR | O_CLOEXEC)) < 0 ||
	     pipe2(m->go, O_CLOEXEC) < 0 || pipe2(m->ready, O_CLOEXEC) < 0))
		r = err_set(e, errno, "make %s/start", m->box.path);
	return r < 0 ? r : helper_make(m->box.folder, "exec", &m->helper, &m->socket, e);
}

/* in the child; what it has open beside the fds of --hold ends at exec */
static void become_watcher(struct making *m, const char *stepjail)
{
	const int held[] = { m->start, m->ready[1], m->helper, m->socket };
	struct words words = begin_words(m, "run");
	sigset_t none;
	char byte;

	words_add(&words, "--hold=%d,%d,%d,%d", held[0], held[1], held[2], held[3]);
	words_add(&words, "--report=%s/report.json", m->box.path);
	words_add(&words, "--");
	for (size_t i = 0; i < m->bundle.args.count; i++)
		words_add(&words, "%s", m->bundle.args.word[i]);
	io_close_fd(&m->go[1]);
	if (read(m->go[0], &byte, 1) != 1)
		_exit(1);
	for (int fd = 0; m->console > 0 && fd <= 2; fd++)
		(void)dup2(m->console, fd);
	(void)setsid();
	/* an engine may block or ignore some, and stepjail would not end by them then */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	for (size_t i = 0; i < COUNT(held); i++)
		(void)fcntl(held[i], F_SETFD, 0);
	if (chdir("/") == 0)
		(void)execv(stepjail, words.word);
	_exit(1);
}

/* what the report says of a jail that could not be made, or of a program that could not
 * be started; 0 where it says nothing, and there are no @other words */
static int read_failure(const struct container *box, int errnum, const char *other,
			struct err *e)
{
	cleanup_free char *text = words_allocate(REPORT_BYTES);
	ssize_t n = io_read_file_at(box->folder, "report.json", text, REPORT_BYTES);
	cJSON *report = n > 0 ? cJSON_Parse(text) : NULL;
	const char *words = bundle_text(report, "error");
	int r = words[0] || other ? err_say(e, errnum, "%s", words[0] ? words : other)
				  : 0;

	cJSON_Delete(report);
	return r;
}

static void describe(struct making *m, const char *id)
{
	cJSON *json = m->box.json = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(json, "id", id);
	(void)cJSON_AddStringToObject(json, "bundle", m->bundle.folder);
	(void)cJSON_AddItemToObject(
		json, "annotations",
		cJSON_DetachItemFromObjectCaseSensitive(m->bundle.config, "annotations"));
}

/* until the watcher tells the program's pid */
static int launch(struct making *m, struct err *e)
{
	char stepjail[PATH_MAX], pid[16];
	siginfo_t end;
	int r = find_stepjail(stepjail, sizeof(stepjail), e);

	if (r == 0)
		r = check_options(m, stepjail, e);
	if (r < 0)
		return r;
	m->child = fork();
	if (m->child < 0)
		return err_set(e, errno, "fork the container's watcher");
	if (m->child == 0)
		become_watcher(m, stepjail);
	m->box.watcher = process_find(m->child);
	r = container_save(&m->box, e);
	io_close_fd(&m->ready[1]);
	if (r == 0 && write(m->go[1], "g", 1) != 1)
		r = err_set(e, errno, "let the container's watcher go");
	if (r == 0 && io_read_text(m->ready[0], pid, sizeof(pid)) <= 0) {
		/* undo() waits for it, too */
		(void)waitid(P_PID, (id_t)m->child, &end, WEXITED | WNOWAIT);
		r = read_failure(
			&m->box, ECHILD,
			"stepjail run ended before the jail was ready: its words are on stderr",
			e);
	}
	if (r < 0)
		return r;
	m->box.program = process_find((pid_t)strtol(pid, NULL, 10));
	return container_save(&m->box, e);
}

static int make(struct making *m, const struct call *c, struct err *e)
{
	const char *pid_file = c->option[OPTION_PID_FILE];
	char pid[16];
	int r = bundle_read(&m->bundle, c->option[OPTION_BUNDLE], e);
	if (r == 0)
		r = container_make(&m->box, c->option[OPTION_ROOT], c->id, e);
	if (r < 0)
		return r;
	describe(m, c->id);
	r = prepare(m, c->option[OPTION_CONSOLE_SOCKET], e);
	if (r == 0)
		r = launch(m, e);
	(void)snprintf(pid, sizeof(pid), "%d", m->child);
	return r == 0 && pid_file ? container_write(AT_FDCWD, pid_file, pid, e) : r;
}

/* nothing is left of what could not be made */
static void undo(struct making *m)
{
	struct err ignored;

	if (m->child > 0) {
		(void)kill(m->child, SIGKILL);
		(void)waitpid(m->child, NULL, 0);
	}
	if (m->box.folder >= 0)
		(void)container_remove(&m->box, &ignored);
}

int command_create(const struct call *c, struct err *e)
{
	struct making m = { .box = CONTAINER_NONE };
	int r = make(&m, c, e);

	if (r < 0)
		undo(&m);
	bundle_free(&m.bundle);
	container_close(&m.box);
	return r;
}

/* The gate is open: until another file is executed than the one that waited there, or
 * the process is gone. The report of a program that could not be started is there when
 * the watcher has ended. */
static int await_exec(const struct container *box, ino_t waited, struct err *e)
{
	ino_t now = 0;

	for (int ms = 0; ms < EXEC_MS && (!now || now == waited); ms++) {
		now = process_file(box->program.pid, "exe");
		if (process_await(&box->program, 1))
			return process_await(&box->watcher, EXEC_MS)
				       ? read_failure(box, ENOEXEC, NULL, e)
				       : 0;
	}
	return 0;
}

int command_start(const struct call *c, struct err *e)
{
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_open(&box, c->option[OPTION_ROOT], c->id, true, e);
	cleanup_fd int fd = r < 0 ? r : container_start_fd(&box);
	struct pollfd taken = { .fd = fd };

	if (r < 0)
		return r;
	if (fd < 0 || !box.program.start)
		return err_say(e, EINVAL,
			       "container '%s' is %s: only a created one is started",
			       c->id, status_names[container_status(&box)]);

	ino_t waited = process_file(box.program.pid, "exe");

	if (write(fd, "s", 1) != 1)
		return err_set(e, errno, "start '%s'", c->id);
	/* when the last reader closes it */
	return poll(&taken, 1, START_MS) == 1
		       ? await_exec(&box, waited, e)
		       : err_say(e, ETIMEDOUT, "start '%s': its watcher does not answer",
				 c->id);
}
