/* SPDX-License-Identifier: MIT */
/*
 * ids.c - which host user and group ids a jail runs under: see ids.h
 *
 * Theory of operation
 *   A slot is one byte of /run/stepjail/ids, locked with an open file description lock
 *   (fcntl(2), F_OFD_SETLK). The kernel drops the lock when the last copy of the fd is
 *   gone, so there is nothing to clean up after a launcher that was killed.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/securebits.h>

#include "init/io.h"
#include "jail/base/host.h"
#include "jail/walls/ids.h"
#include "jail/plan/plan.h"
#include "jail/base/procfs.h"

#define SLOT_FILE IDS_STATE_DIR "/ids"
#define SLOT_TRIES 128

static const char writable[] =
	" (for root, /run must be writable; an ordinary user does not need it)";

static int open_slots(struct err *e)
{
	struct stat st;

	if (mkdir(IDS_STATE_DIR, 0700) < 0 && errno != EEXIST)
		return err_set(e, errno, "ids: make %s%s", IDS_STATE_DIR, writable);

	cleanup_fd int fd =
		open(SLOT_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set(e, errno, "ids: open %s%s", SLOT_FILE, writable);
	/* another user who could write it could lock every slot */
	if (fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
		return err_say(
			e, EPERM,
			"ids: %s must belong to root and be writable by root alone: remove it",
			SLOT_FILE);
	return io_steal_fd(&fd);
}

int ids_lock(int fd, uint32_t byte, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/*
 * Anywhere: ids are then not reused at once, and launchers do not queue up. So few tries
 * that they take no time, and enough unless nearly all slots are taken. @but is passed
 * over: fd may have locked it
 */
static int lock_slot(int fd, uint32_t but, uint32_t *slot, struct err *e)
{
	uint16_t tries[SLOT_TRIES];

	_Static_assert(IDS_SLOTS == UINT16_MAX + 1, "each number is a slot");
	if (getrandom(tries, sizeof(tries), 0) < 0)
		return err_set(e, errno, "ids: getrandom");
	for (size_t i = 0; i < SLOT_TRIES; i++) {
		*slot = tries[i];
		if (*slot == but)
			continue;

		int r = ids_lock(fd, *slot, F_WRLCK);

		if (r != -EAGAIN && r != -EACCES)
			return r < 0 ? err_set(e, -r, "ids: lock a slot of %s", SLOT_FILE)
				     : 0;
	}
	return err_say(
		e, EAGAIN,
		"ids: nearly all of %u id pairs are in use by running jails: %d tries have found none",
		IDS_SLOTS, SLOT_TRIES);
}

/* In a container's user namespace, uid 0 is some other user's, without a whole range of
 * ids to give, and then it is mapped as that user's one id would be. */
int ids_own(struct err *e)
{
	static int known = -1; /* the answer of an earlier call */
	char text[4096];
	unsigned int inside, outside, count;
	ssize_t n;

	if (known >= 0 || geteuid() != 0)
		return known > 0;
	n = io_read_file_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text));
	if (n < 0 || sscanf(text, "%u %u %u", &inside, &outside, &count) != 3)
		return err_set(e, n < 0 ? (int)-n : EINVAL,
			       "ids: read /proc/self/uid_map");
	if (inside == 0 && outside == 0 && count == UINT32_MAX)
		return known = 1;
	if (outside == 0)
		return err_say(
			e, EPERM,
			"ids: root of this container may be the host's root, and a jail must not be: run stepjail as another user of the container");
	return known = 0;
}

int ids_take(struct ids *ids, struct err *e)
{
	uint32_t slot = 0;

	*ids = (struct ids){
		.slot_fd = -1,
		.host_uid = geteuid(),
		.host_gid = getegid(),
		.init_id = PLAN_PROGRAM_ID,
		.program_id = PLAN_PROGRAM_ID,
	};

	int r = ids_own(e);

	if (r <= 0)
		return r;
	r = ids->slot_fd = open_slots(e);
	if (r >= 0)
		r = lock_slot(ids->slot_fd, IDS_SLOTS, &slot, e);
	if (r < 0)
		return r;
	/* groups of root's would come along, and the maps deny giving them up inside */
	/* not by musl, which blocks signals first, for other threads */
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return err_set(
			e, errno,
			"ids: give up supplementary groups (root needs CAP_SETGID and CAP_SETUID; an ordinary user does not)");
	ids->own = true;
	ids->init_id = 0;
	ids->host_uid = IDS_BASE + 2 * slot;
	ids->host_gid = IDS_BASE + 2 * slot;
	return 0;
}

int ids_take_other(const struct ids *ids, uid_t *id, struct err *e)
{
	uint32_t slot = 0;
	int r;

	*id = 0;
	if (!ids->own)
		return 0;
	r = lock_slot(ids->slot_fd, (ids->host_uid - IDS_BASE) / 2, &slot, e);
	if (r == 0)
		*id = IDS_BASE + 2 * slot;
	return r;
}

static int write_map(int dir, const char *file, const char *text, struct err *e)
{
	int r = procfs_write_at(dir, file, text);

	if (r == -EPERM)
		return err_say(
			e, EPERM,
			"ids: the kernel refused %s '%.*s': root needs CAP_SETUID, CAP_SETGID and CAP_SETFCAP, and a user namespace that has these ids; run as an ordinary user or outside of the container",
			file, (int)strcspn(text, "\n"), text);
	return r < 0 ? err_set(e, -r, "ids: write '%.*s' to %s", (int)strcspn(text, "\n"),
			       text, file)
		     : 0;
}

/* an extent of ids that are mapped to themselves; nothing if it is empty */
static int print_same(char *text, size_t size, uid_t from, uid_t to)
{
	return from < to ? snprintf(text, size, "\n%u %u %u", from, from, to - from) : 0;
}

void ids_print_map(const struct ids *ids, bool group, char *text)
{
	const size_t size = IDS_MAP_BYTES;
	uid_t host = group ? ids->host_gid : ids->host_uid;
	uid_t program = group ? ids_program_group(ids) : ids_program(ids);
	int n = 0;

	if (ids->own)
		n = snprintf(text, size, "%u %u 1\n", ids->init_id, host);
	n += snprintf(text + n, size - (size_t)n, "%u %u 1", ids->program_id, program);
	if (!ids->own || !ids->gives)
		return;
	n += print_same(text + n, size - (size_t)n, IDS_BASE, host);
	(void)print_same(text + n, size - (size_t)n, program + 1,
			 IDS_BASE + 2 * IDS_SLOTS);
}

int ids_write_maps(pid_t pid, const char *uids, const char *gids, bool deny,
		   struct err *e)
{
	cleanup_fd int dir = procfs_open(pid);
	int r = deny ? write_map(dir, "setgroups", "deny", e) : 0;

	if (r == 0)
		r = write_map(dir, "gid_map", gids, e);
	return r < 0 ? r : write_map(dir, "uid_map", uids, e);
}

int ids_map(const struct ids *ids, pid_t pid, struct err *e)
{
	char uids[IDS_MAP_BYTES], gids[IDS_MAP_BYTES];

	ids_print_map(ids, false, uids);
	ids_print_map(ids, true, gids);
	/* setgroups stays denied for good: whoever gives up a group may open the files
	 * that are closed to that group alone */
	return ids_write_maps(pid, uids, gids, true, e);
}

int ids_become(uid_t id, struct err *e)
{
	/* leaving uid 0 would empty the capability sets, and the stages that follow need
	 * them; the capability stage empties them for good. It is the first use of a
	 * capability in a new user namespace, but for the network's */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0)
		return errno == EPERM
			       ? host_refused_capability(e)
			       : err_set(e, errno,
					 "ids: keep capabilities until they are dropped");
	if (setresgid(id, id, id) < 0)
		return err_set(e, errno, "ids: become group %u", id);
	if (setresuid(id, id, id) < 0)
		return err_set(e, errno, "ids: become user %u", id);
	return 0;
}
