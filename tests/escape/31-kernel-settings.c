/* write core_pattern, sysctls, sysfs or cgroup files | subset=pid, read-only; no sysfs, no
 * cgroupfs | ENOENT EROFS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* opened for writing, never written: outside, nothing changes */
int main(void)
{
	static const char *const files[] = {
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sys/vm/overcommit_memory",
		"/proc/sys/net/ipv4/ip_forward",
		"/proc/sysrq-trigger",
		"/sys/kernel/uevent_helper",
		"/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/pids/cgroup.procs",
		"/proc/self/oom_score_adj",
		"/proc/self/uid_map",
		"/proc/self/mem",
		"/proc/1/oom_score_adj",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		door(files[i], open(files[i], O_WRONLY));
	return attack_end();
}
