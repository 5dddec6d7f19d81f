/* SPDX-License-Identifier: MIT */
/*
 * probe.c - are the locks of C libraries free in a forked process: see probe.h
 *
 * Theory of operation
 *   fork(3) sees to the locks of malloc(3), of stdio and of the dynamic loader, and to no
 *   others: not to those of time zones, of syslog(3), of the resolver, of rand(3), nor to
 *   those of libraries. Most are static, so nobody else can hold them over a fork or make
 *   them anew. But each is held for a moment only. So each is taken here by something
 *   that changes nothing, with an alarm for the case that it never comes.
 */
#include <netdb.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>

#include "rootfs/interpreter/probe.h"

#define PATIENCE_US 500000
#define RANDOM_BYTES 8 /* the least that initstate(3) takes */

static void probe_time(void)
{
	const time_t now = 0;
	struct tm parts;

	(void)localtime_r(&now, &parts);
}

/* a mask of 0 asks for the one that there is */
static void probe_syslog(void)
{
	(void)setlogmask(0);
}

/* an address is its own answer, but the resolver's settings are looked at */
static void probe_resolver(void)
{
	struct hostent entry, *found;
	char text[512];
	int failed;

	(void)gethostbyname_r("127.0.0.1", &entry, text, sizeof(text), &found, &failed);
}

static void probe_random(void)
{
	char other[RANDOM_BYTES];
	char *own = initstate(1, other, sizeof(other));

	if (own)
		(void)setstate(own);
}

static void (*const probes[])(void) = { probe_time, probe_syslog, probe_resolver,
					probe_random };

void probe_locks(void)
{
	const struct sigaction fatal = { .sa_handler = SIG_DFL };
	const struct itimerval soon = { .it_value = { .tv_usec = PATIENCE_US } };
	const struct itimerval never = { .it_value = { 0 } };
	struct sigaction action;
	sigset_t alarm_only;

	(void)sigemptyset(&alarm_only);
	(void)sigaddset(&alarm_only, SIGALRM);
	(void)sigaction(SIGALRM, &fatal, &action);
	(void)sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	(void)setitimer(ITIMER_REAL, &soon, NULL);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		probes[i]();
	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)sigprocmask(SIG_BLOCK, &alarm_only, NULL);
	(void)sigaction(SIGALRM, &action, NULL);
}
