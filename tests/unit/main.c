/* SPDX-License-Identifier: MIT */
/*
 * main.c - run the unit tests, count what was skipped
 *
 * usage: unit-jail [--no-skips], unit-agent [--no-skips], from the top of the source tree
 *
 * jail/ and agent/ are programs of their own and share names, so their tests are two
 * programs as well: compiled with -DUNIT_JAIL or -DUNIT_AGENT, this file is the main() of
 * either. Check's own variables (CK_FORK, CK_RUN_SUITE, CK_VERBOSITY) work as ever.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "tests/unit/suites.h"

static Suite *(*const suites[])(void) = {
#ifdef UNIT_JAIL
	init_err_suite,
	init_filter_code_suite,
	init_filter_load_suite,
	init_filter_rows_suite,
	init_filter_words_suite,
	init_io_suite,
	init_reader_suite,
	init_wire_suite,
	jail_allow_suite,
	jail_call_suite,
	jail_caps_suite,
	jail_capture_out_suite,
	jail_capture_suite,
	jail_cgroup_limit_suite,
	jail_cgroup_suite,
	jail_cgroup_usage_suite,
	jail_confine_suite,
	jail_explain_suite,
	jail_deterministic_suite,
	jail_gate_suite,
	jail_signal_guard_suite,
	jail_host_suite,
	jail_event_loop_suite,
	jail_ids_suite,
	jail_json_suite,
	jail_keeper_suite,
	jail_landlock_suite,
	jail_manual_suite,
	jail_mount_op_suite,
	jail_net_suite,
	jail_oci_suite,
	jail_option_suite,
	jail_option_words_suite,
	jail_limits_met_suite,
	jail_outcome_suite,
	jail_fd_passing_suite,
	jail_plan_io_suite,
	jail_plan_suite,
	jail_policy_suite,
	jail_posture_suite,
	jail_posture_template_suite,
	jail_probe_suite,
	jail_procfs_suite,
	jail_queue_suite,
	jail_refused_suite,
	jail_report_place_suite,
	jail_report_suite,
	jail_request_data_suite,
	jail_request_suite,
	jail_rlimit_suite,
	jail_tmpfs_usage_suite,
	jail_seccomp_suite,
	jail_session_media_suite,
	jail_sha256_suite,
	jail_shipped_suite,
	jail_denied_without_suite,
	jail_mapped_suite,
	jail_source_suite,
	jail_stage_suite,
	jail_states_suite,
	jail_template_pool_suite,
	jail_template_suite,
	jail_template_clone_suite,
	jail_spawner_suite,
	jail_measure_suite,
	jail_measurer_suite,
	jail_tree_suite,
	jail_egress_suite,
	jail_place_suite,
	jail_value_suite,
	jail_violation_print_suite,
	jail_violation_suite,
	jail_proc_usage_suite,
	jail_watch_cpu_suite,
	jail_warm_plan_suite,
	jail_wipe_suite,
#endif
#ifdef UNIT_AGENT
	agent_response_suite,
	agent_body_suite,
	agent_budget_suite,
	agent_chain_suite,
	agent_broker_suite,
	agent_client_suite,
	agent_confine_suite,
	agent_confine_lies_suite,
	agent_extract_suite,
	agent_faults_suite,
	agent_inputs_suite,
	agent_folder_suite,
	agent_key_suite,
	agent_list_suite,
	agent_live_suite,
	agent_media_suite,
	agent_model_suite,
	agent_options_suite,
	agent_peek_suite,
	agent_put_suite,
	agent_repl_suite,
	agent_server_suite,
	agent_skills_suite,
	agent_memory_suite,
	agent_text_suite,
	agent_clip_suite,
	agent_client_lies_suite,
	agent_think_suite,
	agent_tool_suite,
	agent_checks_suite,
	agent_prompt_suite,
	agent_words_suite,
	agent_tests_suite,
#endif
};

#define SKIPS_MAX 64
#define SKIP_TEXT_MAX 160

/* shared by all processes of the run: Check gives each test one of its own */
static struct {
	int ran, failed; /* tests */
	unsigned int count;
	char text[SKIPS_MAX][SKIP_TEXT_MAX];
} * skips;

static char top[PATH_MAX];

/* a failed unit_child() says so on this fd */
static int complaints = -1;

/* of LeakSanitizer, in programs that are built with it; see sanitizer/lsan_interface.h */
void __lsan_disable(void) __attribute__((weak));

void unit_lives_on(void)
{
	if (__lsan_disable)
		__lsan_disable();
}

void unit_skip(const char *fmt, ...)
{
	unsigned int at = __atomic_fetch_add(&skips->count, 1, __ATOMIC_SEQ_CST);
	va_list ap;

	if (at >= SKIPS_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(skips->text[at], SKIP_TEXT_MAX, fmt, ap);
	va_end(ap);
}

const char *unit_path(const char *folder, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % COUNT(paths)];

	ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/%s", folder, name), PATH_MAX);
	return path;
}

const char *unit_folder(void)
{
	static char folders[64][PATH_MAX];
	static unsigned int next;
	char *path = folders[next++ % COUNT(folders)];

	ck_assert_int_lt(snprintf(path, PATH_MAX, "%.4000s/XXXXXX", top), PATH_MAX);
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chmod(path, 0755), 0);
	return path;
}

const char *unit_file(const char *folder, const char *name, const void *bytes,
		      size_t length)
{
	const char *path = unit_path(folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(io_write_all(fd, bytes, length), 0);
	ck_assert_int_eq(close(fd), 0);
	return path;
}

void unit_must(bool holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	(void)dprintf(complaints, "%s:%d: not so in the child: %s (errno %d, %s)", file,
		      line, condition, errno, strerror(errno));
	_exit(1);
}

void unit_child(void (*act)(void *arg), void *arg)
{
	char text[512] = "";
	int ends[2], status;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);

	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)close(ends[0]);
		complaints = ends[1];
		act(arg);
		_exit(0);
	}
	(void)close(ends[1]);
	(void)io_read_all(ends[0], text, sizeof(text) - 1);
	(void)close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "%s (wait status %#x)", text, (unsigned int)status);
}

bool unit_namespace(int flags)
{
	char uids[32], gids[32];

	(void)snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	(void)snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | flags) < 0 ||
	    io_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
	    io_write_file_at(AT_FDCWD, "/proc/self/gid_map", gids) < 0 ||
	    io_write_file_at(AT_FDCWD, "/proc/self/uid_map", uids) < 0) {
		unit_skip("no user namespace on this host: %s", strerror(errno));
		return false;
	}
	return true;
}

int unit_fds(void)
{
	int open = 0;

	for (int fd = 0; fd < 256; fd++)
		open += fcntl(fd, F_GETFD) >= 0;
	return open;
}

uint64_t unit_random(uint64_t *state)
{
	/* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static bool set_up(void)
{
	const char *tmp = getenv("TMPDIR");

	skips = mmap(NULL, sizeof(*skips), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)snprintf(top, sizeof(top), "%.200s/stepjail-unit-XXXXXX",
		       tmp ? tmp : "/tmp");
	if (skips == MAP_FAILED || !mkdtemp(top) || chmod(top, 0755) < 0) {
		perror("unit: set up");
		return false;
	}
	return true;
}

static unsigned int print_skips(void)
{
	for (unsigned int i = 0; i < skips->count && i < SKIPS_MAX; i++)
		(void)printf("skipped: %s\n", skips->text[i]);
	(void)printf("%zu suites: %d tests, %d failed, %u skips\n", COUNT(suites),
		     skips->ran, skips->failed, skips->count);
	return skips->count;
}

static void run_suites(size_t from, size_t count)
{
	SRunner *runner = srunner_create(NULL);

	for (size_t i = from; i < from + count; i++)
		srunner_add_suite(runner, suites[i]());
	srunner_run_all(runner, CK_ENV);
	skips->ran += srunner_ntests_run(runner);
	skips->failed += srunner_ntests_failed(runner);
	srunner_free(runner);
}

/*
 * Each suite in a process of its own: a test is a fork of it, and at a test's end
 * LeakSanitizer goes through every piece of memory that the process ever had. With all
 * suites in one process that was most of what `make asan` cost.
 */
static bool run_apart(size_t suite)
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run_suites(suite, 1);
		exit(0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return true;
	(void)printf("suite %zu did not come to its end\n", suite);
	return false;
}

#ifdef __SANITIZE_ADDRESS__
/* Each test's process looks for leaks at its end, in all that is static, too. Pages of
 * that which nobody has read yet would be a fault each, in every one of them. */
__attribute__((no_sanitize("address"))) static void read_statics(void)
{
	extern const volatile char __bss_start[], _end[];

	for (const volatile char *at = __bss_start; at < _end; at += 4096)
		(void)*at;
}
#else
static void read_statics(void)
{
}
#endif

int main(int argc, char **argv)
{
	bool no_skips = argc == 2 && strcmp(argv[1], "--no-skips") == 0;

	if (argc > 1 && !no_skips) {
		(void)fprintf(stderr, "usage: %s [--no-skips]\n", argv[0]);
		return 2;
	}
	if (!set_up())
		return 2;
	read_statics();
	/* it only ends what hangs; Check's own 4 s are few on a busy machine */
	(void)setenv("CK_DEFAULT_TIMEOUT", "60", 0);

	bool ended = true;

	/* who chooses a few, or wants no forks, is looking for something */
	if (getenv("CK_RUN_SUITE") || getenv("CK_RUN_CASE") || getenv("CK_FORK"))
		run_suites(0, COUNT(suites));
	else
		for (size_t i = 0; i < COUNT(suites); i++)
			ended &= run_apart(i);

	bool failed = !ended || skips->failed || !skips->ran;
	unsigned int skipped = print_skips();

	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed || (no_skips && skipped) ? 1 : 0;
}
