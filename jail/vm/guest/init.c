/* SPDX-License-Identifier: MIT */
/*
 * init.c - PID 1 of a guest of --wall vm
 *
 * It mounts what stepjail needs, says that it is ready, and reads the request: a length,
 * and pairs of strings with a NUL behind each. It takes the host's random bytes and clock
 * before anything else runs, mounts the images that belong to the request, starts one
 * command of stepjail's, and passes its streams by mux.h. When the command has ended and
 * all has been sent, the guest ends.
 * Everything that runs here is the caller's trust domain: nothing in the guest is a wall
 * for the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/random.h>

#include "init/count.h"
#include "jail/vm/guest/boot.h"
#include "jail/vm/guest/files.h"
#include "jail/vm/guest/mux.h"

#define REQUEST_MAX (1u << 20)
#define WORDS_MAX 4096
#define RANDOM_BYTES 64
#define PORT "/dev/vport0p1"
#define POLICY "/run/policy"
#define CGROUP "/sys/fs/cgroup/guest"
#define OUT "/the folder of --out" /* as plan.py has it, without the slash */

struct request {
	const char *command; /* run or serve */
	uid_t uid;
	gid_t gid;
	char *word[WORDS_MAX + 8]; /* of the command line, NULL at the end */
	size_t words;
	char out[48]; /* of --out: how its folder is mounted */
	bool warm;    /* another request follows when the command has ended */
};

static pid_t child;

/* the kernel tells of the port some time after its driver is there */
static int open_port(void)
{
	const struct timespec wait = { 0, 2000000 };

	for (int i = 0; i < 5000; i++) {
		int fd = open(PORT, O_RDWR | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		(void)nanosleep(&wait, NULL);
	}
	boot_fail("open", PORT);
}

static void read_whole(int fd, void *bytes, size_t length)
{
	for (size_t n = 0; n < length;) {
		ssize_t got = read(fd, (char *)bytes + n, length - n);

		if (got <= 0 && errno != EINTR)
			boot_fail("read", PORT);
		n += got > 0 ? (size_t)got : 0;
	}
}

static void say(int port, char letter)
{
	const struct {
		struct mux_head head;
		char letter;
	} message = { { MUX_CONTROL, MUX_DATA, 0, 1 }, letter };

	if (write(port, &message, sizeof(message.head) + 1) < 0)
		boot_fail("write", PORT);
}

static char *read_request(int port, uint32_t *length)
{
	static char text[REQUEST_MAX + 2]; /* with the end of a pair that has none */

	say(port, MUX_READY);
	/* a template is kept here, the last time */
	read_whole(port, length, sizeof(*length));
	if (*length > REQUEST_MAX)
		boot_fail("take", "the request");
	read_whole(port, text, *length);
	say(port, MUX_TAKEN);
	return text;
}

/* random bytes of the host's, credited, and the generator made anew from them at once */
static void take_entropy(const char *hex)
{
	union {
		struct rand_pool_info info;
		uint8_t bytes[sizeof(struct rand_pool_info) + RANDOM_BYTES];
	} pool = { .info = { .entropy_count = 8 * RANDOM_BYTES,
			     .buf_size = RANDOM_BYTES } };
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < RANDOM_BYTES; i++) {
		unsigned int byte = 0;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			boot_fail("read", "random bytes");
		pool.bytes[offsetof(struct rand_pool_info, buf) + i] = (uint8_t)byte;
	}
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		boot_fail("seed", "/dev/urandom");
	(void)close(fd);
}

static void take_clock(const char *ns)
{
	unsigned long long n = strtoull(ns, NULL, 10);
	struct timespec now = { (time_t)(n / 1000000000), (long)(n % 1000000000) };

	if (clock_settime(CLOCK_REALTIME, &now) < 0)
		boot_fail("set", "the clock");
}

/* @disk: "vdX PATH", where its image is mounted */
static void take_disk(char *disk)
{
	char device[16], from[24];
	int path = 0;

	if (sscanf(disk, "%15s %n", device, &path) != 1 || disk[path] != '/')
		boot_fail("read", disk);
	(void)snprintf(from, sizeof(from), "/dev/%s", device);
	boot_mount("erofs", from, disk + path, MS_RDONLY | MS_NODEV | MS_NOSUID, NULL);
}

static void take_pair(struct request *q, const char *key, char *value)
{
	if (strcmp(key, "random") == 0)
		take_entropy(value);
	else if (strcmp(key, "clock") == 0)
		take_clock(value);
	else if (strcmp(key, "machine") == 0)
		boot_write("/etc/machine-id", value, 0444);
	else if (strcmp(key, "network") == 0)
		boot_network();
	else if (strcmp(key, "disk") == 0)
		take_disk(value);
	else if (strcmp(key, "policy") == 0)
		boot_write(POLICY, value, 0444);
	else if (strcmp(key, "command") == 0)
		q->command = value;
	else if (strcmp(key, "warm") == 0)
		q->warm = true;
	else if (strcmp(key, "uid") == 0)
		q->uid = (uid_t)strtoul(value, NULL, 10);
	else if (strcmp(key, "gid") == 0)
		q->gid = (gid_t)strtoul(value, NULL, 10);
	else if (strcmp(key, "out") == 0)
		(void)snprintf(q->out, sizeof(q->out), "mode=700,size=%s", value);
	else if (strcmp(key, "word") == 0 && q->words < WORDS_MAX)
		q->word[q->words++] = value;
	else
		boot_fail("take", key);
}

/* a leaf that is the command's to divide, as systemd delegates one */
static void make_cgroup(const struct request *q)
{
	static const char *const own[] = { CGROUP, CGROUP "/cgroup.procs",
					   CGROUP "/cgroup.threads",
					   CGROUP "/cgroup.subtree_control" };

	(void)mkdir(CGROUP, 0755);
	for (size_t i = 0; i < COUNT(own); i++)
		if (chown(own[i], q->uid, q->gid) < 0)
			boot_fail("give away", own[i]);
}

static _Noreturn void become(const struct request *q, const int fds[4])
{
	static char *const environment[] = { NULL };
	sigset_t none;

	boot_write(CGROUP "/cgroup.procs", "0", 0644);
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0 && dup2(fds[i], i) < 0)
			_exit(125);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	if (setgroups(0, NULL) < 0 || setgid(q->gid) < 0 || setuid(q->uid) < 0)
		_exit(125);
	(void)execve("/stepjail/stepjail", q->word, environment);
	_exit(125);
}

/* the command's ends of its streams; the others become the mux's. Moved up, so that none
 * is one of 0 to 3 */
static void open_streams(const struct request *q, struct mux *m, int fds[4])
{
	static const enum mux_stream stream[] = { MUX_IN, MUX_OUT, MUX_ERR, MUX_REPORT };
	bool run = strcmp(q->command, "run") == 0;
	int ends[2];

	for (int i = 0; i < 4; i++) {
		bool both = !run && i == 0, in = i == 0;

		fds[i] = -1;
		if (!run && (i == 1 || i == 3))
			continue;
		if (both ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
			 : pipe2(ends, O_CLOEXEC))
			boot_fail("open", "a stream");
		fds[i] = fcntl(ends[in ? 0 : 1], F_DUPFD_CLOEXEC, 16);
		int mine = fcntl(ends[in ? 1 : 0], F_DUPFD_CLOEXEC, 16);

		(void)close(ends[0]);
		(void)close(ends[1]);
		if (both)
			m->pipe[MUX_OUT].in = fcntl(mine, F_DUPFD_CLOEXEC, 16);
		m->pipe[MUX_IN].half = !run;
		if (in)
			m->pipe[MUX_IN].out = mine;
		else
			m->pipe[stream[i]].in = mine;
	}
	if (!run) /* stdout of serve says nothing */
		fds[1] = fds[2];
}

static int on_control(struct mux *m, const uint8_t *message, size_t length)
{
	(void)m;
	if (length != 2 || message[0] != MUX_SIGNAL)
		return -EPROTO;
	(void)kill(child, message[1]);
	return 0;
}

/* PID 1 reaps whoever has lost its parent; Return: the command's status, or -1 */
static int reap(void)
{
	int found = -1, status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			found = WIFEXITED(status) ? WEXITSTATUS(status)
						  : 128 + WTERMSIG(status);
	return found;
}

/* the folder of --out, and the pipe by which its files go */
static void open_files(const struct request *q, int files[2])
{
	if (!q->out[0])
		return;
	boot_mount("tmpfs", "tmpfs", OUT, MS_NOSUID | MS_NODEV | MS_NOEXEC, q->out);
	if (chown(OUT, q->uid, q->gid) < 0 || pipe2(files, O_CLOEXEC) < 0)
		boot_fail("make", OUT);
}

/* The command has ended, and what it has left in OUT goes out: its writer is a process of
 * its own. */
static void send_files(int *to)
{
	if (*to < 0)
		return;
	if (fork() == 0)
		_exit(files_send(OUT, *to) < 0);
	(void)close(*to);
	*to = -1;
}

/* @files: the writer's end of that stream, or -1 */
static void serve(struct mux *m, int signals, int files)
{
	int status = -1, r = 0;

	while (r == 0 && (status < 0 || !mux_sent(m))) {
		struct pollfd ended = { signals, POLLIN, 0 };
		struct signalfd_siginfo info;

		r = mux_turn(m, &ended, 1, -1);
		if (ended.revents && read(signals, &info, sizeof(info)) > 0) {
			int now = reap();

			status = now < 0 ? status : now;
			if (now >= 0)
				send_files(&files);
		}
	}
	if (r == 0) {
		uint8_t said[2] = { MUX_EXIT, (uint8_t)status };

		mux_say(m, said, sizeof(said));
		/* until the host has had it, and ends the guest */
		while (mux_turn(m, NULL, 0, -1) == 0)
			continue;
	}
}

/* Wait for a request, and have what it brings. */
static void take_request(int port, struct request *q)
{
	static const char *const before[] = { "stepjail", NULL, "--policy", POLICY,
					      "--report", "3",  "--" };
	uint32_t length;
	char *text = read_request(port, &length), *end = text + length;

	/* the command's own words come first */
	*q = (struct request){ .words = COUNT(before) };
	for (char *key = text; key < end;) {
		char *value = key + strlen(key) + 1;

		if (value > end)
			break;
		char *next = value + strlen(value) + 1;

		take_pair(q, key, value);
		key = next;
	}
	if (!q->command)
		boot_fail("take", "the request");
	for (size_t i = 0; i < COUNT(before); i++)
		q->word[i] = (char *)(uintptr_t)before[i];
	q->word[1] = (char *)(uintptr_t)q->command;
	if (strcmp(q->command, "run") != 0)
		q->word[4] = NULL;
	make_cgroup(q);
}

/* In a template: run what its clones will run, for nobody, so that their kernel has read
 * what that takes. What it says on stderr is the console's. */
static void warm_up(const struct request *q)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;

	child = fork();
	if (child == 0)
		become(q, (int[]){ null, null, -1, null });
	if (null < 0 || waitpid(child, &status, 0) != child || status != 0)
		boot_fail("warm up", q->command);
	(void)close(null);
}

int main(void)
{
	static struct request q;
	static struct mux m;
	sigset_t wanted;
	int fds[4], files[2] = { -1, -1 }, port;

	boot_console();
	boot_mount_all();
	port = open_port();
	for (take_request(port, &q); q.warm; take_request(port, &q))
		warm_up(&q);
	open_files(&q, files);
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &wanted, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)fcntl(port, F_SETFL, O_NONBLOCK);
	mux_init(&m, port, on_control);
	open_streams(&q, &m, fds);
	m.pipe[MUX_FILES].in = files[0];
	child = fork();
	if (child == 0)
		become(&q, fds);
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	serve(&m, signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), files[1]);
	(void)reboot(RB_AUTOBOOT);
	return 0;
}
