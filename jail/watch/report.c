/* SPDX-License-Identifier: MIT */
/*
 * report.c - one JSON object for each run: see report.h
 *
 * Fields, always all of them; null where a thing is not known or does not apply:
 *   stepjail, verdict, exit_code, signal, status, error
 *   started       when the program was, in UTC; null if it was not
 *   argv          its first words, 16 of 256 bytes each at most
 *   violation     name of the first call that was refused as a violation
 *   violations    all of them, by kind: syscall, arch, asks, args, pid, when, count
 *   limits        that explain the end: option and value of each; sure, where the kernel
 *		   or stepjail counted it, else it is a hint
 *   wall_ms, cpu_ms, cpu_user_ms, cpu_system_ms, cpu_throttled_ms
 *   memory_peak_bytes, oom_kills, pids_peak, pids_refused, strays
 *   full          which tmpfs had no block or no inode left at the end
 *   output        captured stdout and stderr: bytes written and left out, the text before
 *                 and behind those; null for a stream, or for both, that was passed
 *                 through
 *   out           what --out copied: files, folders, bytes; error, why not all could be
 *		   written; left_out, how many by reason. null where nothing was copied
 *   egress        what was asked of the proxy of --allow-host: hosts, each with port,
 *		   times, failed, allowed, why not, bytes sent and received; more,
 *		   connections that found no row; whole, whether all of it is here;
 *		   bypass, UDP and connections that tried another way; proxy, its own
 *		   Landlock. null where no host was allowed
 *   not_enforced  walls that --allow-missing left out, with what stands in for each, and
 *                 a limit of swap, where there is neither swap nor a file for the limit
 *   shut          names of calls that the filter refuses only because of what lacks: a
 *                 cgroup, or a Landlock that can refuse to truncate
 *   cgroup_limits the leaf's limits, as the kernel told them before the program started
 *   host_uid
 *   posture       what the kernel tells of the program before it starts; all of it is as
 *		   planned, or the program was not started, and this is null
 *     argv_sha256   of the program's words, a NUL behind each
 *     root_sha256   of the root tree's list, see tree.h; root_verified: true (the tree
 *		     was compared with it), false (it was not), null (there is no list)
 *     plan_sha256   of what explain prints for the same options
 *     namespaces    by kind, inode numbers: the jail's and the launcher's own
 *     uid_map, gid_map, setgroups
 *     mounts        at, type, flags and root of each, as in mountinfo
 *     cgroup_path   where it runs
 *     process       capability sets, no_new_privs, seccomp mode and number of filters,
 *		     host ids, pid and session (on the host, and in the jail)
 *     rlimits       by name, soft and hard
 *     open_fds      what is still open after exec
 *     network       links with their flags, addresses, routes, as libnl-route lists them
 *     landlock      ABI in force, and what a thing that it must refuse came to; or null
 *   watcher       what the kernel tells of the process that reads the program's output
 *		   and writes this report, before the program starts: ids, capability
 *		   sets, no_new_privs, seccomp mode and number of filters, Landlock as
 *		   above
 */
#include <string.h>

#include "init/io.h"
#include "jail/egress/report.h"
#include "jail/plan/option_row.h"
#include "jail/watch/confine.h"
#include "jail/watch/report.h"
#include "jail/base/version.h"

#define TEXT_BYTES                                                                       \
	(1U << 20) /* beside output and posture, which are as long as they are */

#define WORDS_MAX 16 /* of argv, and bytes of each */
#define WORD_BYTES_MAX 256

#define POLICY_BYTES (4U << 20) /* of a plan in words; all binds that it can have fit */

/* a value that only the cgroup leaf counts */
static void count(const char *key, const struct outcome *o, uint64_t value, uint64_t unit,
		  FILE *out)
{
	json_number(key, outcome_counted(o, value), value / unit, out);
}

static void write_full(FILE *out, const struct outcome *o)
{
	static const char *const lists[] = {
		[0] = "[]",
		[TMPFS_USAGE_WORK] = "[\"/work\"]",
		[TMPFS_USAGE_TMP] = "[\"/tmp\"]",
		[TMPFS_USAGE_WORK | TMPFS_USAGE_TMP] = "[\"/work\",\"/tmp\"]",
	};

	(void)fprintf(out, ",\"full\":%s",
		      !o->started || o->full < 0 ? "null" : lists[o->full]);
}

static void write_usage(FILE *out, const struct outcome *o)
{
	bool leaf = outcome_counted(o, o->usage.user_us);
	bool split = leaf || o->have_exit;
	uint64_t user = leaf ? o->usage.user_us : o->exit.user_us;
	uint64_t system = leaf ? o->usage.system_us : o->exit.system_us;
	uint64_t peak = outcome_memory(o);

	json_number(",\"wall_ms\":", o->started, o->wall_ms, out);
	json_number(",\"cpu_ms\":", o->started && (split || !o->cgroup),
		    outcome_cpu_us(o) / 1000, out);
	json_number(",\"cpu_user_ms\":", split, user / 1000, out);
	json_number(",\"cpu_system_ms\":", split, system / 1000, out);
	count(",\"cpu_throttled_ms\":", o, o->usage.throttled_us, 1000, out);
	json_number(",\"memory_peak_bytes\":", o->started && peak, peak, out);
	count(",\"oom_kills\":", o, o->usage.oom_kills, 1, out);
	if (o->cgroup)
		count(",\"pids_peak\":", o, o->usage.pids_peak, 1, out);
	else
		json_number(",\"pids_peak\":", o->peak.processes != 0, o->peak.processes,
			    out);
	count(",\"pids_refused\":", o, o->usage.pids_refused, 1, out);
	json_number(",\"strays\":", o->started, o->strays, out);
	write_full(out, o);
}

void report_limits(const struct judgement *j, const uint64_t *limit, FILE *out)
{
	const char *before = "{\"option\":\"--";
	char number[VALUE_TEXT_MAX];

	(void)fputs(",\"limits\":[", out);
	for (size_t i = 0; limit && i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		uint64_t bit = row->is_limit ? 1ULL << row->limit : 0;

		if (!((j->met | j->near) & bit))
			continue;
		(void)fprintf(out, "%s%s\",\"value\":\"%s\",\"sure\":%s}", before,
			      row->name,
			      value_print(row->kind, limit[row->limit], number),
			      j->met & bit ? "true" : "false");
		before = ",{\"option\":\"--";
	}
	(void)fputc(']', out);
}

static void write_copied(FILE *out, const struct outcome *o)
{
	if (!o->copied) {
		(void)fputs("null", out);
		return;
	}
	(void)fprintf(out, "{\"files\":%u,\"folders\":%u,\"bytes\":%" PRIu64,
		      o->out.files, o->out.folders, o->out.bytes);
	json_after(",\"error\":", o->out.errnum ? strerror(o->out.errnum) : NULL, out);
	(void)fputs(",\"left_out\":{", out);
	for (size_t i = 0; i < COPY_LEFT_COUNT; i++)
		(void)fprintf(out, "%s\"%s\":%u", i ? "," : "", copy_words[i].key,
			      o->out.left[i]);
	(void)fputs("}}", out);
}

/* of exactly what explain prints for the same options; no memory, no digest */
static const char *digest_plan(const struct plan *p)
{
	cleanup_free char *policy = NULL;
	FILE *text = json_open(&policy, POLICY_BYTES);
	static char hex[SHA256_HEX];
	ssize_t size = -1;

	if (text) {
		option_print_policy(p, text);
		size = json_close(text, policy, POLICY_BYTES);
	}
	return size < 0 ? NULL : sha256_text(policy, (size_t)size, hex);
}

void report_tree(const struct tree *t, FILE *out)
{
	static const char *const verified[] = {
		[TREE_UNKNOWN] = "null",
		[TREE_CLAIMED] = "false",
		[TREE_VERIFIED] = "true",
		[TREE_LISTED] = "null",
	};

	json_after("\"root_sha256\":", t->state == TREE_UNKNOWN ? NULL : t->sha256, out);
	(void)fprintf(out, ",\"root_verified\":%s", verified[t->state]);
}

void report_digests(const struct plan *p, const struct tree *root, FILE *out)
{
	/* nothing changes a plan, and serve tells its one with each session */
	static const struct plan *plan;
	static const char *digest;
	char hex[SHA256_HEX];
	struct sha256_ctx argv;

	if (!digest || plan != p)
		digest = digest_plan(p);
	plan = p;
	json_after("\"plan_sha256\":", digest, out);
	sha256_init(&argv);
	for (char *const *word = p->argv; word && *word; word++)
		sha256_update(&argv, strlen(*word) + 1, /* with its NUL */
			      (const uint8_t *)*word);
	(void)fprintf(out, ",\"argv_sha256\":\"%s\",", sha256_end(&argv, hex));
	report_tree(root, out);
}

void report_posture(const struct posture *p, const struct jail *jail, FILE *out)
{
	if (!p->json || !jail->plan) {
		(void)fputs("null", out);
		return;
	}
	(void)fputc('{', out);
	report_digests(jail->plan, &jail->root, out);
	(void)fprintf(out, "%s}", p->json);
}

/* which run it was; posture has the digest of all words */
static void write_run(FILE *out, const struct jail *jail, const struct outcome *o)
{
	char *const *word = jail->plan ? jail->plan->argv : NULL;
	char start[32] = "";
	struct tm utc;

	if (o->started && gmtime_r(&o->start, &utc))
		(void)strftime(start, sizeof(start), "%FT%TZ", &utc);
	json_after(",\"started\":", *start ? start : NULL, out);
	(void)fputs(",\"argv\":[", out);
	for (size_t i = 0; word && word[i] && i < WORDS_MAX; i++) {
		(void)fputs(i ? "," : "", out);
		json_bytes(out, word[i], strnlen(word[i], WORD_BYTES_MAX));
	}
	(void)fputc(']', out);
}

static void write_object(FILE *out, const struct jail *jail, const struct outcome *o,
			 const struct judgement *j)
{
	(void)fprintf(out, "{\"stepjail\":\"%s\",\"verdict\":\"%s\"", STEPJAIL_VERSION,
		      verdict_names[j->verdict]);
	write_run(out, jail, o);
	json_number(",\"exit_code\":", j->exit_code >= 0, (uint64_t)j->exit_code, out);
	json_number(",\"signal\":", j->signal != 0, (uint64_t)j->signal, out);
	json_number(",\"status\":", true, (uint64_t)j->status, out);
	json_after(",\"violation\":", violation_name(&o->refused), out);
	(void)fputs(",\"violations\":", out);
	violation_print(&o->refused, o->listened, out);
	json_after(",\"error\":", j->error.errnum ? j->error.text : NULL, out);
	report_limits(j, jail->plan ? jail->plan->limit : NULL, out);
	write_usage(out, o);
	(void)fputs(",\"output\":", out);
	capture_print(&o->capture, out);
	(void)fputs(",\"out\":", out);
	write_copied(out, o);
	egress_print(o->egress, NULL, out);
	report_not_enforced(jail, o->listened || !o->started, out);
	denied_print(o->refused.lacks, out);
	(void)fputs(",\"cgroup_limits\":", out);
	cgroup_limits_print(&jail->cgroup.limits, out);
	(void)fputs(",\"posture\":", out);
	report_posture(&o->posture, jail, out);
	confine_print(",\"watcher\":", o->watcher, out);
	json_number(",\"host_uid\":", o->started, ids_program(&jail->ids), out);
	(void)fputs("}\n", out);
}

int report_write(int fd, const struct jail *jail, const struct outcome *o,
		 const struct judgement *j, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t room = TEXT_BYTES + (jail->plan ? capture_print_max(jail->plan) : 0) +
		      (o->posture.json ? strlen(o->posture.json) : 0);
	struct stat st;
	FILE *out;
	ssize_t size;
	int r;

	if (fd < 0)
		return 0;
	out = json_open(&text, room);
	if (!out)
		return err_set(e, errno, "--report: allocate");
	write_object(out, jail, o, j);
	size = json_close(out, text, room);
	if (size < 0)
		return err_set(e, (int)-size, "--report: print it");
	r = io_write_all(fd, text, (size_t)size);
	if (r < 0)
		return err_set(e, -r, "--report: write %zd bytes", size);
	/* give back the space that was reserved behind it */
	if (report_is_own_file(fd, &st))
		(void)!ftruncate(fd, st.st_size);
	return 0;
}
