/* SPDX-License-Identifier: MIT */
/*
 * test_jail_caps.c - no capability, read back from the kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/securebits.h>

#include "init/io.h"
#include "jail/walls/caps.h"
#include "tests/unit/suites.h"

static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:",
				    "CapAmb:" };

static uint64_t status_number(const char *key, int base)
{
	char text[8192];

	MUST(io_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof(text)) > 0);

	const char *at = strstr(text, key);

	MUST(at != NULL);
	return strtoull(at + strlen(key), NULL, base);
}

static void drop_bounding(void *arg)
{
	struct err e;

	(void)arg;
	if (!unit_namespace(CLONE_NEWUTS))
		return;
	MUST(status_number("CapBnd:", 16) != 0);
	MUST(caps_drop_bounding(&e) == 0);
	MUST(status_number("CapBnd:", 16) == 0);
	/* the others are for the stages in between */
	MUST(status_number("CapEff:", 16) != 0);
	MUST(sethostname("unit", 4) == 0);
	/* and again is harmless */
	MUST(caps_drop_bounding(&e) == 0);
}

START_TEST(the_bounding_set_is_emptied)
{
	unit_child(drop_bounding, NULL);
}
END_TEST

static void drop_all(void *arg)
{
	const int locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			   SECBIT_NO_CAP_AMBIENT_RAISE |
			   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct caps caps;
	struct err e;

	(void)arg;
	if (!unit_namespace(CLONE_NEWUTS))
		return;
	MUST(caps_make(&caps, &e) == 0);
	MUST(caps_drop_bounding(&e) == 0);
	MUST(caps_drop_all(&caps, &e) == 0);
	for (size_t i = 0; i < COUNT(sets); i++)
		MUST(status_number(sets[i], 16) == 0);
	MUST(status_number("NoNewPrivs:", 10) == 1);
	MUST(prctl(PR_GET_SECUREBITS) == locked);
	MUST(prctl(PR_SET_SECUREBITS, 0UL) < 0 && errno == EPERM);
	MUST(prctl(PR_SET_KEEPCAPS, 1UL) < 0 && errno == EPERM);
	MUST(sethostname("unit", 4) < 0 && errno == EPERM);
	MUST(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 10UL, 0UL, 0UL) < 0);
}

START_TEST(all_sets_are_emptied_for_good)
{
	unit_child(drop_all, NULL);
}
END_TEST

/* id 0 is still 0 in the namespace, and an exec would give all of it back */
static void drop_and_exec(void *arg)
{
	static const char script[] = "while read -r key value; do case $key in Cap*:) "
				     "case $value in *[!0]*) exit 1;; "
				     "esac;; esac; done < /proc/self/status";
	struct caps caps;
	struct err e;

	(void)arg;
	if (!unit_namespace(0))
		return;
	MUST(caps_make(&caps, &e) == 0);
	MUST(caps_drop_bounding(&e) == 0);
	MUST(caps_drop_all(&caps, &e) == 0);
	(void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
	MUST(false);
}

START_TEST(an_exec_gives_nothing_back)
{
	unit_child(drop_and_exec, NULL);
}
END_TEST

/* not everyone may: then it is an error, and nothing is half done in silence */
static void drop_without_rights(void *arg)
{
	struct caps caps;
	struct err e = { 0 };

	(void)arg;
	if (!unit_namespace(0))
		return;
	MUST(caps_make(&caps, &e) == 0);
	MUST(caps_drop_bounding(&e) == 0);
	MUST(caps_drop_all(&caps, &e) == 0);
	MUST(caps_drop_all(&caps, &e) == -EPERM);
	MUST(e.errnum == EPERM && strncmp(e.text, "capabilities: ", 14) == 0);
	MUST(caps_drop_bounding(&e) == -EPERM);
}

START_TEST(what_is_refused_is_an_error)
{
	unit_child(drop_without_rights, NULL);
}
END_TEST

Suite *jail_caps_suite(void)
{
	Suite *s = suite_create("jail caps");
	TCase *c = tcase_create("caps");

	tcase_add_test(c, the_bounding_set_is_emptied);
	tcase_add_test(c, all_sets_are_emptied_for_good);
	tcase_add_test(c, an_exec_gives_nothing_back);
	tcase_add_test(c, what_is_refused_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
