/* SPDX-License-Identifier: MIT */
/*
 * test_jail_posture_template.c - the walls of a template, with one thing wrong at a time
 *
 * As test_jail_posture.c has it for a jail; whole templates are in
 * tests/integration/test_warm.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/launch/posture.h"
#include "jail/base/procfs.h"
#include "tests/unit/suites.h"

#define PROGRAM 4711

static struct plan plan;
static struct jail jail;

static const char mounts[] = UNIT_MOUNTS
	"21 10 0:71 / /proc rw,nosuid,nodev,noexec,relatime - proc none "
	"rw,hidepid=invisible,subset=pid\n"
	"22 10 8:1 /lib/core /stepjail/root ro,nosuid,nodev,relatime - ext4 /dev/sda1 "
	"rw\n"
	"23 10 8:1 /a /stepjail/0 ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw\n"
	"24 10 8:1 /home/me/out /stepjail/1 rw,nosuid,nodev,noexec,relatime - ext4 "
	"/dev/sda1 rw\n";

/* what its clones need, no filter, and not one capability more */
static const struct {
	bool mounts;
	const char *from, *to, *says;
} changes[] = {
	{ false, "CapPrm:\t00000000800000c0", "CapPrm:\t00000000000000c1",
	  "cap_permitted reads '00000000000000c1'" },
	{ false, "CapEff:\t00000000800000c0", "CapEff:\t0000000000000000",
	  "cap_effective" },
	{ false, "CapAmb:\t00000000800000c0", "CapAmb:\t00000000000001c0",
	  "cap_ambient" },
	{ false, "CapBnd:\t0", "CapBnd:\t1", "cap_bounding" },
	{ false, "NoNewPrivs:\t1", "NoNewPrivs:\t0", "no_new_privs" },
	{ true, "/stepjail/root ro", "/stepjail/root rw", "is writable" },
	{ true, "/stepjail/0 ro", "/stepjail/0 rw", "is writable" },
	{ true, "/stepjail/1", "/stepjail/2", "was not planned" },
	{ true, "relatime - ext4", "relatime shared:1 - ext4", "is shared" },
	{ true, "hidepid=invisible,", "", "/proc is of a file system" },
};

static void make_status(char *status, size_t size)
{
	unsigned long filters = unit_filters();

	(void)snprintf(status, size,
		       "Uid:\t1879048193\t1879048193\t1879048193\t1879048193\n"
		       "Gid:\t1879048195\t1879048195\t1879048195\t1879048195\n"
		       "Groups:\t \nNSpid:\t4711\t2\nNSsid:\t4711\t2\n"
		       "CapInh:\t00000000800000c0\nCapPrm:\t00000000800000c0\n"
		       "CapEff:\t00000000800000c0\nCapBnd:\t0000000000000000\n"
		       "CapAmb:\t00000000800000c0\nNoNewPrivs:\t1\nSeccomp:\t%d\n"
		       "Seccomp_filters:\t%lu\n",
		       filters ? 2 : 0, filters);
}

static void make_template(void)
{
	struct err e;

	plan_init(&plan);
	plan.template = true;
	plan.proc = PROC_NONE; /* its clones need it all the same */
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/data", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/home/me/out:/out", true, &e), 0);
	jail = (struct jail){
		.plan = &plan, .ids = { true, -1, 1879048192, 1879048194, 0, 1000, true }
	};
}

static int look_at(bool mounts_, const char *text, struct err *e)
{
	char copy[8192];
	const struct gate_ready ready = { .program = PROGRAM };
	struct look l = { .jail = &jail, .ready = &ready, .text = copy };

	l.out = fopen("/dev/null", "we");
	(void)snprintf(copy, sizeof(copy), "%s", text);
	l.name = mounts_ ? "mounts" : "process";

	int r = mounts_ ? posture_mounts(&l, e) : posture_status(&l, e);

	ck_assert_int_eq(fclose(l.out), 0);
	return r;
}

START_TEST(what_is_as_planned_is_taken)
{
	char status[2048];
	struct err e = { 0 };

	make_template();
	make_status(status, sizeof(status));
	ck_assert_msg(look_at(false, status, &e) == 0, "%s", e.text);
	ck_assert_msg(look_at(true, mounts, &e) == 0, "%s", e.text);
	/* of a jail it is not */
	plan.template = false;
	ck_assert_int_eq(look_at(false, status, &e), -EPERM);
	ck_assert_int_eq(look_at(true, mounts, &e), -EPERM);
}
END_TEST

START_TEST(what_is_otherwise_is_refused)
{
	char status[2048], text[8192];
	const char *whole = changes[_i].mounts ? mounts : status, *at;
	struct err e = { 0 };

	make_template();
	make_status(status, sizeof(status));
	at = strstr(whole, changes[_i].from);
	ck_assert_msg(at != NULL, "no '%s' in it", changes[_i].from);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole,
		       changes[_i].to, at + strlen(changes[_i].from));
	ck_assert_int_eq(look_at(changes[_i].mounts, text, &e), -EPERM);
	ck_assert_msg(strstr(e.text, changes[_i].says) != NULL, "%s", e.text);
}
END_TEST

Suite *jail_posture_template_suite(void)
{
	Suite *s = suite_create("jail posture template");
	TCase *c = tcase_create("template");

	tcase_add_test(c, what_is_as_planned_is_taken);
	tcase_add_loop_test(c, what_is_otherwise_is_refused, 0, (int)COUNT(changes));
	suite_add_tcase(s, c);
	return s;
}
