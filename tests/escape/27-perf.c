/* perf_event_open(2) | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/perf_event.h>

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long r = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (r < 0 && (errno == ENOSYS || errno == EACCES))
		attack_lacks(
			"perf events, or the right to them: kernel.perf_event_paranoid");
	door("count its own clock", r);
	return attack_end();
}
