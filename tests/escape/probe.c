/* SPDX-License-Identifier: MIT */
/*
 * probe.c - what all probes share: see probe.h
 */
#include "tests/escape/probe.h"

#include <sys/resource.h>

const struct wall walls[WALL_COUNT] = {
#define X(id, word, text) [WALL_##id] = { word, text },
	WALLS(X)
#undef X
};

#define AREAS(X)                                                                         \
	X(file)                                                                          \
	X(bind)                                                                          \
	X(proc)                                                                          \
	X(mount)                                                                         \
	X(namespace)                                                                     \
	X(right)                                                                         \
	X(process)                                                                       \
	X(kernel)                                                                        \
	X(entry)                                                                         \
	X(socket)                                                                        \
	X(lease)                                                                         \
	X(terminal)                                                                      \
	X(fd)                                                                            \
	X(lock)                                                                          \
	X(memory)                                                                        \
	X(bomb)                                                                          \
	X(leak)                                                                          \
	X(result)                                                                        \
	X(bench)

#define X(id) extern const struct area area_##id;
AREAS(X)
#undef X

const struct area *const areas[] = {
#define X(id) &area_##id,
	AREAS(X)
#undef X
};
const size_t area_count = sizeof(areas) / sizeof(areas[0]);

const struct probe *probe_self;

static struct {
	int tried, opened;
	pid_t victim;   /* a child of our own, to be ended with us */
	char held[512]; /* distinct answers, blanks between */
} attack;

static const struct {
	int errnum;
	const char *name;
} errnos[] = {
#define X(e)                                                                             \
	{                                                                                \
		e, #e                                                                    \
	}
	X(EPERM),        X(ENOENT),          X(ESRCH),        X(EINTR),
	X(EIO),          X(ENXIO),           X(E2BIG),        X(ENOEXEC),
	X(EBADF),        X(ECHILD),          X(EAGAIN),       X(ENOMEM),
	X(EACCES),       X(EFAULT),          X(ENOTBLK),      X(EBUSY),
	X(EEXIST),       X(EXDEV),           X(ENODEV),       X(ENOTDIR),
	X(EISDIR),       X(EINVAL),          X(ENFILE),       X(EMFILE),
	X(ENOTTY),       X(ETXTBSY),         X(EFBIG),        X(ENOSPC),
	X(ESPIPE),       X(EROFS),           X(EMLINK),       X(EPIPE),
	X(ERANGE),       X(ELOOP),           X(ENOSYS),       X(ENOTEMPTY),
	X(ENODATA),      X(EOVERFLOW),       X(EUSERS),       X(ENOTSOCK),
	X(EMSGSIZE),     X(EPROTONOSUPPORT), X(EOPNOTSUPP),   X(EAFNOSUPPORT),
	X(EADDRINUSE),   X(EADDRNOTAVAIL),   X(ENETDOWN),     X(ENETUNREACH),
	X(ECONNREFUSED), X(ETIMEDOUT),       X(EHOSTUNREACH), X(ENOBUFS),
	X(ESTALE),       X(EDQUOT),          X(ENOKEY),       X(ECONNRESET),
	X(ENOPROTOOPT),  X(ESOCKTNOSUPPORT),
#undef X
};

const char *probe_errno(int errnum)
{
	static char text[32];

	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].errnum == errnum)
			return errnos[i].name;
	(void)snprintf(text, sizeof(text), "errno-%d", errnum);
	return text;
}

static void note(const char *word)
{
	size_t used = strlen(attack.held);
	char padded[64], all[sizeof(attack.held) + 2];

	(void)snprintf(padded, sizeof(padded), " %s ", word);
	(void)snprintf(all, sizeof(all), " %s ", attack.held);
	if (!strstr(all, padded))
		(void)snprintf(attack.held + used, sizeof(attack.held) - used, "%s%s",
			       used ? " " : "", word);
}

void door_word(const char *what, bool open, const char *word)
{
	attack.tried++;
	attack.opened += open;
	(void)fprintf(stderr, "%s: %s\n", what, open ? "OPEN" : word);
	if (!open)
		note(word);
}

void door(const char *what, long result)
{
	door_word(what, result >= 0, probe_errno(errno));
}

void door_reach(const char *what, long result)
{
	door_word(what, result >= 0 || (errno != EPERM && errno != ENOSYS),
		  probe_errno(errno));
}

void probe_end(void)
{
	if (attack.victim > 0)
		(void)kill(attack.victim, SIGKILL);
	if (attack.opened)
		printf("%d of %d\n", attack.opened, attack.tried);
	else if (!attack.tried)
		printf("no door was tried\n");
	else
		printf("%s\n", attack.held);
	exit(attack.opened ? OPENED : attack.tried ? HELD : LACKS);
}

void probe_lacks(const char *what)
{
	if (attack.victim > 0)
		(void)kill(attack.victim, SIGKILL);
	printf("needs %s\n", what);
	exit(LACKS);
}

bool probe_send_stdin(int socket, socklen_t copies)
{
	socklen_t size = copies * (socklen_t)sizeof(int);
	union {
		char room[CMSG_SPACE(PROBE_COPIES_MAX * sizeof(int))];
		struct cmsghdr part;
	} control = { .part = { .cmsg_len = CMSG_LEN(size),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = (socklen_t)CMSG_SPACE(size) };

	memset(CMSG_DATA(&control.part), 0, size);
	return sendmsg(socket, &msg, MSG_DONTWAIT) == 1;
}

pid_t probe_victim(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(20);
		for (;;)
			(void)pause();
	}
	if (pid < 0)
		probe_lacks("fork");
	attack.victim = pid;
	return pid;
}

pid_t probe_target(const char *word)
{
	if (strcmp(word, "child") == 0)
		return probe_victim();
	if (strcmp(word, "1") == 0 && getppid() == 1)
		return 1;
	door_word("PID 1 is the host's", true, "");
	probe_end();
}

long probe_in_child(long (*act)(const void *), const void *data)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		errno = 0;
		_exit(act(data) < 0 ? errno & 0xff : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		probe_lacks("more processes than one (--pids)");
	if (WIFSIGNALED(status)) {
		errno = EFAULT;
		return -1;
	}
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

bool probe_on_the_machine(void)
{
	char map[64];
	unsigned int inside = 1, outside = 1, count = 0;

	/* without /proc it is a jail's, or a namespace's */
	return probe_read("/proc/self/uid_map", map, sizeof(map)) > 0 &&
	       sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && !inside &&
	       !outside && count == ~0U && geteuid() == 0;
}

void probe_spares_the_machine(void)
{
	if (probe_on_the_machine())
		probe_lacks("a user namespace: stepjail escape --outside makes one");
}

const char *probe_word(char **argv, int n, const char *what)
{
	for (int i = 0; i < n && *argv; i++)
		argv++;
	if (!*argv)
		probe_lacks(what);
	return *argv;
}

long probe_number(char **argv, int n, const char *what)
{
	return strtol(probe_word(argv, n, what), NULL, 10);
}

ssize_t probe_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (have < size - 1 && (n = read(fd, text + have, size - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	(void)close(fd);
	return n < 0 && have == 0 ? -1 : (ssize_t)have;
}

const char *probe_above(const char *path)
{
	static char above[4096];

	(void)snprintf(above, sizeof(above), "/..%s", path);
	return above;
}

bool probe_file_has(const char *path, const char *marker)
{
	static char text[1 << 20];
	ssize_t n = probe_read(path, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, marker, strlen(marker));
}

/* generated by tests/escape/walls: walls are words, commas between */
static const struct {
	const char *name, *words;
} seen[] = {
#include "tests/escape/seen.inc"
};

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; n && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && memcmp(at, word, n) == 0)
			return true;
	return false;
}

uint64_t probe_walls(const struct probe *p)
{
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		uint64_t mask = 0;

		if (strcmp(seen[i].name, p->name) != 0)
			continue;
		for (size_t w = 0; w < WALL_COUNT; w++)
			if (walls[w].word[0] ? has_word(seen[i].words, walls[w].word)
					     : (p->walls & (1ULL << w)) != 0)
				mask |= 1ULL << w;
		return mask;
	}
	return p->walls;
}

const struct probe *probe_find(const char *name)
{
	for (size_t a = 0; a < area_count; a++)
		for (size_t i = 0; i < areas[a]->count; i++)
			if (strcmp(areas[a]->probes[i].name, name) == 0)
				return &areas[a]->probes[i];
	return NULL;
}

int probe_main(const char *name, char **argv)
{
	probe_self = probe_find(name);
	if (!probe_self) {
		(void)fprintf(stderr, "stepjail-probe: there is no probe '%s'\n", name);
		return 2;
	}
	/* what is said must not be lost or said twice when a child or a limit ends us */
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)setvbuf(stderr, NULL, _IOLBF, 0);
	probe_self->act(argv);
	probe_end();
}
