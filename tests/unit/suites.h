/* SPDX-License-Identifier: MIT */
/*
 * suites.h - what the unit tests share: the suites' names, skips, children, folders
 *
 * A file of tests defines one suite function, named here and in main.c's table.
 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/count.h"

/* ck_assert() for loops of very many rounds: it writes nothing to a file while it holds
 */
#define HOLDS(condition)                                                                 \
	do {                                                                             \
		if (!(condition))                                                        \
			ck_abort_msg("%s", #condition);                                  \
	} while (0)

/**
 * unit_skip() - Say that the running test, or a part of it, could not be tried, and why
 * @fmt:	printf format; names what is missing
 *
 * Counted and printed at the end, from any process of the run; the caller then returns. A
 * skip is not a pass: --no-skips makes it a failure.
 */
void unit_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * unit_lives_on() - What the test's process allocates from here on lives as long as it
 *
 * A plan's strings and the paths of its sources do so by design: no leaks to report.
 */
void unit_lives_on(void);

/**
 * unit_folder() - A new empty folder, open to all; removed when all tests have ended
 *
 * Return: its path, valid until the 64th call that follows
 */
const char *unit_folder(void);

/** unit_path() - "folder/name"; valid until the fourth call that follows */
const char *unit_path(const char *folder, const char *name);

/* what a kernel tells of the mounts that every jail has, in /proc/PID/mountinfo */
#define UNIT_MOUNTS                                                                      \
	"10 9 0:65 / / ro,nosuid,nodev,relatime - overlay none ro,lowerdir=r:e\n"        \
	"11 10 0:43 /dev /dev ro,nosuid,nodev,noexec,relatime - tmpfs none "             \
	"rw,mode=755\n"                                                                  \
	"12 11 0:6 /null /dev/null ro,nosuid,noexec,relatime - devtmpfs udev rw\n"       \
	"13 11 0:6 /zero /dev/zero ro,nosuid,noexec,relatime - devtmpfs udev rw\n"       \
	"14 11 0:6 /full /dev/full ro,nosuid,noexec,relatime - devtmpfs udev rw\n"       \
	"15 11 0:6 /random /dev/random ro,nosuid,noexec,relatime - devtmpfs udev rw\n"   \
	"16 11 0:6 /urandom /dev/urandom ro,nosuid,noexec,relatime - devtmpfs udev rw\n" \
	"17 11 0:6 /tty /dev/tty ro,nosuid,noexec,relatime - devtmpfs udev rw\n"         \
	"18 10 0:69 / /work rw,nosuid,nodev,noexec,relatime - tmpfs none rw,size=1k\n"   \
	"19 10 0:70 /tmp /tmp rw,nosuid,nodev,noexec,relatime - tmpfs none rw,size=2k\n" \
	"20 11 0:70 /shm /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs none rw\n"

/** unit_filters() - How many filters this process has already, as /proc says */
unsigned long unit_filters(void);

/** unit_file() - Make a file of these bytes; the path is unit_path()'s */
const char *unit_file(const char *folder, const char *name, const void *bytes,
		      size_t length);

/**
 * unit_child() - Call @act in a process of its own, which may lose any right in it
 *
 * In there, no ck_assert: MUST() instead, whose failure fails the calling test.
 */
void unit_child(void (*act)(void *arg), void *arg);

/* for a process under unit_child(): fail the test unless the condition holds */
#define MUST(condition) unit_must((condition), #condition, __FILE__, __LINE__)
void unit_must(bool holds, const char *condition, const char *file, int line);

/**
 * unit_namespace() - In a unit_child(): become id 0 of a new user namespace
 * @flags:	CLONE_NEW flags of further namespaces
 *
 * Return: false where the host refuses; the skip is then counted already
 */
bool unit_namespace(int flags);

/** unit_fds() - How many of the first 256 fds are open */
int unit_fds(void);

/** unit_random() - The next number of a fixed sequence; @state begins as anything but 0
 */
uint64_t unit_random(uint64_t *state);

Suite *init_err_suite(void);
Suite *init_filter_code_suite(void);
Suite *init_filter_load_suite(void);
Suite *init_filter_rows_suite(void);
Suite *init_filter_words_suite(void);
Suite *init_io_suite(void);
Suite *init_reader_suite(void);
Suite *init_wire_suite(void);
Suite *jail_allow_suite(void);
Suite *jail_call_suite(void);
Suite *jail_caps_suite(void);
Suite *jail_confine_suite(void);
Suite *jail_capture_suite(void);
Suite *jail_capture_out_suite(void);
Suite *jail_cgroup_suite(void);
Suite *jail_cgroup_limit_suite(void);
Suite *jail_cgroup_usage_suite(void);
Suite *jail_explain_suite(void);
Suite *jail_deterministic_suite(void);
Suite *jail_gate_suite(void);
Suite *jail_signal_guard_suite(void);
Suite *jail_fd_passing_suite(void);
Suite *jail_host_suite(void);
Suite *jail_event_loop_suite(void);
Suite *jail_ids_suite(void);
Suite *jail_json_suite(void);
Suite *jail_keeper_suite(void);
Suite *jail_landlock_suite(void);
Suite *jail_manual_suite(void);
Suite *jail_mount_op_suite(void);
Suite *jail_net_suite(void);
Suite *jail_oci_suite(void);
Suite *jail_option_suite(void);
Suite *jail_option_words_suite(void);
Suite *jail_limits_met_suite(void);
Suite *jail_outcome_suite(void);
Suite *jail_plan_suite(void);
Suite *jail_plan_io_suite(void);
Suite *jail_policy_suite(void);
Suite *jail_posture_suite(void);
Suite *jail_posture_template_suite(void);
Suite *jail_probe_suite(void);
Suite *jail_procfs_suite(void);
Suite *jail_queue_suite(void);
Suite *jail_refused_suite(void);
Suite *jail_report_suite(void);
Suite *jail_report_place_suite(void);
Suite *jail_request_suite(void);
Suite *jail_request_data_suite(void);
Suite *jail_rlimit_suite(void);
Suite *jail_tmpfs_usage_suite(void);
Suite *jail_seccomp_suite(void);
Suite *jail_session_media_suite(void);
Suite *jail_sha256_suite(void);
Suite *jail_shipped_suite(void);
Suite *jail_denied_without_suite(void);
Suite *jail_mapped_suite(void);
Suite *jail_source_suite(void);
Suite *jail_stage_suite(void);
Suite *jail_states_suite(void);
Suite *jail_template_pool_suite(void);
Suite *jail_template_suite(void);
Suite *jail_template_clone_suite(void);
Suite *jail_spawner_suite(void);
Suite *jail_measure_suite(void);
Suite *jail_measurer_suite(void);
Suite *jail_tree_suite(void);
Suite *jail_egress_suite(void);
Suite *jail_place_suite(void);
Suite *jail_value_suite(void);
Suite *jail_violation_print_suite(void);
Suite *jail_violation_suite(void);
Suite *jail_proc_usage_suite(void);
Suite *jail_watch_cpu_suite(void);
Suite *jail_warm_plan_suite(void);
Suite *jail_wipe_suite(void);

Suite *agent_response_suite(void);
Suite *agent_body_suite(void);
Suite *agent_budget_suite(void);
Suite *agent_chain_suite(void);
Suite *agent_broker_suite(void);
Suite *agent_client_suite(void);
Suite *agent_confine_suite(void);
Suite *agent_confine_lies_suite(void);
Suite *agent_extract_suite(void);
Suite *agent_faults_suite(void);
Suite *agent_inputs_suite(void);
Suite *agent_folder_suite(void);
Suite *agent_key_suite(void);
Suite *agent_list_suite(void);
Suite *agent_live_suite(void);
Suite *agent_media_suite(void);
Suite *agent_memory_suite(void);
Suite *agent_model_suite(void);
Suite *agent_options_suite(void);
Suite *agent_peek_suite(void);
Suite *agent_put_suite(void);
Suite *agent_repl_suite(void);
Suite *agent_server_suite(void);
Suite *agent_skills_suite(void);
Suite *agent_text_suite(void);
Suite *agent_clip_suite(void);
Suite *agent_client_lies_suite(void);
Suite *agent_think_suite(void);
Suite *agent_tool_suite(void);
Suite *agent_checks_suite(void);
Suite *agent_prompt_suite(void);
Suite *agent_words_suite(void);
Suite *agent_tests_suite(void);
