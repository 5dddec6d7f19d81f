/* SPDX-License-Identifier: MIT */
/*
 * test_agent_confine_lies.c - walls that are not there although the kernel said so, and
 * kernels that lack one
 *
 * A filter that answers a call with success, without making it, stands for a kernel, a
 * container or a tracer that pretends: what is read back must give it away.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/secret.h"
#include "agent/confine/confine.h"
#include "agent/key/key.h"
#include "init/io.h"
#include "tests/unit/suites.h"

#define NET (CONFINE_CONNECT | CONFINE_READ)
#define NO_LANDLOCK "landlock_create_ruleset"

/* in the calling process: this call is answered so, and not made. With @arg, only where
 * its first argument is that */
static bool answer(const char *call, int errnum, const int *arg)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int nr = seccomp_syscall_resolve_name(call);
	uint32_t action = SCMP_ACT_ERRNO((uint32_t)errnum);
	int r = arg ? seccomp_rule_add(ctx, action, nr, 1,
				       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)*arg))
		    : seccomp_rule_add(ctx, action, nr, 0);

	if (geteuid() == 0) /* else it takes no_new_privs, which is one of the walls */
		(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0;
}

struct lie {
	const char *call;
	int arg; /* -1 for any */
	bool as_root;
	const char *words;
};

static const struct lie lies[] = {
	{ "prctl", PR_SET_NO_NEW_PRIVS, true, "confinement: " },
	{ "prctl", PR_SET_DUMPABLE, false, "PR_SET_DUMPABLE is not in force" },
	{ "capset", -1, true, "the empty capability sets is not in force" },
	{ "seccomp", -1, false, "the seccomp filter is not in force" },
	{ "landlock_restrict_self", -1, false, "Landlock did not refuse to open a file" },
	{ "madvise", -1, false, "the key's memory, without dumps and children," },
};

static void be_lied_to(void *arg)
{
	const struct lie *l = arg;
	struct confine_policy p = { .needs = NET };
	struct confine_facts facts;
	struct err e = { 0 };

	MUST(answer(l->call, 0, l->arg < 0 ? NULL : &l->arg));
	p.secret = secret_new(100, &e);
	p.secret_bytes = 100;
	MUST(p.secret != NULL);
	MUST(confine_self(&p, &facts, &e) < 0);
	MUST(strstr(e.text, l->words) != NULL);
}

START_TEST(lie_is_found_out)
{
	struct lie l = lies[_i];
	struct err e;

	if (l.as_root && geteuid() != 0)
		unit_skip("confine: a lie about %s takes root", l.call);
	else if (strncmp(l.call, "landlock", 8) == 0 && confine_landlock_abi(&e) <= 0)
		unit_skip("confine: this kernel has no Landlock");
	else
		unit_child(be_lied_to, &l);
}
END_TEST

static void be_confined(void *arg)
{
	const unsigned int *needs = arg;
	char *secret;
	struct confine_facts f;
	struct err e = { 0 };
	struct confine_policy p = { .needs = *needs, .secret_bytes = 5000 };

	(void)setenv("OPENAI_API_KEY", "in-the-environment", 1);

	const char *was = getenv("OPENAI_API_KEY");

	secret = secret_new(p.secret_bytes, &e);
	p.secret = secret;
	MUST(confine_self(&p, &f, &e) == 0);
	MUST(f.has_secret);

	cJSON *told = confine_json(&p, &f);
	const cJSON *key = cJSON_GetObjectItem(told, "key");
	const cJSON *filters = cJSON_GetObjectItem(told, "filters");

	MUST(cJSON_IsTrue(cJSON_GetObjectItem(told, "no_new_privs")));
	MUST(cJSON_GetObjectItem(told, "seccomp")->valueint == 2);
	MUST(strcmp(cJSON_GetObjectItem(told, "capabilities")->valuestring,
		    "0000000000000000") == 0);
	MUST(cJSON_IsFalse(cJSON_GetObjectItem(told, "dumpable")));
	MUST(cJSON_IsNull(filters) || filters->valueint == 1);
	MUST(cJSON_IsFalse(cJSON_GetObjectItem(key, "dumped")));
	MUST(cJSON_IsFalse(cJSON_GetObjectItem(key, "forked")));
	cJSON_Delete(told);
	/* and it is so: asked of the kernel once more */
	MUST(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	MUST(was[0] == '\0' && !getenv("OPENAI_API_KEY"));
	MUST(confine_landlock_abi(&e) < 0); /* the filter refuses to ask again */
}

START_TEST(facts_are_read_back)
{
	unit_child(be_confined, &(unsigned int){ 0 });
	unit_child(be_confined, &(unsigned int){ NET });
}
END_TEST

/* a kernel without Landlock */
static void lack(void *arg)
{
	const unsigned int *needs = arg;
	struct confine_policy p = { .needs = *needs };
	cleanup_text struct text line = { 0 };
	struct confine_facts f;
	struct err e = { 0 };

	MUST(answer(NO_LANDLOCK, ENOSYS, NULL));
	MUST(confine_self(&p, &f, &e) == 0);
	MUST(f.landlock_abi == 0);
	MUST(f.files == !(*needs & CONFINE_READ));
	MUST(f.ports == !(*needs & CONFINE_CONNECT));
	confine_missing(&p, &f, &line);
	MUST((line.length > 0) == (*needs != 0));

	cJSON *json = confine_json(&p, &f);
	const cJSON *list = cJSON_GetObjectItem(json, "not_enforced");

	MUST(cJSON_GetArraySize(list) == (*needs ? 2 : 0));
	cJSON_Delete(json);
}

static void lack_what_is_required(void *arg)
{
	struct confine_policy p = { .needs = NET, .required = true };
	struct confine_facts f;
	struct err e = { 0 };

	(void)arg;
	MUST(answer(NO_LANDLOCK, EOPNOTSUPP, NULL));
	MUST(confine_self(&p, &f, &e) == -EPERM);
	MUST(strstr(e.text, "--require-confinement: this kernel has no Landlock"));
}

/* where all is refused without it, it is not missed */
static void need_nothing(void *arg)
{
	struct confine_policy p = { .required = true };
	struct confine_facts f;
	struct err e = { 0 };

	(void)arg;
	MUST(answer(NO_LANDLOCK, ENOSYS, NULL));
	MUST(confine_self(&p, &f, &e) == 0);
}

START_TEST(missing_landlock_is_told)
{
	unit_child(lack, &(unsigned int){ 0 });
	unit_child(lack, &(unsigned int){ NET });
	unit_child(lack_what_is_required, NULL);
	unit_child(need_nothing, NULL);
}
END_TEST

static void *sleep_on(void *arg)
{
	(void)pause();
	return arg;
}

static void have_a_thread(void *arg)
{
	struct confine_policy p = { .needs = 0 };
	struct confine_facts f;
	struct err e = { 0 };
	pthread_t t;

	(void)arg;
	MUST(pthread_create(&t, NULL, sleep_on, NULL) == 0);
	MUST(confine_self(&p, &f, &e) == -EBUSY);
}

START_TEST(thread_would_stay_outside)
{
	unit_child(have_a_thread, NULL);
}
END_TEST

START_TEST(secret_stays_here)
{
	struct secret_facts f;
	struct err e = { 0 };
	char *secret = secret_new(9000, &e);
	char plain[100];
	pid_t pid;

	ck_assert_ptr_nonnull(secret);
	secret[0] = secret[8999] = 's';
	ck_assert_int_eq(secret_look(secret, 9000, &f, &e), 0);
	ck_assert(!f.dumped && !f.forked);
	pid = fork();
	if (pid == 0)
		_exit(secret[0] || secret[8999]);

	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(secret[0], 's');
	/* the same of ordinary memory, and of both: the worst counts */
	ck_assert_int_eq(secret_look(plain, sizeof(plain), &f, &e), 0);
	ck_assert(f.dumped && f.forked && !f.locked);
	ck_assert_int_eq(mprotect(secret, 4096, PROT_READ), 0);
	ck_assert_int_eq(madvise(secret, 4096, MADV_DODUMP), 0);
	ck_assert_int_eq(secret_look(secret, 9000, &f, &e), 0);
	ck_assert(f.dumped && !f.forked);
	ck_assert_int_eq(mprotect(secret, 4096, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(munmap(secret, 9000), 0);
	ck_assert_int_lt(secret_look(secret, 9000, &f, &e), 0);
}
END_TEST

Suite *agent_confine_lies_suite(void)
{
	Suite *s = suite_create("agent/confine: lies");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, lie_is_found_out, 0, (int)COUNT(lies));
	tcase_add_test(c, facts_are_read_back);
	tcase_add_test(c, missing_landlock_is_told);
	tcase_add_test(c, thread_would_stay_outside);
	tcase_add_test(c, secret_stays_here);
	suite_add_tcase(s, c);
	return s;
}
