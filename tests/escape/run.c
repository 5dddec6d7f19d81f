/* SPDX-License-Identifier: MIT */
/*
 * run.c - one run of one probe: its words, its folder, its process
 */
#include "tests/escape/scene.h"

#include <ftw.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define TIMEOUT_MS 90000

static void add(char **words, size_t *count, const char *format, va_list args)
{
	if (*count + 1 >= WORDS_MAX || vasprintf(&words[(*count)++], format, args) < 0) {
		(void)fprintf(stderr, "stepjail-escape: too many words\n");
		exit(125);
	}
	words[*count] = NULL;
}

void run_option(struct run *r, const char *option, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	r->options[r->option_count++] = strdup(option);
	add(r->options, &r->option_count, format, args);
	va_end(args);
}

void run_word(struct run *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(r->words, &r->word_count, format, args);
	va_end(args);
}

const char *run_path(const struct run *r, const char *name)
{
	static char path[4][PATH_MAX + 64];
	static unsigned int next;
	char *text = path[next++ % 4];

	(void)snprintf(text, sizeof(path[0]), "%s/%s", r->folder, name);
	return text;
}

static _Noreturn void fail(const char *path)
{
	(void)fprintf(stderr, "stepjail-escape: %s: %s\n", path, strerror(errno));
	exit(125);
}

void run_file(const struct run *r, const char *name, const char *text)
{
	const char *path = run_path(r, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	(void)close(fd);
}

void run_folder(const struct run *r, const char *name)
{
	const char *path = run_path(r, name);

	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		fail(path);
}

void run_copy_self(const struct run *r, const char *name, mode_t mode)
{
	static char block[1 << 16];
	const char *path = run_path(r, name);
	int in = open(r->self, O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0777);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, block, sizeof(block))) > 0)
		if (write(out, block, (size_t)n) != n)
			fail(path);
	if (n < 0 || fchmod(out, mode) < 0)
		fail(path);
	(void)close(in);
	(void)close(out);
}

bool run_reports(const struct run *r, const char *text)
{
	return strstr(r->report, text) != NULL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	(void)remove(path);
	return 0;
}

/* a tree that is deeper than any path is long: down, and up again */
static void remove_deep(const char *folder)
{
	int home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), depth = 0;

	if (chdir(folder) < 0)
		return;
	while (chdir("d") == 0)
		depth++;
	while (depth-- > 0 && chdir("..") == 0)
		(void)rmdir("d");
	if (fchdir(home) == 0)
		(void)close(home);
}

static void free_words(char **words, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free(words[i]);
	*count = 0;
	words[0] = NULL;
}

/* whatever a probe left running outside is our child now: we are its subreaper */
static void kill_strays(void)
{
	static char text[4096];

	for (int i = 0; i < 100; i++) {
		char path[64];
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
			       getpid());
		n = probe_read(path, text, sizeof(text));
		if (n <= 0)
			return;
		for (char *at = text; *at;) {
			pid_t pid = (pid_t)strtol(at, &at, 10);

			at += *at == ' ';
			if (pid <= 0)
				break;
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
	}
}

/* in the child: stdin, stdout and stderr; everything else closes at exec by itself */
static void place_fds(const struct run *r, const int *out, const int *err)
{
	int in = r->input >= 0 ? r->input : open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (dup2(in, 0) < 0 || dup2(r->output >= 0 ? r->output : out[1], 1) < 0 ||
	    dup2(err[1], 2) < 0)
		_exit(125);
}

static void exec_words(char *const *words)
{
	(void)execv(words[0], words);
	(void)printf("%s: %s\n", words[0], strerror(errno));
	(void)fflush(stdout);
	_exit(125);
}

static _Noreturn void start_outside(const struct run *r)
{
	char *words[WORDS_MAX + 2] = { (char *)(uintptr_t) "stepjail-probe",
				       (char *)(uintptr_t)r->probe->name };
	const struct scene *scene = r->probe->scene;

	memcpy(words + 2, r->words, sizeof(r->words) - 2 * sizeof(char *));
	outside_enter(scene ? scene->wrap : BARE);
	if (scene && scene->outside)
		scene->outside((struct run *)(uintptr_t)r);
	(void)execv(r->program ? r->program : r->self, words);
	(void)printf("%s: %s\n", r->program ? r->program : r->self, strerror(errno));
	(void)fflush(stdout);
	_exit(125);
}

/* ours first: the user's options may end in a word that is none */
static _Noreturn void start_inside(const struct run *r, int report)
{
	char *words[4 * WORDS_MAX], bind[PATH_MAX + 32], number[16];
	size_t n = 0;

#define PUT(word) words[n++] = (char *)(uintptr_t)(word)
	(void)snprintf(number, sizeof(number), "%d", report);
	(void)snprintf(bind, sizeof(bind), "%s:" PROBE_PATH, r->bound);
	PUT(r->launcher);
	PUT("run");
	PUT("--report");
	PUT(number);
	PUT("--bind");
	PUT(bind);
	for (size_t i = 0; i < r->option_count; i++)
		PUT(r->options[i]);
	for (size_t i = 0; r->user[i]; i++)
		PUT(r->user[i]);
	PUT("--");
	PUT(r->program ? r->program : PROBE_PATH);
	PUT("--probe-self");
	PUT(r->probe->name);
	for (size_t i = 0; i < r->word_count; i++)
		PUT(r->words[i]);
	PUT(NULL);
#undef PUT
	exec_words(words);
	_exit(125);
}

/* keep the end of what is said: the last line counts */
static void keep(char *text, size_t size, const char *more, size_t n)
{
	size_t have = strlen(text);

	if (n >= size) {
		more += n - (size - 1);
		n = size - 1;
	}
	if (have + n >= size) {
		size_t drop = have + n - (size - 1);

		memmove(text, text + drop, have - drop + 1);
		have -= drop;
	}
	memcpy(text + have, more, n);
	text[have + n] = '\0';
	for (char *at = text + have; at < text + have + n; at++)
		if (*at == '\0')
			*at = '?';
}

/* Return: whether the other end is still held */
static bool take(struct run *r, int fd, bool out)
{
	char block[16384];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0) {
		if (out)
			r->bytes += (uint64_t)n;
		keep(out ? r->text : r->errors, sizeof(r->text), block, (size_t)n);
	}
	return n < 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void watch(struct run *r, pid_t pid, int out, int err)
{
	int64_t end_ms = now_ms() + TIMEOUT_MS;
	struct pollfd fds[3] = { { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
				   .events = POLLIN },
				 { .fd = out, .events = POLLIN },
				 { .fd = err, .events = POLLIN } };
	const struct scene *scene = r->probe->scene;

	while (!(fds[0].revents & POLLIN)) {
		bool sampled = scene && scene->sample;

		(void)poll(fds, 3, sampled ? 20 : 1000);
		if (sampled)
			scene->sample(r);
		if (fds[1].revents && !take(r, out, true))
			fds[1].fd = -1;
		if (fds[2].revents && !take(r, err, false))
			fds[2].fd = -1;
		if (now_ms() > end_ms) {
			r->timed_out = true;
			(void)kill(pid, SIGKILL);
		}
	}
	(void)waitpid(pid, &r->status, 0);
	(void)close(fds[0].fd);
	r->held_open = fds[1].fd >= 0 && take(r, out, true);
	if (fds[2].fd >= 0)
		(void)take(r, err, false);
}

static void read_report(struct run *r, int fd)
{
	ssize_t n = pread(fd, r->report, sizeof(r->report) - 1, 0);

	r->report[n > 0 ? n : 0] = '\0';
}

static void start(struct run *r)
{
	const struct scene *scene = r->probe->scene;
	int out[2], err[2];
	int report = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pid_t pid;

	if (report < 0)
		report = memfd_create("report", MFD_CLOEXEC);
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || report < 0)
		fail("a pipe");
	(void)fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, r->inside ? SIGTERM : SIGKILL);
		place_fds(r, out, err);
		if (chdir(r->folder) < 0)
			_exit(125);
		if (scene && scene->child)
			scene->child(r);
		if (!r->inside)
			start_outside(r);
		report = fcntl(report, F_DUPFD, 40);
		start_inside(r, report);
	}
	(void)close(out[1]);
	(void)close(err[1]);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(err[0], F_SETFL, O_NONBLOCK);
	watch(r, pid, out[0], err[0]);
	read_report(r, report);
	(void)close(out[0]);
	(void)close(err[0]);
	(void)close(report);
}

void run_probe(struct run *r)
{
	const struct scene *scene = r->probe->scene;

	r->program = r->missing = NULL;
	r->input = r->output = -1;
	r->helper = 0;
	r->timed_out = r->held_open = r->refused = false;
	r->bytes = 0;
	r->before = r->most = 0;
	r->text[0] = r->errors[0] = r->report[0] = '\0';
	for (size_t i = 0; i < SPARE_FDS; i++)
		r->fd[i] = -1;
	if (mkdir(r->folder, 0777) < 0)
		fail(r->folder);
	if (scene && scene->set_up)
		scene->set_up(r);
	if (!r->missing)
		start(r);
}

/* what is left of a run; the scene's effect has been looked at */
void run_end(struct run *r)
{
	const struct scene *scene = r->probe->scene;

	if (scene && scene->tear_down)
		scene->tear_down(r);
	if (r->helper > 0) {
		(void)kill(r->helper, SIGKILL);
		(void)waitpid(r->helper, NULL, 0);
	}
	for (size_t i = 0; i < SPARE_FDS; i++)
		if (r->fd[i] >= 0)
			(void)close(r->fd[i]);
	kill_strays();
	remove_deep(r->folder);
	(void)nftw(r->folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	free_words(r->options, &r->option_count);
	free_words(r->words, &r->word_count);
}
