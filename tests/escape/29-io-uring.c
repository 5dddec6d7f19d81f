/* io_uring, whose requests no filter sees | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

int main(void)
{
	uint64_t params[15] = { 0 }; /* struct io_uring_params: 120 bytes */
	FILE *disabled = fopen("/proc/sys/kernel/io_uring_disabled", "r");

	if (disabled && fgetc(disabled) != '0')
		attack_lacks("kernel.io_uring_disabled=0 on this host");

	long ring = syscall(SYS_io_uring_setup, 4, params);

	if (ring < 0 && errno == ENOSYS)
		attack_lacks("io_uring in this kernel");
	door("io_uring_setup", ring);
	return attack_end();
}
