/* SPDX-License-Identifier: MIT */
/*
 * test_jail_request.c - frames of a client of `serve`: lengths, kinds, and their order
 */
#include <stdio.h>
#include <string.h>

#include "tests/unit/asker.h"
#include "tests/unit/suites.h"

/* as init/serve_wire.h has them */
static const struct {
	uint16_t type;
	const char *name;
	size_t head;
	bool body;
	size_t more; /* another head that it may have, or 0 */
} kinds[] = {
	{ WIRE_OPEN, "OPEN", 4, false, 0 },
	{ WIRE_ONCE, "ONCE", 24, true, 0 },
	{ WIRE_CODE, "CODE", 4, true, 0 },
	{ WIRE_RUN, "RUN", 24, false, 0 },
	{ WIRE_STDIN, "STDIN", 4, true, 0 },
	{ WIRE_INTERRUPT, "INTERRUPT", 4, false, 8 },
	{ WIRE_KILL, "KILL", 4, false, 8 },
	{ WIRE_ROLLBACK, "ROLLBACK", 8, false, 0 },
	{ WIRE_BRANCH, "BRANCH", 8, false, 0 },
	{ WIRE_DROP, "DROP", 4, false, 0 },
	{ WIRE_PUT, "PUT", 8, true, 0 },
	{ WIRE_GET, "GET", 8, true, 0 },
	{ WIRE_LIST, "LIST", 8, true, 0 },
	{ WIRE_DATA, "DATA", 4, true, 0 },
	{ WIRE_END, "END", 4, false, 8 },
	{ WIRE_STATUS, "STATUS", 4, false, 0 },
	{ WIRE_CLOSE, "CLOSE", 4, false, 0 },
};

START_TEST(a_payload_has_its_kinds_length)
{
	char words[64];

	memset(asker_payload, 0xff, sizeof(asker_payload));
	for (size_t n = 0; n <= 40; n++) {
		bool fits = n == kinds[_i].head || (n && n == kinds[_i].more) ||
			    (n > kinds[_i].head && kinds[_i].body);

		/* of a session that is none, so that nothing else is done about it */
		asker_ask(_i < 2 ? 0 : 99, kinds[_i].type, n);
		asker_take();
		(void)snprintf(words, sizeof(words), "%s: %zu bytes of payload",
			       kinds[_i].name, n);
		ck_assert_msg((strstr(asker_text, words) == NULL) == fits, "%zu: %s", n,
			      asker_text);
		ck_assert_uint_eq(asker_answer.step, _i < 2 ? 0 : 99);
		ck_assert_uint_eq(asker_branch, n < 4 ? 0 : UINT32_MAX);
	}
}
END_TEST

START_TEST(a_longest_payload_is_one_too)
{
	memset(asker_payload, 0, sizeof(asker_payload));
	for (size_t i = 0; i < COUNT(kinds); i++) {
		asker_ask(0, kinds[i].type, WIRE_PAYLOAD_MAX);
		asker_take();
		ck_assert_uint_eq(asker_answer.type, WIRE_REFUSED);
		ck_assert_msg((strstr(asker_text, "bytes of payload") == NULL) ==
				      kinds[i].body,
			      "%s: %s", kinds[i].name, asker_text);
	}
}
END_TEST

START_TEST(other_kinds_are_not_the_clients)
{
	for (unsigned int type = 0; type <= UINT16_MAX; type += type < 300 ? 1 : 997) {
		bool known = false;
		char words[64];

		for (size_t i = 0; i < COUNT(kinds); i++)
			known = known || kinds[i].type == type;
		if (known)
			continue;
		(void)snprintf(words, sizeof(words),
			       "a client may not send a frame of type %u", type);
		asker_at((uint16_t)type, 5);
		asker_refused(words);
		ck_assert_uint_eq(asker_answer.step, ASKER_SESSION);
		ck_assert_uint_eq(asker_branch, 5);
	}
	asker_asked_nothing();
}
END_TEST

/* whole and of the right length, whatever stands in it */
static void ask_kind(uint32_t number, size_t i, uint32_t branch)
{
	asker_ask(number, kinds[i].type, asker_fill(branch, kinds[i].head, 0, NULL, 0));
}

START_TEST(a_session_must_be_there)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		bool opens = i < 2;

		ask_kind(opens ? 0 : 99, i, 0);
		asker_refused(opens ? "a session has a number that is not 0"
				    : "there is no session 99: OPEN it");
	}
	ck_assert_uint_eq(asker_serve.sessions, 1);
}
END_TEST

START_TEST(one_that_stands_up_or_ends_takes_little)
{
	asker_session.phase = _i ? PHASE_CLOSING : PHASE_STARTING;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (!_i && kinds[i].type == WIRE_CLOSE)
			continue;
		ask_kind(ASKER_SESSION, i, 0);
		if (kinds[i].type == WIRE_STATUS)
			asker_told();
		else
			asker_refused(i < 2 ? "is there already"
				      : _i  ? "is ending: wait for CLOSED"
					    : "is not open yet: wait for OPENED");
	}
	asker_asked_nothing();
}
END_TEST

START_TEST(a_branch_must_be_there)
{
	static const uint16_t of_a_branch[] = { WIRE_CODE, WIRE_RUN,       WIRE_STDIN,
						WIRE_KILL, WIRE_INTERRUPT, WIRE_ROLLBACK,
						WIRE_DROP };

	for (size_t i = 0; i < COUNT(kinds); i++)
		for (size_t k = 0; k < COUNT(of_a_branch); k++)
			if (kinds[i].type == of_a_branch[k]) {
				ask_kind(ASKER_SESSION, i, 3);
				asker_refused(
					"session 7 has no branch 3: BRANCH makes one");
				ck_assert_uint_eq(asker_branch, 3);
			}
	asker_asked_nothing();
}
END_TEST

START_TEST(there_are_not_more_sessions_than_allowed)
{
	asker_serve.sessions = 2;
	for (size_t i = 0; i < 2; i++) {
		ask_kind(8, i, 0);
		asker_refused("2 sessions are open: CLOSE one, or start serve with more "
			      "than --sessions 2");
		ask_kind(ASKER_SESSION, i, 0);
		asker_refused("session 7 is there already");
	}
}
END_TEST

START_TEST(what_comes_out_of_turn_changes_nothing)
{
	for (int round = 0; round < 2; round++) {
		asker_at(WIRE_INTERRUPT, 0);
		asker_refused("no step runs on branch 0");
		asker_at(WIRE_KILL, 0);
		asker_refused("no step runs on branch 0");
		asker_body(WIRE_STDIN, "x", 1);
		asker_refused("no step runs on branch 0");
		asker_body(WIRE_DATA, "x", 1);
		asker_refused("DATA: no PUT is under way");
		asker_at(WIRE_END, 0);
		asker_refused("END: no PUT is under way");
		asker_at(WIRE_DROP, 0);
		asker_refused("only one");
		asker_state(WIRE_BRANCH, 0, 0);
		asker_refused("branch 0 is there already");
		asker_state(WIRE_BRANCH, 1, 5);
		asker_refused("no state 5");
		asker_state(WIRE_ROLLBACK, 0, 5);
		asker_refused("no state 5");
	}
	ck_assert_uint_eq(asker_session.states.branches, 1);
	asker_at(WIRE_STATUS, 0);
	asker_told();
	asker_asked_nothing();
}
END_TEST

START_TEST(branches_are_made_and_forgotten)
{
	for (uint32_t name = 1; name < BRANCHES_MAX; name++) {
		asker_state(WIRE_BRANCH, name, 0);
		asker_told();
		ck_assert_uint_eq(asker_branch, name);
	}
	asker_state(WIRE_BRANCH, UINT32_MAX, 0);
	asker_refused("at most 64 branches");
	asker_at(WIRE_DROP, 0);
	asker_told();
	asker_at(WIRE_DROP, 0);
	asker_refused("no branch 0");
	asker_state(WIRE_BRANCH, UINT32_MAX, 0);
	asker_told();
	asker_state(WIRE_ROLLBACK, UINT32_MAX, 0);
	asker_told();
	ck_assert_uint_eq(asker_session.states.branches, BRANCHES_MAX);
}
END_TEST

Suite *jail_request_suite(void)
{
	Suite *s = suite_create("jail request");
	TCase *c = tcase_create("request");

	tcase_add_checked_fixture(c, asker_start, NULL);
	tcase_add_loop_test(c, a_payload_has_its_kinds_length, 0, (int)COUNT(kinds));
	tcase_add_test(c, a_longest_payload_is_one_too);
	tcase_add_test(c, other_kinds_are_not_the_clients);
	tcase_add_test(c, a_session_must_be_there);
	tcase_add_loop_test(c, one_that_stands_up_or_ends_takes_little, 0, 2);
	tcase_add_test(c, a_branch_must_be_there);
	tcase_add_test(c, there_are_not_more_sessions_than_allowed);
	tcase_add_test(c, what_comes_out_of_turn_changes_nothing);
	tcase_add_test(c, branches_are_made_and_forgotten);
	suite_add_tcase(s, c);
	return s;
}
