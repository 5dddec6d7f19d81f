/* raise a capability in any set | five empty sets, locked securebits, seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/capability.h>
#include <linux/securebits.h>

int main(void)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { { 0 } }, sets[2] = { { 0 } };
	int bounding = 0;

	(void)syscall(SYS_capget, &header, now);
	for (int i = 0; i < 2; i++) {
		uint32_t all = now[i].permitted ? now[i].permitted : ~0U;

		sets[i] = (struct __user_cap_data_struct){ all, all, all };
	}
	errno = EPERM;
	door("permitted", now[0].permitted || now[1].permitted ? 0 : -1);
	for (unsigned long cap = 0; cap < 64; cap++)
		bounding += prctl(PR_CAPBSET_READ, cap) == 1;
	errno = EPERM;
	door("bounding", bounding ? 0 : -1);
	door("capset", syscall(SYS_capset, &header, sets));
	door("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
	door("keep capabilities", prctl(PR_SET_KEEPCAPS, 1));
	door("securebits", prctl(PR_SET_SECUREBITS, SECBIT_NOROOT));
	return attack_end();
}
