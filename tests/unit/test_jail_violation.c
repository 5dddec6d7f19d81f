/* SPDX-License-Identifier: MIT */
/*
 * test_jail_violation.c - what the launcher hears of refused calls, answers, and prints
 *
 * A child of the test has the plan's filter; the test is its launcher, with a clock of its
 * own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "jail/call.h"
#include "jail/gate.h"
#include "jail/option.h"
#include "jail/seccomp.h"
#include "jail/violation.h"
#include "tests/unit/suites.h"

#define BURST 200  /* as jail/violation.c has it */
#define PER_S 1000 /* the same */

static struct violations v;
static struct plan plan;
static pid_t caller;

static bool refused(long nr, uint64_t arg0, uint64_t arg1)
{
	return syscall(nr, arg0, arg1, 0UL, 0UL, 0UL) == -1 && errno == EPERM;
}

/* a process under the plan's filter that calls @act; its end says what came of it */
static void start(bool (*act)(void))
{
	struct err e = { 0 };
	int outside, inside;
	pid_t pid;

	ck_assert_int_eq(gate_make(&outside, &inside, &e), 0);
	caller = fork();
	ck_assert_int_ge(caller, 0);
	if (caller == 0) {
		uint64_t key;
		int listener;

		(void)close(outside);
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
		if (seccomp_install(&plan, &key, &listener, &e) < 0 ||
		    gate_wait(inside, listener, 0, &e) < 0)
			_exit(3);
		(void)close(listener);
		_exit(act() ? 0 : 1);
	}
	(void)close(inside);
	v = (struct violations){ .fd = -1 };
	ck_assert_int_eq(gate_receive(outside, &pid, &v.fd, &(uint32_t){ 0 }, &e), 1);
	ck_assert_int_eq(pid, caller);
	ck_assert_int_ge(v.fd, 0);
	ck_assert_int_eq(gate_open(&outside), 0);
}

/* wait until something waits at the listener, or nobody can any more */
static bool wait_at_listener(void)
{
	struct pollfd p = { .fd = v.fd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	return p.revents & POLLIN;
}

/* serve until the caller has ended; a clock that goes on by a second each time */
static bool serve_all(void)
{
	bool violation = false;
	uint64_t now_ms = 1000;

	for (; v.fd >= 0; now_ms += 1000) {
		(void)wait_at_listener();
		ck_assert_uint_eq(violation_wait_ms(&v, now_ms), 0);
		violation |= violation_serve(&v, &plan, now_ms);
	}
	return violation;
}

static void ck_end(int want)
{
	int status;

	ck_assert_int_eq(waitpid(caller, &status, 0), caller);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == want, "%#x",
		      (unsigned int)status);
}

static const struct violation *find(const char *name, const char *label)
{
	for (unsigned int i = 0; i < v.kinds; i++) {
		const char *own = call_name(&v.kind[i].first);

		if (own && strcmp(own, name) == 0 && strcmp(v.kind[i].label, label) == 0)
			return &v.kind[i];
	}
	ck_abort_msg("no %s (%s)", name, label);
	return NULL;
}

static bool make_some(void)
{
	bool all = true;

	for (int i = 0; i < 3; i++)
		all &= refused(SYS_ptrace, 0, 0x1234567890abcdef);
	for (uint64_t i = 0; i < 2; i++) {
		all &= refused(SYS_ioctl, i, TIOCSTI | i << 32);
		all &= refused(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD | i, 0);
	}
	all &= refused(SYS_ioctl, 1, TIOCLINUX);
	all &= refused(SYS_personality, READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE, 0);
	all &= refused(SYS_personality, 1, 0) && refused(SYS_personality, 2, 0);
	all &= refused(SYS_socket, AF_VSOCK, SOCK_STREAM);
	/* refused, but nobody is told */
	return all && refused(SYS_msgget, 0, 0);
}

START_TEST(calls_are_kept_by_kind)
{
	const struct violation *k;

	plan = (struct plan){ 0 };
	start(make_some);
	ck_assert(serve_all());
	ck_end(0);
	ck_assert_uint_eq(v.total, 12);
	ck_assert_uint_eq(v.beyond, 0);
	ck_assert_uint_eq(v.kinds, 8);
	k = find("ptrace", "");
	ck_assert_uint_eq(k->count, 3);
	ck_assert_int_eq(k->pid, caller);
	ck_assert_uint_eq(k->first.args[1], 0x1234567890abcdef);
	ck_assert_uint_eq(k->first_ms, 1000);
	ck_assert(k->violation && k->last_ms >= k->first_ms);
	ck_assert_uint_eq(find("ioctl", "TIOCSTI")->count, 2);
	ck_assert_uint_eq(find("ioctl", "TIOCLINUX")->count, 1);
	ck_assert_uint_eq(find("clone", "CLONE_NEWUSER|CLONE_NEWNET")->count, 2);
	ck_assert_uint_eq(find("socket", "AF_VSOCK")->count, 1);
	k = find("personality", "ADDR_NO_RANDOMIZE|READ_IMPLIES_EXEC");
	ck_assert_uint_eq(k->count, 1);
	/* by their value, where it has no name */
	ck_assert_uint_eq(find("personality", "")->count, 1);
	ck_assert_str_eq(violation_name(&v), "ptrace");
}
END_TEST

static bool make_many(void)
{
	bool all = true;

	for (uint64_t i = 0; i < 40; i++)
		all &= refused(SYS_ioctl, 0, 0xabcd0000 | i);
	/* of the first kind once more, and of one that found no room */
	return all && refused(SYS_ioctl, 1, 0xabcd0000) &&
	       refused(SYS_ioctl, 1, 0xabcd0000 | 39) && refused(SYS_msgget, 0, 0);
}

START_TEST(kinds_have_a_limit_and_counts_have_none)
{
	plan = (struct plan){ .learn = ANSWER_YES };
	start(make_many);
	ck_assert(!serve_all());
	ck_end(0);
	ck_assert_uint_eq(v.total, 43);
	ck_assert_uint_eq(v.kinds, VIOLATION_KINDS_MAX);
	ck_assert_uint_eq(v.beyond, 43 - VIOLATION_KINDS_MAX - 1);
	ck_assert_uint_eq(v.kind[0].count, 2);
	/* refused, and no violation */
	ck_assert_ptr_null(violation_name(&v));
	for (unsigned int i = 0; i < v.kinds; i++)
		ck_assert(!v.kind[i].violation);
}
END_TEST

static bool make_flood(void)
{
	for (int i = 0; i < 600; i++)
		if (!refused(SYS_ptrace, 0, 0))
			return false;
	return true;
}

/* what waits at one moment of the clock, until the budget says wait */
static uint64_t answered_at(uint64_t now_ms)
{
	uint64_t before = v.total;

	while (v.fd >= 0 && violation_wait_ms(&v, now_ms) == 0) {
		uint64_t was = v.total;

		(void)wait_at_listener();
		(void)violation_serve(&v, &plan, now_ms);
		/* at most a few in one go */
		ck_assert_uint_le(v.total - was, 8);
	}
	return v.total - before;
}

START_TEST(a_flood_waits_for_its_answers)
{
	plan = (struct plan){ 0 };
	start(make_flood);
	ck_assert_uint_eq(answered_at(5), BURST);
	ck_assert_uint_gt(violation_wait_ms(&v, 5), 0);
	ck_assert(!violation_serve(&v, &plan, 5));
	ck_assert_uint_eq(v.total, BURST);
	/* from then on by the clock */
	ck_assert_uint_eq(answered_at(6), PER_S / 1000);
	ck_assert_uint_eq(answered_at(6), 0);
	ck_assert_uint_eq(answered_at(26), 20 * PER_S / 1000);
	/* never more than a burst, however long it was quiet */
	ck_assert_uint_eq(answered_at(100000), BURST);
	/* a clock that begins anew neither stops nor frees it */
	ck_assert_uint_le(answered_at(0), BURST);
	for (uint64_t now_ms = 1; v.fd >= 0; now_ms++)
		ck_assert_uint_le(answered_at(now_ms), BURST);
	ck_end(0);
	ck_assert_uint_eq(v.total, 600);
	ck_assert_uint_eq(v.kind[0].count, 600);
}
END_TEST

/* A listener that cannot be served leaves calls unanswered for ever: it must be told of. A
 * pipe stands for it. */
START_TEST(a_broken_listener_is_told_of)
{
	int ends[2];

	plan = (struct plan){ 0 };
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	v = (struct violations){ .fd = ends[0] };
	ck_assert_uint_eq(violation_wait_ms(&v, 1), 0);
	ck_assert_int_eq(violation_serve(&v, &plan, 1), -ENOTTY);
	ck_assert_uint_eq(v.total, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

static bool make_one(void)
{
	(void)refused(SYS_ptrace, 0, 0);
	_exit(9); /* it came back */
}

START_TEST(a_deadly_violation_has_no_answer)
{
	int status;

	plan = (struct plan){ .on_violation = VIOLATION_KILL };
	start(make_one);
	ck_assert(wait_at_listener());
	ck_assert_uint_eq(violation_wait_ms(&v, 1), 0);
	ck_assert(violation_serve(&v, &plan, 1));
	ck_assert_uint_eq(v.total, 1);
	/* it is held: nothing of it runs until it is killed. Were it answered, it would end
	 * at once; it is not, and never does */
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, caller, 0),
			      .events = POLLIN };

	ck_assert_int_ge(end.fd, 0);
	ck_assert_int_eq(poll(&end, 1, 300), 0);
	(void)close(end.fd);
	ck_assert_int_eq(kill(caller, SIGKILL), 0);
	ck_assert_int_eq(waitpid(caller, &status, 0), caller);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	io_close_fd(&v.fd);
}
END_TEST

static bool make_harmless(void)
{
	return refused(SYS_msgget, 0, 0);
}

/* while it learns, not all that is told of is a violation */
START_TEST(what_is_only_learned_kills_nobody)
{
	plan = (struct plan){ .on_violation = VIOLATION_KILL, .learn = ANSWER_YES };
	start(make_harmless);
	ck_assert(!serve_all());
	ck_end(0);
	ck_assert_uint_eq(v.total, 1);
}
END_TEST

static void ignore(int signal)
{
	(void)signal;
}

static bool make_interrupted(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction act = { .sa_handler = ignore, .sa_flags = SA_RESTART };

	(void)sigaction(SIGALRM, &act, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 50; i++)
		if (!refused(SYS_ptrace, 0, 0))
			return false;
	return true;
}

/* a signal while the answer is on its way must not make one call two */
START_TEST(an_interrupted_call_counts_once)
{
	plan = (struct plan){ 0 };
	start(make_interrupted);
	while (v.fd >= 0) {
		union {
			struct seccomp_notif notif;
			char room[1024];
		} n = { 0 };

		if (!wait_at_listener())
			break;
		if (ioctl(v.fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
			continue;
		/* several signals long */
		(void)usleep(3000);

		struct seccomp_notif_resp a = { .id = n.notif.id, .error = -EPERM };

		ck_assert_int_eq(ioctl(v.fd, SECCOMP_IOCTL_NOTIF_SEND, &a), 0);
		v.total++;
	}
	ck_end(0);
	ck_assert_uint_eq(v.total, 50);
	io_close_fd(&v.fd);
}
END_TEST

static cJSON *printed(bool listened)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	cJSON *whole;

	violation_print(&v, listened, out);
	(void)fclose(out);
	whole = cJSON_ParseWithOpts(text, NULL, 1);
	ck_assert_msg(whole != NULL, "%s", text);
	return whole;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	ck_assert_msg(cJSON_IsNumber(item), "%s", key);
	return item->valuedouble;
}

static bool make_two(void)
{
	return refused(SYS_clone, 0xff00000000000000 | CLONE_NEWUSER, 7) &&
	       refused(700, 1, 2);
}

START_TEST(it_prints_as_json)
{
	plan = (struct plan){ .learn = ANSWER_YES };
	start(make_two);
	(void)serve_all();
	ck_end(0);

	cJSON *whole = printed(true);
	const cJSON *list = cJSON_GetObjectItem(whole, "list");
	const cJSON *one = cJSON_GetArrayItem(list, 0), *two = one->next, *args;

	ck_assert_double_eq(number_of(whole, "total"), 2);
	ck_assert_double_eq(number_of(whole, "unlisted"), 0);
	ck_assert_int_eq(cJSON_GetArraySize(list), 2);
	ck_assert_str_eq(text_of(one, "syscall"), "clone");
	ck_assert_str_eq(text_of(one, "arch"),
			 call_arch(&(struct seccomp_data){ .arch = CALL_NATIVE }));
	ck_assert_str_eq(text_of(one, "asks"), "CLONE_NEWUSER");
	args = cJSON_GetObjectItem(one, "args");
	ck_assert_int_eq(cJSON_GetArraySize(args), 6);
	ck_assert_str_eq(cJSON_GetArrayItem(args, 0)->valuestring, "0xff00000010000000");
	ck_assert_str_eq(cJSON_GetArrayItem(args, 1)->valuestring, "0x7");
	ck_assert_double_eq(number_of(one, "pid"), caller);
	ck_assert_double_eq(number_of(one, "count"), 1);
	ck_assert_double_eq(number_of(one, "first_ms"), 1000);
	ck_assert_double_le(number_of(one, "first_ms"), number_of(one, "last_ms"));
	ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(one, "violation")));
	ck_assert_str_eq(text_of(two, "syscall"), "#700");
	ck_assert(cJSON_IsNull(cJSON_GetObjectItem(two, "asks")));
	ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(two, "violation")));
	cJSON_Delete(whole);

	whole = printed(false);
	ck_assert(cJSON_IsNull(whole));
	cJSON_Delete(whole);
	v.kinds = 0;
	whole = printed(true);
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(whole, "list")), 0);
	cJSON_Delete(whole);
}
END_TEST

static void ck_learned(const char *want)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	violation_learn(&v, &plan, out);
	(void)fclose(out);
	ck_assert_str_eq(text, want);
}

static bool make_lesson(void)
{
	return refused(SYS_sync, 0, 0) && refused(SYS_sync, 0, 0) &&
	       refused(SYS_ioctl, 0, 0x5452) && refused(SYS_ioctl, 0, TIOCSTI) &&
	       refused(SYS_personality, 0x440000, 0) && refused(SYS_ptrace, 0, 0) &&
	       refused(470, 0, 0);
}

START_TEST(it_prints_what_it_learned)
{
	plan = (struct plan){ .learn = ANSWER_YES };
	start(make_lesson);
	(void)serve_all();
	ck_end(0);
	ck_learned("# sync, 2 times: writes back every disk of the host: slows all its "
		   "users\n"
		   "allow-syscall sync\n"
		   "# ioctl, 1 time: not known to stepjail: read its manual page first\n"
		   "allow-syscall ioctl=0x5452\n"
		   "# ioctl (TIOCSTI), 1 time: types into the caller's terminal\n"
		   "#   no policy may allow it\n"
		   "# personality (ADDR_NO_RANDOMIZE|READ_IMPLIES_EXEC), 1 time: makes "
		   "data executable\n"
		   "#   no policy may allow it\n"
		   "# ptrace, 1 time: reads and changes other processes of the jail\n"
		   "allow-syscall ptrace\n"
		   "# #470, 1 time: not known to stepjail: read its manual page first\n"
		   "#   no policy may allow it\n");
}
END_TEST

static bool make_locked_lesson(void)
{
	return refused(SYS_execve, 0, 0) && refused(SYS_ptrace, 0, 0) &&
	       refused(SYS_shmat, 0, 0);
}

/* what the lock refuses, a milder row of the same call must not offer */
START_TEST(the_lock_has_the_last_word)
{
	plan = (struct plan){ .learn = ANSWER_YES, .lock_code = LOCK_YES };
	start(make_locked_lesson);
	(void)serve_all();
	ck_end(0);
	ck_learned("# execve, 1 time: starts a program\n"
		   "#   --lock-code refuses it\n"
		   "# ptrace, 1 time: writes over code, whatever protects its pages\n"
		   "#   --lock-code refuses it\n"
		   "# shmat, 1 time: could map code\n"
		   "#   --lock-code refuses it\n");
}
END_TEST

START_TEST(nothing_is_learned_from_nothing)
{
	plan = (struct plan){ .learn = ANSWER_YES };
	v = (struct violations){ .fd = -1 };
	ck_learned("# no system call was refused\n");
	v.total = v.beyond = 3;
	ck_learned("# and 3 calls of further kinds\n");
}
END_TEST

Suite *jail_violation_suite(void)
{
	Suite *s = suite_create("jail violation");
	TCase *c = tcase_create("violation");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, calls_are_kept_by_kind);
	tcase_add_test(c, kinds_have_a_limit_and_counts_have_none);
	tcase_add_test(c, a_flood_waits_for_its_answers);
	tcase_add_test(c, a_broken_listener_is_told_of);
	tcase_add_test(c, a_deadly_violation_has_no_answer);
	tcase_add_test(c, what_is_only_learned_kills_nobody);
	tcase_add_test(c, an_interrupted_call_counts_once);
	tcase_add_test(c, it_prints_as_json);
	tcase_add_test(c, it_prints_what_it_learned);
	tcase_add_test(c, the_lock_has_the_last_word);
	tcase_add_test(c, nothing_is_learned_from_nothing);
	suite_add_tcase(s, c);
	return s;
}
