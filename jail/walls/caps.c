/* SPDX-License-Identifier: MIT */
/*
 * caps.c - no capability, now or later: see caps.h
 *
 * By libcap: cap_set_proc(3), cap_get_bound(3). Its sets are on the heap, so they are
 * made before the clone, whose child only sets them; libpsx, which would set them in all
 * threads, is not linked.
 */
#include <errno.h>
#include <sys/prctl.h>

#include <linux/securebits.h>

#include "jail/walls/caps.h"

#define LOCKED_SECUREBITS                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                 \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                       \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static const cap_value_t template_caps[] = { CAP_SETUID, CAP_SETGID, CAP_SETFCAP };

int caps_make(struct caps *caps, struct err *e)
{
	caps->none = cap_init();
	caps->inherit = cap_from_text("all=ep " CAPS_TEMPLATE_NAMES "+i");
	caps->template = cap_from_text(CAPS_TEMPLATE_NAMES "=eip");
	return caps->none && caps->inherit && caps->template
		       ? 0
		       : err_set(e, errno, "capabilities: make the sets");
}

int caps_drop_bounding(struct err *e)
{
	cap_value_t cap = 0;

	/* up to the kernel's own last capability, which may be newer than any header's */
	while (cap_drop_bound(cap) == 0)
		cap++;
	if (errno != EINVAL || cap <= CAP_SYS_ADMIN)
		return err_set(e, errno, "capabilities: drop %d from the bounding set",
			       cap);
	return 0;
}

static int set_no_new_privs(struct err *e)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0
		       ? err_set(e, errno, "capabilities: set no_new_privs")
		       : 0;
}

int caps_keep_template(const struct caps *caps, struct err *e)
{
	if (cap_set_proc(caps->template) < 0)
		return err_set(e, errno, "capabilities: drop all but a template's");
	for (size_t i = 0; i < COUNT(template_caps); i++)
		if (cap_set_ambient(template_caps[i], CAP_SET) < 0)
			return err_set(e, errno, "capabilities: keep %d through exec",
				       template_caps[i]);
	return set_no_new_privs(e);
}

int caps_drop_all(const struct caps *caps, struct err *e)
{
	/* not cap_reset_ambient(), which takes a set that cannot be read for an empty
	 * one */
	if (cap_prctlw(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0) < 0)
		return err_set(e, errno, "capabilities: empty the ambient set");
	/* securebits need CAP_SETPCAP, so they come before the sets */
	if (cap_set_secbits(LOCKED_SECUREBITS) < 0)
		return err_set(e, errno, "capabilities: lock the securebits");
	if (cap_set_proc(caps->none) < 0)
		return err_set(
			e, errno,
			"capabilities: empty the permitted, effective and inheritable sets");
	return set_no_new_privs(e);
}
