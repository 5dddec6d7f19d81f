/* SPDX-License-Identifier: MIT */
/*
 * caps.c - no capability, now or later: see caps.h
 *
 * Emptying a set needs no library: capset(2) with zeroes, and prctl(2).
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/securebits.h>

#include "jail/walls/caps.h"

#define LOCKED_SECUREBITS                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                 \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                       \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int caps_drop_bounding(struct err *e)
{
	unsigned long cap = 0;

	/* up to the kernel's own last capability, which may be newer than any header's */
	while (prctl(PR_CAPBSET_DROP, cap, 0UL, 0UL, 0UL) == 0)
		cap++;
	if (errno != EINVAL || cap <= CAP_SYS_ADMIN)
		return err_set(e, errno, "capabilities: drop %lu from the bounding set",
			       cap);
	return 0;
}

int caps_inherit_template(struct err *e)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, set) < 0)
		return err_set(e, errno, "capabilities: read the sets");
	set[0].inheritable = CAPS_TEMPLATE;
	if (syscall(SYS_capset, &header, set) < 0)
		return err_set(e, errno, "capabilities: make a template's inheritable");
	return 0;
}

int caps_keep_template(struct err *e)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3] = {
		{ CAPS_TEMPLATE, CAPS_TEMPLATE, CAPS_TEMPLATE }
	};

	if (syscall(SYS_capset, &header, set) < 0)
		return err_set(e, errno, "capabilities: drop all but a template's");
	for (unsigned long cap = 0; cap < 32; cap++)
		if ((CAPS_TEMPLATE >> cap & 1) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0UL, 0UL) < 0)
			return err_set(e, errno, "capabilities: keep %lu through exec",
				       cap);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
		return err_set(e, errno, "capabilities: set no_new_privs");
	return 0;
}

int caps_drop_all(struct err *e)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/* securebits need CAP_SETPCAP, so they come before the sets */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL) < 0)
		return err_set(e, errno, "capabilities: empty the ambient set");
	if (prctl(PR_SET_SECUREBITS, (unsigned long)LOCKED_SECUREBITS, 0UL, 0UL, 0UL) < 0)
		return err_set(e, errno, "capabilities: lock the securebits");
	if (syscall(SYS_capset, &header, none) < 0)
		return err_set(e, errno,
			       "capabilities: empty the permitted, effective and "
			       "inheritable sets");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
		return err_set(e, errno, "capabilities: set no_new_privs");
	return 0;
}
