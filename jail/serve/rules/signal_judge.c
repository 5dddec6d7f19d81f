/* SPDX-License-Identifier: MIT */
/*
 * signal_judge.c - whom a step may signal, and whose priority or place it may change: see
 * signal_judge.h
 */
#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "jail/serve/rules/signal_judge.h"

#define IOPRIO_WHO_PROCESS 1 /* ioprio_set(2) */

/* kill(2) alone takes groups; the calls by thread and by value take no negative number */
static int judge_group(const struct signal_judge *j, pid_t group)
{
	/* 0 is the caller's group and -1 every process: who these are may have changed
	 * by the time that the kernel looks */
	if (group == 0 || group == -1 || group == INT32_MIN)
		return -EPERM;
	return j->reaches(j->owner, -group, true);
}

static int judge_signal(const struct signal_judge *j, const struct seccomp_data *call)
{
	/* the kernel takes the low half of each: pid_t and int */
	pid_t first = (pid_t)(uint32_t)call->args[0];
	bool by_thread = call->nr == SYS_tgkill || call->nr == SYS_rt_tgsigqueueinfo;
	int signal = (int)(uint32_t)call->args[by_thread ? 2 : 1], r = 0;

	/* signal 0 asks whether the process exists, and sends nothing */
	if (signal == 0)
		return 0;
	if (call->nr == SYS_kill && first <= 0)
		return judge_group(j, first);
	if (by_thread)
		r = j->reaches(j->owner, (pid_t)(uint32_t)call->args[1], false);
	return r < 0 ? r : j->reaches(j->owner, first, false);
}

/* allowed on the caller: by 0, or by the number of its process or thread */
static int judge_change(const struct signal_judge *j, pid_t pid)
{
	return pid == 0 || j->is_own(j->owner, pid) ? 0 : -EPERM;
}

int signal_judge_call(const struct signal_judge *j, const struct seccomp_data *call)
{
	/* the kernel takes the low half of each: pid_t and int */
	int which = (int)(uint32_t)call->args[0];
	pid_t who = (pid_t)(uint32_t)call->args[1];

	switch (call->nr) {
	case SYS_setpriority: /* never of a group, or of a user, who all of them are */
		return which == PRIO_PROCESS ? judge_change(j, who) : -EPERM;
	case SYS_ioprio_set:
		return which == IOPRIO_WHO_PROCESS ? judge_change(j, who) : -EPERM;
	case SYS_sched_setaffinity:
	case SYS_sched_setscheduler:
	case SYS_sched_setparam:
	case SYS_sched_setattr:
		return judge_change(j, which);
	default:
		return judge_signal(j, call);
	}
}
