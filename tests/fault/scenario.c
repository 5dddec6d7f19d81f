/* SPDX-License-Identifier: MIT */
/*
 * scenario.c - the runs that faults are put into, and what they need around them
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fault/fault.h"

#define WORDS 48
#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

static const char *const plan[] = {
	"--hostname",  JAIL_HOSTNAME, "--files",    TEXT(JAIL_FILES),
	"--file-size", "1M",          "--pids",     TEXT(JAIL_PIDS),
	"--memory",    "64M",         "--tmp-size", "1M",
	"--work-size", "2M",          "--inodes",   TEXT(JAIL_INODES),
	"--report",    "report",
};

const struct scenario scenarios[] = {
	{ "whole",
	  { "--net", "loopback", "--cpu-time", "60s", "--bind", "given:/given",
	    "--bind-rw", "shared:/shared" },
	  { "/bin/walls", "loopback", "given" },
	  0,
	  "completed" },
	{ "bare", { "--policy", "policy" }, { "walls", "noproc" }, 0, "completed" },
	{ "stray", { NULL }, { "walls", "sleep=40", "stray" }, 0, "completed" },
	{ "slow",
	  { "--wall-time", "250ms" },
	  { "/bin/walls", "sleep=60000" },
	  124,
	  "wall-timeout" },
	{ "kept", { "--capture=both", "--verify-rootfs" }, { "walls" }, 0, "completed" },
	{ "killed",
	  { "--on-violation", "kill" },
	  { "walls", "violate" },
	  128 + 9,
	  "violation" },
	{ "out", { "--out", "out", "--quiet" }, { "walls" }, 0, "completed" },
	{ "learn", { "--learn" }, { "walls" }, 0, "completed" },
	{ "fixed",
	  { "--deterministic", "--aslr=no", "--clock-start", "2024-02-29" },
	  { "walls", "fixed" },
	  0,
	  "completed" },
};
const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

static char words[12][256]; /* of the program: namespaces and so on */
static size_t word_count;

static size_t add(const char **argv, size_t n, const char *const *more, size_t max)
{
	for (size_t i = 0; i < max && more[i]; i++)
		argv[n++] = more[i];
	return n;
}

char *const *scenario_command(const struct setup *setup, const struct scenario *s)
{
	static const char *argv[WORDS];
	size_t n = 0;

	argv[n++] = setup->launcher;
	argv[n++] = "run";
	argv[n++] = "--rootfs";
	argv[n++] = setup->tree;
	if (!setup->cgroup) {
		argv[n++] = "--allow-missing";
		argv[n++] = "cgroup";
	}
	n = add(argv, n, plan, sizeof(plan) / sizeof(plan[0]));
	n = add(argv, n, s->options, 10);
	argv[n++] = "--";
	n = add(argv, n, s->program, 6);
	for (size_t i = 0; i < word_count; i++)
		argv[n++] = words[i];
	argv[n] = NULL;
	/* execve(2) does not write */
	return (char *const *)(uintptr_t)argv;
}

/* what the program cannot know by itself */
void scenario_learn_host(const struct setup *s)
{
	static const char *const kinds[] = { "user", "mnt", "pid",   "net",
					     "ipc",  "uts", "cgroup" };
	char path[256];
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char link[64] = "";

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		if (readlink(path, link, sizeof(link) - 1) > 0)
			(void)snprintf(words[word_count++], 256, "%s:%.*s", kinds[i],
				       (int)strcspn(strchr(link, '[') + 1, "]"),
				       strchr(link, '[') + 1);
	}
	(void)snprintf(words[word_count++], 256, "hide=%.200s", s->tree);
	(void)snprintf(words[word_count++], 256, "landlock=%ld", abi > 0 ? abi : 0);
}

static void make_file(const struct setup *s, const char *name, const char *text,
		      mode_t mode)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0 ||
	    (geteuid() == 0 && fchown(fd, s->uid, s->gid) < 0)) {
		perror(path);
		exit(2);
	}
	(void)close(fd);
}

static void make_folder(const struct setup *s, const char *path, mode_t mode)
{
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0 ||
	    (geteuid() == 0 && chown(path, s->uid, s->gid) < 0)) {
		perror(path);
		exit(2);
	}
}

void scenario_clean(const struct setup *s)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/out/.stepjail.part", s->folder);
	(void)unlink(path);
}

void scenario_prepare(const struct setup *s)
{
	char path[256];

	make_folder(s, s->folder, 0755);
	(void)snprintf(path, sizeof(path), "%s/shared", s->folder);
	make_folder(s, path, 0777);
	(void)snprintf(path, sizeof(path), "%s/out", s->folder);
	make_folder(s, path, 0755);
	make_file(s, "stdin", "", 0666);
	make_file(s, "given", "given", 0644);
	make_file(s, "policy", "# no /proc\nproc none\nenv PATH=/nowhere:/bin\n", 0644);
}
