/* SPDX-License-Identifier: MIT */
/*
 * report.c - one JSON object for each run: see report.h
 *
 * Fields, always all of them; null where a thing is not known or does not apply:
 *   stepjail, verdict, exit_code, signal, status, violation, error
 *   wall_ms, cpu_ms, cpu_user_ms, cpu_system_ms, cpu_throttled_ms
 *   memory_peak_bytes, oom_kills, pids_peak, pids_refused, strays
 *   output        byte counts of captured output; null while output is passed through
 *   not_enforced  walls that --allow-missing left out, with what stands in for each
 *   host_uid
 *   posture       what the kernel tells of the program before it starts; all of it is as
 *		   planned, or the program was not started, and this is null
 *     argv_sha256   of the program's words, a NUL behind each
 *     root_sha256   of the root tree's list, see tree.h; root_verified: true (the tree was
 *		     compared with it), false (it was not), null (there is no list)
 *     plan_sha256   of what explain prints for the same options
 *     namespaces    by kind, inode numbers: the jail's and the launcher's own
 *     uid_map, gid_map, setgroups
 *     mounts        at, type, flags and root of each, as in mountinfo
 *     cgroup        path, and its limits
 *     process       capability sets, no_new_privs, seccomp mode and number of filters, host
 *		     ids, pid and session (on the host, and in the jail)
 *     rlimits       by name, soft and hard
 *     open_fds      what is still open after exec
 *     landlock      ABI in force, and what a thing that it must refuse came to; or null
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/json.h"
#include "jail/report.h"
#include "jail/version.h"

#define RESERVED_BYTES 32768 /* with a posture of 256 binds */

static const char *const without_cgroup[] = {
	"memory.max: instead RLIMIT_DATA for each process, and a watch of their sum "
	"every "
	"50 ms that does not see files in tmpfs or memfd",
	"memory.swap.max: instead nothing",
	"pids.max: instead RLIMIT_NPROC",
	"cpu.max: instead nothing",
};

static int open_fd(const char *spec, struct err *e)
{
	char *end;
	long n = strtol(spec, &end, 10);

	if (n < 0 || n > 65535 || *end)
		return err_say(e, EINVAL, "--report: '%s' is no fd's number", spec);
	/* a copy: the jail's stages may place other fds at this number */
	int fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return err_say(e, EBADF,
			       "--report: fd %ld is not open: redirect it, as in "
			       "%ld>report.json",
			       n, n);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		(void)close(fd);
		return err_say(e, EBADF, "--report: fd %ld is not open for writing", n);
	}
	if (n > 2)
		(void)fcntl((int)n, F_SETFD, FD_CLOEXEC);
	return fd;
}

static int open_file(const char *spec, struct err *e)
{
	struct stat st;

	int fd = open(spec, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd < 0)
		return err_set(e, errno, "--report: open %s", spec);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, RESERVED_BYTES) < 0 &&
	    errno != EOPNOTSUPP) {
		int r = err_set(e, errno, "--report: reserve %d bytes in %s",
				RESERVED_BYTES, spec);

		(void)close(fd);
		return r;
	}
	return fd;
}

int report_open(const char *spec, struct err *e)
{
	int fd;

	if (!spec)
		return -1;
	if (strspn(spec, "0123456789") == strlen(spec))
		fd = open_fd(spec, e);
	else
		fd = open_file(spec, e);
	/* EPERM is 1, and -1 is taken */
	return fd == -1 ? -EACCES : fd;
}

static void number(FILE *out, const char *key, bool known, uint64_t value)
{
	if (known)
		(void)fprintf(out, ",\"%s\":%" PRIu64, key, value);
	else
		(void)fprintf(out, ",\"%s\":null", key);
}

static void write_usage(FILE *out, const struct outcome *o)
{
	bool split = o->cgroup || o->have_exit;
	uint64_t user = o->cgroup ? o->usage.user_us : o->exit.user_us;
	uint64_t system = o->cgroup ? o->usage.system_us : o->exit.system_us;
	uint64_t peak = o->usage.memory_peak_bytes;

	if (!o->cgroup || peak == NO_LIMIT) {
		peak = o->peak.memory_bytes;
		if (o->exit.max_rss_bytes > peak)
			peak = o->exit.max_rss_bytes;
	}
	number(out, "wall_ms", o->started, o->wall_ms);
	number(out, "cpu_ms", o->started, outcome_cpu_us(o) / 1000);
	number(out, "cpu_user_ms", split, user / 1000);
	number(out, "cpu_system_ms", split, system / 1000);
	number(out, "cpu_throttled_ms", o->cgroup, o->usage.throttled_us / 1000);
	number(out, "memory_peak_bytes", o->started && peak, peak);
	number(out, "oom_kills", o->cgroup, o->usage.oom_kills);
	if (o->cgroup)
		number(out, "pids_peak", o->usage.pids_peak != NO_LIMIT,
		       o->usage.pids_peak);
	else
		number(out, "pids_peak", o->peak.processes != 0, o->peak.processes);
	number(out, "pids_refused", o->cgroup, o->usage.pids_refused);
	number(out, "strays", o->started, o->strays);
}

static void write_object(FILE *out, const struct jail *jail, const struct outcome *o,
			 const struct judgement *j)
{
	size_t count = !jail->limited && jail->missing.errnum
			       ? sizeof(without_cgroup) / sizeof(without_cgroup[0])
			       : 0;

	(void)fprintf(out, "{\"stepjail\":\"%s\",\"verdict\":\"%s\"", STEPJAIL_VERSION,
		      verdict_names[j->verdict]);
	number(out, "exit_code", j->exit_code >= 0, (uint64_t)j->exit_code);
	number(out, "signal", j->signal != 0, (uint64_t)j->signal);
	number(out, "status", true, (uint64_t)j->status);
	(void)fprintf(out, ",\"violation\":null,\"error\":");
	json_string(out, j->error.errnum ? j->error.text : NULL);
	write_usage(out, o);
	(void)fprintf(out, ",\"output\":null,\"not_enforced\":[");
	for (size_t i = 0; i < count; i++) {
		(void)fputs(i ? "," : "", out);
		json_string(out, without_cgroup[i]);
	}
	(void)fputs("],\"posture\":", out);
	posture_print(&o->posture, jail, out);
	number(out, "host_uid", o->started, jail->ids.host_uid + (jail->ids.own ? 1 : 0));
	(void)fputs("}\n", out);
}

int report_write(int fd, const struct jail *jail, const struct outcome *o,
		 const struct judgement *j, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	if (fd < 0)
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return err_set(e, errno, "--report: allocate");
	write_object(out, jail, o, j);
	if (fclose(out) != 0)
		return err_set(e, errno, "--report: allocate");
	r = io_write_all(fd, text, size);
	if (r < 0)
		return err_set(e, -r, "--report: write %zu bytes", size);
	return 0;
}
