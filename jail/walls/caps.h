/* SPDX-License-Identifier: MIT */
/*
 * caps.h - no capability, now or later
 */
#pragma once

#include <stdbool.h>
#include <sys/capability.h>

#include "init/err.h"

/* the capabilities that a template keeps, to write the id maps of its clones. Since Linux
 * 5.12, to map id 0 of the namespace above takes CAP_SETFCAP: a user's template does
 * that */
#define CAPS_TEMPLATE_MASK (1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_SETFCAP)
#define CAPS_TEMPLATE_NAMES "cap_setuid,cap_setgid,cap_setfcap"

/* the sets that the stages need; made before the clone, and never freed */
struct caps {
	cap_t none;
	cap_t inherit; /* all that a new user namespace gives, a template's inheritable */
	cap_t template; /* those alone */
};

/**
 * caps_make() - Make the sets, by libcap, which allocates
 *
 * Return: 0, or -errno
 */
int caps_make(struct caps *caps, struct err *e);

/** caps_have() - Has the calling process this capability in effect? */
bool caps_have(cap_value_t cap);

/**
 * caps_drop_bounding() - Empty the bounding set, for the caller and whatever it forks
 *
 * Return: 0, or -errno
 */
int caps_drop_bounding(struct err *e);

/**
 * caps_drop_all() - Empty the other four capability sets for good
 *
 * caps_drop_bounding() comes first. Locks the securebits, so that no exec gives anything
 * to uid 0, and sets no_new_privs, so that no file gives anything to anyone. See
 * capabilities(7).
 *
 * Return: 0, or -errno
 */
int caps_drop_all(const struct caps *caps, struct err *e);

/**
 * caps_keep_template() - Keep a template's capabilities through exec, and no
 * other
 *
 * They hold in the caller's own user namespace, see user_namespaces(7). The ambient set
 * carries them past the exec of a program that is not uid 0 there.
 * Sets no_new_privs.
 *
 * Return: 0, or -errno
 */
int caps_keep_template(const struct caps *caps, struct err *e);
