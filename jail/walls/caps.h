/* SPDX-License-Identifier: MIT */
/*
 * caps.h - no capability, now or later
 */
#ifndef STEPJAIL_JAIL_WALLS_CAPS_H
#define STEPJAIL_JAIL_WALLS_CAPS_H

#include <sys/capability.h>

#include "init/err.h"

/* what a template keeps: those that write id maps, in a user namespace that has the ids to
 * give; Linux 5.12 asks for CAP_SETFCAP where id 0 is given, as a user's template does */
#define CAPS_TEMPLATE                                                                    \
	{                                                                                \
		CAP_SETUID, CAP_SETGID, CAP_SETFCAP                                      \
	}

/* what the stages set; made before the clone, and never freed */
struct caps {
	cap_t none;
	cap_t inherit; /* all that a new user namespace gives, a template's inheritable */
	cap_t template; /* CAPS_TEMPLATE alone */
};

/**
 * caps_make() - Make the sets, by libcap, which allocates
 *
 * Return: 0, or -errno
 */
int caps_make(struct caps *caps, struct err *e);

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
 * caps_inherit_template() - Make inheritable what caps_keep_template() keeps
 *
 * Before caps_drop_bounding(), after which nothing more can be.
 *
 * Return: 0, or -errno
 */
int caps_inherit_template(const struct caps *caps, struct err *e);

/**
 * caps_keep_template() - Keep what writes the id maps of clones, through exec; no more
 *
 * In the caller's own user namespace: CAPS_TEMPLATE, see user_namespaces(7).
 * The ambient set carries them past the exec of a program that is not uid 0 there.
 * Sets no_new_privs.
 *
 * Return: 0, or -errno
 */
int caps_keep_template(const struct caps *caps, struct err *e);

#endif
