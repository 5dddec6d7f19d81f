/* SPDX-License-Identifier: MIT */
/*
 * walls_files.c - the tree of a jail, as its program sees it
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/fault/fault.h"
#include "tests/fault/walls.h"

/* what each mount must be; a mount that has no row is one too many */
static const struct {
	const char *at, *options, *super;
	bool proc, given;
} mounts[] = {
	{ "/", "ro,nosuid,nodev", "ro,", false, false },
	{ "/dev", "ro,nosuid,noexec", "", false, false },
	{ "/dev/null", "ro,nosuid,noexec", "", false, false },
	{ "/dev/zero", "ro,nosuid,noexec", "", false, false },
	{ "/dev/full", "ro,nosuid,noexec", "", false, false },
	{ "/dev/random", "ro,nosuid,noexec", "", false, false },
	{ "/dev/urandom", "ro,nosuid,noexec", "", false, false },
	{ "/dev/tty", "ro,nosuid,noexec", "", false, false },
	{ "/work", "rw,nosuid,nodev,noexec", "rw,", false, false },
	{ "/tmp", "rw,nosuid,nodev,noexec", "rw,", false, false },
	{ "/dev/shm", "rw,nosuid,nodev,noexec", "rw,", false, false },
	{ "/proc", "ro,nosuid,nodev,noexec", "hidepid=invisible,subset=pid", true,
	  false },
	{ "/given", "ro,nosuid,nodev", "ro,", false, true },
	{ "/shared", "rw,nosuid,nodev,noexec", "", false, true },
};
#define MOUNTS (sizeof(mounts) / sizeof(mounts[0]))

static bool has_options(const char *have, const char *want)
{
	char copy[128], *rest = copy;

	(void)snprintf(copy, sizeof(copy), "%s", want);
	for (char *word; (word = strsep(&rest, ","));) {
		const char *at = strstr(have, word);
		size_t n = strlen(word);

		if (!at || (at != have && at[-1] != ',') || (at[n] && at[n] != ','))
			return false;
	}
	return true;
}

static void look_at_mount(const char *line, bool *seen)
{
	char at[256], options[256], optional[64], type[64], super[512];

	if (sscanf(line, "%*d %*d %*s %*s %255s %255s %63s", at, options, optional) !=
		    3 ||
	    !strstr(line, " - ") ||
	    sscanf(strstr(line, " - ") + 3, "%63s %*s %511s", type, super) != 2) {
		miss("mountinfo: %s", line);
		return;
	}
	if (strcmp(optional, "-") != 0)
		miss("%s is not private: %s", at, optional);
	for (size_t i = 0; i < MOUNTS; i++) {
		if (strcmp(mounts[i].at, at) != 0)
			continue;
		if (seen[i])
			miss("%s is mounted twice", at);
		seen[i] = true;
		if (!has_options(options, mounts[i].options) ||
		    !strstr(super, mounts[i].super))
			miss("%s is %s (%s)", at, options, super);
		return;
	}
	miss("%s is one mount too many", at);
}

void look_at_mounts(const char *hide, bool given)
{
	static char copy[32768];
	bool seen[MOUNTS] = { false };
	char *rest = copy;

	(void)snprintf(copy, sizeof(copy), "%s", read_file("/proc/self/mountinfo"));
	if (hide && strstr(copy, hide))
		miss("mountinfo shows %s", hide);
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			look_at_mount(line, seen);
	for (size_t i = 0; i < MOUNTS; i++)
		if (!seen[i] && (given || !mounts[i].given))
			miss("%s is not mounted", mounts[i].at);
}

static void look_at_size(const char *path, unsigned long long bytes, bool writable)
{
	char file[64];
	struct statvfs fs;

	(void)snprintf(file, sizeof(file), "%s/file", path);
	if (statvfs(path, &fs) < 0) {
		miss("%s: %s", path, strerror(errno));
		return;
	}
	if (writable && ((unsigned long long)fs.f_blocks * fs.f_frsize != bytes ||
			 fs.f_files != JAIL_INODES))
		miss("%s holds %llu bytes, %llu inodes", path,
		     (unsigned long long)fs.f_blocks * fs.f_frsize,
		     (unsigned long long)fs.f_files);
	if (!writable != !!(fs.f_flag & ST_RDONLY))
		miss("%s is read-only: %s", path, writable ? "yes" : "no");

	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (writable != (fd >= 0))
		miss("%s: a file made there: %s", path, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
}

void look_at_files(bool given)
{
	char where[64], word[8] = "";

	look_at_size("/", 0, false);
	look_at_size("/dev", 0, false);
	look_at_size("/work", JAIL_WORK_BYTES, true);
	look_at_size("/tmp", JAIL_TMP_BYTES, true);
	look_at_size("/dev/shm", JAIL_TMP_BYTES, true);
	if (!getcwd(where, sizeof(where)) || strcmp(where, "/work") != 0)
		miss("the current folder is %s", where);
	if (access("/etc", F_OK) == 0 || access("/usr", F_OK) == 0)
		miss("the host's tree is seen");
	if (!given)
		return;

	int fd = open("/given", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, word, 5) != 5 || strcmp(word, "given") != 0)
		miss("/given holds '%s'", word);
	(void)close(fd);
	if (open("/given", O_WRONLY | O_CLOEXEC) >= 0)
		miss("/given is read-only");
	fd = open("/shared/made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		miss("/shared: %s", strerror(errno));
	(void)close(fd);
	(void)unlink("/shared/made");
}
