/* SPDX-License-Identifier: MIT */
/*
 * attack.h - what every C case of the escape corpus is made of
 *
 * First comment of a case: attack | wall | expected result inside. A case tries one or
 * more doors and ends by attack_end(). Its exit status and its last line of stdout tell
 * the runner what came of it.
 *
 * 0: a door opened; how many of how many.
 *
 * 1: all held; the errno names, or words, that they answered with.
 *
 * 77: something is missing that the attack needs; what.
 */
#ifndef STEPJAIL_TESTS_ESCAPE_ATTACK_H
#define STEPJAIL_TESTS_ESCAPE_ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static struct {
	int tried, opened;
	pid_t victim;   /* a child of our own, to be ended with us */
	char held[512]; /* distinct answers, blanks between */
} attack;

static void attack_note(const char *word)
{
	size_t used = strlen(attack.held);
	char padded[64], all[sizeof(attack.held) + 2];

	(void)snprintf(padded, sizeof(padded), " %s ", word);
	(void)snprintf(all, sizeof(all), " %s ", attack.held);
	if (!strstr(all, padded))
		(void)snprintf(attack.held + used, sizeof(attack.held) - used, "%s%s",
			       used ? " " : "", word);
}

/* a door whose answer is a word of its own, not an errno */
static UNUSED void door_word(const char *what, bool open, const char *word)
{
	attack.tried++;
	attack.opened += open;
	(void)fprintf(stderr, "%s: %s\n", what, open ? "OPEN" : word);
	if (!open)
		attack_note(word);
}

/* a system call's result: negative is held, and errno says by what */
static UNUSED void door(const char *what, long result)
{
	const char *name = strerrorname_np(errno);

	door_word(what, result >= 0, name ? name : "unknown-errno");
}

static UNUSED int attack_end(void)
{
	if (attack.victim > 0)
		(void)kill(attack.victim, SIGKILL);
	if (attack.opened)
		printf("%d of %d\n", attack.opened, attack.tried);
	else
		printf("%s\n", attack.held);
	return attack.opened == 0;
}

static UNUSED void attack_lacks(const char *what)
{
	printf("%s\n", what);
	exit(77);
}

/* nobody maps ids here: what this process may, it may do to the whole machine */
static UNUSED bool attack_on_the_machine(void)
{
	char map[64] = "";
	int fd = open("/proc/self/uid_map", O_RDONLY);
	unsigned int inside = 1, outside = 1, count = 0;

	if (fd < 0 || read(fd, map, sizeof(map) - 1) <= 0)
		return false; /* no /proc: that is a jail's */
	(void)close(fd);
	return sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && !inside &&
	       !outside && count == ~0U && geteuid() == 0;
}

/* cases that change mounts: root by hand, outside of tests/escape/run, would regret it */
static UNUSED void attack_spares_the_machine(void)
{
	if (attack_on_the_machine())
		attack_lacks("a user namespace: tests/escape/run makes one");
}

/* a child of our own that sleeps, as a victim; it never outlives us */
static UNUSED pid_t attack_victim(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(20);
		for (;;)
			(void)pause();
	}
	if (pid < 0)
		attack_lacks("fork");
	attack.victim = pid;
	return pid;
}

/*
 * "child": make one; "1": the jail's init, our parent. If it is not, the jail is broken,
 * and that PID is the host's, which is left alone: the case ends as one that got out.
 */
static UNUSED pid_t attack_target(const char *word)
{
	if (strcmp(word, "child") == 0)
		return attack_victim();
	if (strcmp(word, "1") == 0 && getppid() == 1)
		return 1;
	door_word("PID 1 is the host's", true, "");
	exit(attack_end());
}

#endif
