/* SPDX-License-Identifier: MIT */
/*
 * clock.c - a wall clock that starts at a given instant: see clock.h
 *
 * Theory of operation
 *   The kernel can start a jail's monotonic clock at zero (time_namespaces(7)), but has
 *   no namespace for the time of day. So the calls by which CPython asks for it are
 *   answered here: that instant, and what the monotonic clock has counted since. The
 *   linker hands them over (--wrap, in rootfs/trees/build), but for time(), which is
 *   simply this file's, for the libraries of the tree data as well: numpy asks for it. A
 *   wait that ends at a time of day is the kernel's, and it knows its own alone:
 *   sem_timedwait() is told in its terms, for multiprocessing.
 *
 *   It is a convenience for honest code and no wall: the system call, and the times of
 *   files, tell the real time. Libraries beside CPython see it as well, in all but
 *   time(): they may hand it on to the kernel in calls that are not known here.
 */
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "rootfs/interpreter/clock.h"

#define VISIBLE __attribute__((visibility("default")))
#define NS 1000000000L

/* the linker's names for what a call was, and what it is made */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __real_gettimeofday(struct timeval *now, void *zone);
int __real_sem_timedwait(sem_t *sem, const struct timespec *end);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_gettimeofday(struct timeval *now, void *zone);
int __wrap_sem_timedwait(sem_t *sem, const struct timespec *end);

static bool shifted;
static time_t start;

void clock_begin(void)
{
	const char *text = getenv("STEPJAIL_CLOCK_START");

	shifted = text != NULL;
	start = text ? (time_t)strtoll(text, NULL, 10) : 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!shifted || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE &&
			 clock != CLOCK_TAI))
		return __real_clock_gettime(clock, now);
	/* for the coarse clock, too: it lags by a tick, and would begin before @start */
	if (__real_clock_gettime(CLOCK_MONOTONIC, now) < 0)
		return -1;
	now->tv_sec += start;
	return 0;
}

int __wrap_gettimeofday(struct timeval *now, void *zone)
{
	struct timespec t;

	if (!shifted)
		return __real_gettimeofday(now, zone);
	if (__wrap_clock_gettime(CLOCK_REALTIME, &t) < 0)
		return -1;
	*now = (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
	return 0;
}

VISIBLE time_t time(time_t *out)
{
	struct timespec now = { 0 };

	(void)__wrap_clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int __wrap_sem_timedwait(sem_t *sem, const struct timespec *end)
{
	struct timespec here, there;

	if (!shifted || __wrap_clock_gettime(CLOCK_REALTIME, &here) < 0 ||
	    __real_clock_gettime(CLOCK_REALTIME, &there) < 0)
		return __real_sem_timedwait(sem, end);
	there.tv_sec += end->tv_sec - here.tv_sec;
	there.tv_nsec += end->tv_nsec - here.tv_nsec;
	there.tv_sec += there.tv_nsec >= NS ? 1 : there.tv_nsec < 0 ? -1 : 0;
	there.tv_nsec += there.tv_nsec >= NS ? -NS : there.tv_nsec < 0 ? NS : 0;
	return __real_sem_timedwait(sem, &there);
}
