/* SPDX-License-Identifier: MIT */
/*
 * walls.c - a program for a jail that looks at every wall from inside
 *
 * usage: walls [KIND:INODE ...] [hide=PATH] [landlock=ABI] [loopback] [given] [noproc]
 *	[fixed] [sleep=MS] [stray] [violate]
 *
 *   KIND:INODE    a namespace of the host, in which this must not run
 *   hide=PATH     a path of the host that /proc/self/mountinfo must not show
 *   landlock=ABI  what the host's kernel has; stdin must be a file that anybody may
 *                 write, given read-only, so that Landlock alone stands before it
 *   given         /given and /shared are binds, and CPU time is limited
 *   noproc        the jail has no /proc; stands before the namespaces
 *   fixed         one CPU, one layout, clocks of its own, and an environment that says so
 *   sleep=MS      sleep when all has been looked at
 *   stray         leave a process behind
 *   violate       look at the filter last, which ends this: a violation kills
 *
 * It demands the limits that matrix.c gives to every jail. Prints one line: "standing", or
 * "missing: " and what. Exit status 0 either way: the line is what counts, and a status of
 * the program's own would hide whether the launcher passed it on.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <linux/securebits.h>

#include "tests/fault/fault.h"
#include "tests/fault/walls.h"

extern char **environ;

static char missing[2048];

void miss(const char *fmt, ...)
{
	size_t used = strlen(missing);
	va_list ap;

	if (used && used + 2 < sizeof(missing)) {
		(void)strcpy(missing + used, ", ");
		used += 2;
	}
	va_start(ap, fmt);
	(void)vsnprintf(missing + used, sizeof(missing) - used, fmt, ap);
	va_end(ap);
}

const char *read_file(const char *path)
{
	static char text[32768];
	FILE *in = fopen(path, "re");
	size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;

	text[n] = '\0';
	if (in)
		(void)fclose(in);
	else
		miss("%s: %s", path, strerror(errno));
	return text;
}

static void look_at_namespace(const char *kind, const char *inode)
{
	char path[64], link[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		miss("%s: %s", path, strerror(errno));
	else if (strstr(link, inode))
		miss("the %s namespace is the host's", kind);
}

static void look_at_ids(void)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		miss("ids");
	for (int i = 0; i < 3; i++)
		if (u[i] != 1000 || g[i] != 1000)
			miss("an id is %u:%u", u[i], g[i]);
	if (getpid() != 2 || getppid() != 1)
		miss("pid %d of parent %d", getpid(), getppid());
	if (getsid(0) != getpid())
		miss("a session of its own");
}

/* "Key:\tvalue" of /proc/self/status */
static const struct {
	const char *key, *value;
} status_rows[] = {
	{ "CapInh", "0000000000000000" },
	{ "CapPrm", "0000000000000000" },
	{ "CapEff", "0000000000000000" },
	{ "CapBnd", "0000000000000000" },
	{ "CapAmb", "0000000000000000" },
	{ "NoNewPrivs", "1" },
	{ "Seccomp", "2" },
	{ "SigBlk", "0000000000000000" },
	{ "SigIgn", "0000000000000000" },
	{ "SigCgt", "0000000000000000" },
	{ "Umask", "0022" },
};

static void look_at_status(void)
{
	const char *status = read_file("/proc/self/status");

	for (size_t i = 0; i < sizeof(status_rows) / sizeof(status_rows[0]); i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "\n%s:\t%s\n", status_rows[i].key,
			       status_rows[i].value);
		if (!strstr(status, line))
			miss("%s %s", status_rows[i].key, status_rows[i].value);
	}
	if (atoi(read_file("/proc/self/oom_score_adj")) != 1000)
		miss("oom_score_adj 1000");
	if (strcmp(read_file("/proc/self/setgroups"), "deny\n") != 0)
		miss("setgroups denied");
}

/* without /proc, and what /proc does not tell */
static void look_at_privileges(void)
{
	const int locks = SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			  SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		miss("no_new_privs");
	if ((prctl(PR_GET_SECUREBITS) & locks) != locks)
		miss("locked securebits");
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			miss("capability %d is in the bounding set", cap);
}

/* rows that the filter does not have, harmless where they are let through */
static void look_at_filter(void)
{
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (s >= 0 || errno != EPERM)
		miss("the filter refuses netlink");
	if (syscall(SYS_semget, 0, 1, 0600) >= 0 || errno != EPERM)
		miss("the filter refuses semget");
	if (syscall(SYS_getcpu, NULL, NULL, NULL) < 0)
		miss("the filter lets getcpu through");
#ifdef SYS_sysfs
	if (syscall(SYS_sysfs, 3) >= 0 || errno != EPERM)
		miss("the filter refuses sysfs");
#endif
}

static void look_at_fds(void)
{
	for (int fd = 0; fd < 4096; fd++)
		if ((fcntl(fd, F_GETFD) >= 0) != (fd <= 2))
			miss("fd %d", fd);
}

static void look_at_fixed(void)
{
	static const char *const rows[][2] = { { "PYTHONHASHSEED", "0" },
					       { "STEPJAIL_DETERMINISTIC", "0" },
					       { "LC_ALL", "C.UTF-8" },
					       { "TZ", "UTC" },
					       { "STEPJAIL_CLOCK_START", "1709164800" } };
	struct timespec now = { .tv_sec = 1 << 30 };
	cpu_set_t cpus;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = getenv(rows[i][0]);

		if (!value || strcmp(value, rows[i][1]) != 0)
			miss("the environment's %s", rows[i][0]);
	}
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) != 1)
		miss("one CPU");
	if (personality(0xffffffff) != ADDR_NO_RANDOMIZE)
		miss("one layout of memory");
	/* of a machine that has been up for longer */
	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0 || now.tv_sec >= 60)
		miss("a clock of its own");
}

static void look_at_host(bool fixed)
{
	static const char *const names[] = { "PATH=", "HOME=/work", "LANG=C.UTF-8" };
	struct utsname u;

	if (uname(&u) < 0 || strcmp(u.nodename, JAIL_HOSTNAME) != 0)
		miss("the host name is %s", u.nodename);
	if (u.domainname[0] && strcmp(u.domainname, "(none)") != 0)
		miss("the domain name is %s", u.domainname);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) || (environ[i] && !fixed);
	     i++)
		if (i >= sizeof(names) / sizeof(names[0]) || !environ[i] ||
		    strncmp(environ[i], names[i], strlen(names[i])) != 0) {
			miss("the environment's entry %zu", i);
			break;
		}
}

static void look_at_limits(bool given)
{
	static const struct {
		int resource;
		rlim_t at_most;
	} rows[] = {
		{ RLIMIT_NOFILE, JAIL_FILES },
		{ RLIMIT_FSIZE, JAIL_FILE_BYTES },
		{ RLIMIT_NPROC, JAIL_PIDS + 1 },
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_MEMLOCK, 65536 },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_SIGPENDING, 64 },
		{ RLIMIT_NICE, 0 },
		{ RLIMIT_RTPRIO, 0 },
		{ RLIMIT_CPU, 61 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rlimit r;

		if (rows[i].resource == RLIMIT_CPU && !given)
			continue;
		if (getrlimit((__rlimit_resource_t)rows[i].resource, &r) < 0 ||
		    r.rlim_cur > rows[i].at_most || r.rlim_max > rows[i].at_most)
			miss("rlimit %d", rows[i].resource);
	}
}

static void look_at_network(bool loopback)
{
	const char *at = strchr(read_file("/proc/self/net/dev"), '\n');

	for (at = at ? strchr(at + 1, '\n') : NULL; at && at[1];
	     at = strchr(at + 1, '\n'))
		if (strncmp(at + 1 + strspn(at + 1, " "), "lo:", 3) != 0)
			miss("an interface beside lo");
	/* a bind to 127.0.0.1 needs the address, which lo has while it is up */
	if (!!strstr(read_file("/proc/self/net/fib_trie"), "127.0.0.1") != loopback)
		miss("lo is %s", loopback ? "down" : "up");
}

static void look_at_landlock(const char *stdin_path)
{
	struct stat st;

	if (fstat(0, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0666) != 0666)
		miss("a stdin to try Landlock with");
	else if (open(stdin_path, O_WRONLY | O_CLOEXEC) >= 0)
		miss("Landlock");
}

static void leave_stray(void)
{
	if (fork() != 0)
		return;
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	(void)sleep(60);
	_exit(0);
}

int main(int argc, char **argv)
{
	bool given = false, noproc = false, stray = false, loopback = false;
	bool landlock = false, violate = false, fixed = false;
	const char *hide = NULL;
	long sleep_ms = 0;

	for (int i = 1; i < argc; i++) {
		char *colon = strchr(argv[i], ':');

		if (colon && !strchr(argv[i], '=')) {
			*colon = '\0';
			if (!noproc)
				look_at_namespace(argv[i], colon + 1);
		}
		given = given || strcmp(argv[i], "given") == 0;
		noproc = noproc || strcmp(argv[i], "noproc") == 0;
		stray = stray || strcmp(argv[i], "stray") == 0;
		violate = violate || strcmp(argv[i], "violate") == 0;
		fixed = fixed || strcmp(argv[i], "fixed") == 0;
		loopback = loopback || strcmp(argv[i], "loopback") == 0;
		if (strncmp(argv[i], "hide=", 5) == 0)
			hide = argv[i] + 5;
		if (strncmp(argv[i], "sleep=", 6) == 0)
			sleep_ms = strtol(argv[i] + 6, NULL, 10);
		if (strncmp(argv[i], "landlock=", 9) == 0)
			landlock = atoi(argv[i] + 9) > 0;
	}
	look_at_fds();
	look_at_ids();
	look_at_privileges();
	if (!violate)
		look_at_filter();
	look_at_files(given);
	look_at_host(fixed);
	if (fixed)
		look_at_fixed();
	look_at_limits(given);
	if (!noproc) {
		look_at_status();
		look_at_mounts(hide, given);
		look_at_network(loopback);
		if (landlock)
			look_at_landlock("/proc/self/fd/0");
	} else if (access("/proc/self", F_OK) == 0) {
		miss("no /proc");
	}
	if (*missing)
		printf("missing: %s\n", missing);
	else
		printf("standing\n");
	(void)fflush(stdout);
	if (sleep_ms)
		(void)nanosleep(
			&(struct timespec){ sleep_ms / 1000, sleep_ms % 1000 * 1000000 },
			NULL);
	if (stray)
		leave_stray();
	if (violate) {
		look_at_filter();
		printf("missing: the end of a program that violates\n");
	}
	return 0;
}
