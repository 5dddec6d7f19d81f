/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail-vm-receive PATH LIMIT HIDDEN: take what --out lets out of a guest
 *
 * Started by stepjail-vm, with the folder of --out, bytes, and "yes" or "no". stdin is the
 * stream of guest/files.h. On stdout it says struct copied twice: when it is confined,
 * and at the end, with an errnum of EPROTO for what no stepjail in a guest sends, and
 * EPIPE for a stream that lacks its end.
 * The guest's own copier has kept the rules of copy.h. Who has taken the guest over may
 * send anything: whatever breaks a rule ends this, and what was whole before stays.
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/sys.h"
#include "jail/vm/guest/files.h"
#include "jail/walls/landlock.h"
#include "jail/watch/confine.h"
#include "jail/watch/run.h"

#include "filter_copier.h"

#define NAME_BYTES 255

struct receiving {
	int folder[COPY_DEPTH_MAX + 1]; /* from --out's on, each in the one before */
	unsigned int depth;
	uint64_t limit_bytes;
	bool hidden;
	struct copied done;
};

static int read_whole(void *bytes, size_t length)
{
	ssize_t n = io_read_all(STDIN_FILENO, bytes, length);

	return n < 0 ? (int)n : (size_t)n < length ? -EPIPE : 0;
}

/* of one part, and none that --out leaves out */
static int read_name(const struct receiving *r, uint32_t length,
		     char name[NAME_BYTES + 1])
{
	int failed =
		length == 0 || length > NAME_BYTES ? -EPROTO : read_whole(name, length);

	name[failed ? 0 : length] = '\0';
	if (failed)
		return failed;
	return strlen(name) == length && !strchr(name, '/') && strcmp(name, ".") != 0 &&
			       strcmp(name, "..") != 0 && copy_takes(name) &&
			       (r->hidden || name[0] != '.') &&
			       r->done.files + r->done.folders < COPY_COUNT_MAX
		       ? 0
		       : -EPROTO;
}

static int take_folder(struct receiving *r, const char *name)
{
	int above = r->folder[r->depth], fd;

	if (r->depth == COPY_DEPTH_MAX)
		return -EPROTO;
	if (mkdirat(above, name, 0777) < 0)
		return -errno;
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r->folder[++r->depth] = fd;
	r->done.folders++;
	return 0;
}

static int take_file(struct receiving *r, const char *name, uint64_t bytes)
{
	static char block[1 << 16];
	int to = r->folder[r->depth], out, failed = 0, late;

	if (bytes > r->limit_bytes - r->done.bytes)
		return -EPROTO;
	out = copy_begin(to);
	if (out < 0)
		return out;
	for (uint64_t left = bytes; left && !failed;) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		failed = read_whole(block, n);
		if (!failed)
			failed = io_write_all(out, block, n);
		left -= n;
	}
	late = copy_end(to, out, failed ? NULL : name);
	if (failed || late)
		return failed ? failed : -late;
	r->done.files++;
	r->done.bytes += bytes;
	return 0;
}

/* Return: 1 at the end, 0, or -errno */
static int take_next(struct receiving *r)
{
	struct files_head head;
	char name[NAME_BYTES + 1];
	int failed = read_whole(&head, sizeof(head));

	if (!failed && (head.kind == FILES_FILE || head.kind == FILES_FOLDER))
		failed = read_name(r, head.name, name);
	if (failed)
		return failed;
	switch (head.kind) {
	case FILES_FILE:
		return take_file(r, name, head.bytes);
	case FILES_FOLDER:
		return take_folder(r, name);
	case FILES_UP:
		if (r->depth == 0)
			return -EPROTO;
		io_close_fd(&r->folder[r->depth--]);
		return 0;
	case FILES_END:
		return r->depth ? -EPROTO : 1;
	default:
		return -EPROTO;
	}
}

static int give_up_rights(int folder, struct err *e)
{
	const struct landlock_path_beneath_attr rule = {
		LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
			LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
			LANDLOCK_ACCESS_FS_REMOVE_FILE,
		folder
	};
	int abi = landlock_abi(e);
	const struct confine confine = {
		.keep = &folder,
		.keep_count = 1,
		.root = -1,
		.rules = &rule,
		.rule_count = 1,
		.landlock_abi = abi,
		.filter = filter_copier,
		.filter_count = COUNT(filter_copier),
	};

	if (abi == 0)
		return err_say(
			e, ENOSYS,
			"--out: this kernel has no Landlock, which confines the process that copies: " LANDLOCK_REMEDY);
	(void)umask(umask(0) | 022);
	return abi < 0 ? abi : confine_self(&confine, NULL, e);
}

static int receive(char *const *argv, struct err *e)
{
	static struct receiving r;
	int failed = out_open(argv[1], &r.folder[0], e);

	r.limit_bytes = strtoull(argv[2], NULL, 10);
	r.hidden = strcmp(argv[3], "yes") == 0;
	if (failed == 0)
		failed = give_up_rights(r.folder[0], e);
	if (failed < 0)
		return failed;
	failed = copy_try(r.folder[0]);
	if (failed < 0)
		return err_set(e, -failed, "--out: make a file in %.200s", argv[1]);
	/* whoever waits for it has ended otherwise */
	(void)io_write_all(STDOUT_FILENO, &r.done, sizeof(r.done));
	while (failed == 0)
		failed = take_next(&r);
	r.done.errnum = failed < 0 ? -failed : 0;
	return io_write_all(STDOUT_FILENO, &r.done, sizeof(r.done));
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc != 4)
		return STATUS_FAILED;
	if (receive(argv, &e) < 0)
		(void)fprintf(stderr, "stepjail: %s\n", e.text);
	return e.errnum ? STATUS_FAILED : 0;
}
