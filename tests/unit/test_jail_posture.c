/* SPDX-License-Identifier: MIT */
/*
 * test_jail_posture.c - walls as the kernel tells them, and each one missing once
 *
 * A child of the test plays init, its own child the program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/seccomp.h>

#include <cjson/cJSON.h>

#include "init/filter.h"
#include "jail/caps.h"
#include "jail/posture.h"
#include "tests/unit/suites.h"

enum wall { BOUNDING = 1, OTHER_SETS = 2, NO_NEW_PRIVS = 4, FILTER = 8, ALL = 15 };

static const struct lack {
	unsigned int walls;
	const char *says; /* NULL: none is missing */
} lacks[] = {
	{ ALL, NULL },
	{ ALL & ~BOUNDING, "cap_bounding" },
	{ ALL & ~OTHER_SETS, "cap_permitted" },
	{ ALL & ~NO_NEW_PRIVS, "no_new_privs" },
	{ ALL & ~FILTER, "seccomp_mode" },
	{ 0, "cap_permitted" },
};

/* the filter first: what loads it without no_new_privs is a capability */
static void put_up(unsigned int walls)
{
	static const struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K,
							     SECCOMP_RET_ALLOW) };
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct err e;

	if (walls & FILTER)
		MUST(filter_load(allow, 1) == 0);
	if (walls & BOUNDING)
		MUST(caps_drop_bounding(&e) == 0);
	if (walls & OTHER_SETS)
		MUST(syscall(SYS_capset, &header, none) == 0);
	if (walls & NO_NEW_PRIVS)
		MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
}

static void ck_printed(const struct posture *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	cJSON *whole;

	posture_print(p, out);
	MUST(fclose(out) == 0);
	whole = cJSON_ParseWithOpts(text, NULL, 1);
	MUST(cJSON_GetArraySize(whole) == POSTURE_ROWS);

	const cJSON *mode = cJSON_GetObjectItem(whole, "seccomp_mode");
	const cJSON *uids = cJSON_GetObjectItem(whole, "host_uids");

	MUST(mode && strcmp(mode->valuestring, "2") == 0);
	/* four of them, and blanks between */
	MUST(uids && !strchr(uids->valuestring, '\t') && strchr(uids->valuestring, ' '));
	cJSON_Delete(whole);
	free(text);
}

static void look(void *arg)
{
	const struct lack *lack = arg;
	struct posture p = { .known = true };
	struct err e = { 0 };
	int ends[2];
	char byte;

	if (!unit_namespace(0))
		return;
	MUST(pipe(ends) == 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		put_up(lack->walls);
		MUST(write(ends[1], "x", 1) == 1);
		for (;;)
			(void)pause();
	}
	(void)close(ends[1]);
	MUST(read(ends[0], &byte, 1) == 1);

	int r = posture_read(pid, &p, &e);

	MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	MUST(r == (lack->says ? -EPERM : 0));
	MUST(p.known == !lack->says);
	if (lack->says)
		MUST(strstr(e.text, lack->says) != NULL);
	else
		ck_printed(&p);
}

START_TEST(each_missing_wall_is_seen)
{
	struct lack lack = lacks[_i];

	unit_child(look, &lack);
}
END_TEST

/* what /proc does not tell is not known, and not made up */
START_TEST(nobody_has_no_posture)
{
	struct posture p = { .known = true };
	struct err e;
	char text[16] = "";
	FILE *out;

	ck_assert_int_eq(posture_read(0x3fffffff, &p, &e), -ENOENT);
	ck_assert(!p.known);
	out = fmemopen(text, sizeof(text), "w");
	posture_print(&p, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, "null");
}
END_TEST

Suite *jail_posture_suite(void)
{
	Suite *s = suite_create("jail posture");
	TCase *c = tcase_create("posture");

	tcase_add_loop_test(c, each_missing_wall_is_seen, 0, (int)COUNT(lacks));
	tcase_add_test(c, nobody_has_no_posture);
	suite_add_tcase(s, c);
	return s;
}
