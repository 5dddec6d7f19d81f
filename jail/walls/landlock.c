/* SPDX-License-Identifier: MIT */
/*
 * landlock.c - a second wall behind the mounts: see landlock.h
 *
 * The ABI grew. A right that the kernel does not know makes landlock_create_ruleset fail,
 * so the rows of rights[] say which ABI brought each. Rights newer than ABI 2 are numbers
 * here and in landlock.h, because Debian 12's linux/landlock.h ends with ABI 2.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "init/io.h"
#include "jail/walls/landlock.h"
#include "jail/walls/places.h"

#define NET_BIND_TCP (1ULL << 0)    /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1) /* ABI 4 */
#define SCOPE_ABSTRACT (1ULL << 0)  /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)    /* ABI 6 */

/* struct landlock_ruleset_attr as of ABI 6; the kernel takes the size it knows */
struct ruleset_attr {
	uint64_t fs, net, scoped;
};

/* what each ABI has brought, from ABI 1 on */
static const struct ruleset_attr rights[] = {
	{ (1ULL << 13) - 1, 0, 0 }, /* EXECUTE to MAKE_SYM */
	{ LANDLOCK_ACCESS_FS_REFER, 0, 0 },
	{ LANDLOCK_TRUNCATE, 0, 0 },
	{ 0, NET_BIND_TCP | NET_CONNECT_TCP, 0 },
	{ LANDLOCK_IOCTL_DEV, 0, 0 },
	{ 0, 0, SCOPE_ABSTRACT | SCOPE_SIGNAL },
};

#define FILE_RIGHTS                                                                      \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                     \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)

int landlock_abi(struct err *e)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	/* not built in, or not enabled at boot; any other error does not say that the
	 * kernel has no Landlock */
	if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	return abi < 0 ? err_set(e, errno, "landlock: ask for the ABI") : (int)abi;
}

static int add_rule(int ruleset, int fd, uint64_t allowed)
{
	struct landlock_path_beneath_attr rule = { allowed, fd };

	if (!allowed)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
		    0) < 0)
		return -errno;
	return 0;
}

static int add_place(int ruleset, const struct place *place, uint64_t handled,
		     struct err *e)
{
	int fd = openat(AT_FDCWD, place->at, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	uint64_t allowed = place->landlock & handled;
	struct stat st = { .st_mode = S_IFDIR };

	if (fd < 0 || (place->shows_path && fstat(fd, &st) < 0))
		return err_set(e, errno, "landlock: open %s", place->at);
	/* a right that only folders have is refused on a file, which a bind may be */
	if (!S_ISDIR(st.st_mode))
		allowed &= FILE_RIGHTS;

	int r = add_rule(ruleset, fd, allowed);

	return r < 0 ? err_set(e, -r, "landlock: allow %s", place->at) : 0;
}

/* stdin, stdout and stderr may be reopened for what they were opened for, and no more */
static int add_stdio(int ruleset, uint64_t handled, struct err *e)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		int r = fstat(fd, &st);

		/* pipes and sockets lie on no file system that a rule could name */
		if (r == 0 && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
			continue;

		int flags = r < 0 ? r : fcntl(fd, F_GETFL);
		uint64_t allowed = (flags & O_ACCMODE) != O_WRONLY
					   ? LANDLOCK_ACCESS_FS_READ_FILE
					   : 0;

		if (flags < 0)
			return err_set(e, errno, "landlock: look at fd %d", fd);
		if ((flags & O_ACCMODE) != O_RDONLY)
			allowed |= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_TRUNCATE;
		if (S_ISCHR(st.st_mode))
			allowed |= LANDLOCK_IOCTL_DEV;
		r = add_rule(ruleset, fd, allowed & handled);
		if (r < 0)
			return err_set(e, -r, "landlock: allow fd %d", fd);
	}
	return 0;
}

static int add_rules(int ruleset, const struct plan *p, uint64_t handled, struct err *e)
{
	struct place list[PLACES_MAX];
	size_t count = places_list(p, list);
	int r = add_stdio(ruleset, handled, e);

	for (size_t i = 0; r == 0 && i < count; i++)
		if (list[i].landlock)
			r = add_place(ruleset, &list[i], handled, e);
	return r;
}

/* all that a kernel of this ABI can refuse */
static struct ruleset_attr know(int abi)
{
	struct ruleset_attr attr = { 0 };

	for (size_t i = 0; i < COUNT(rights) && (int)i < abi; i++) {
		attr.fs |= rights[i].fs;
		attr.net |= rights[i].net;
		attr.scoped |= rights[i].scoped;
	}
	return attr;
}

/* an older kernel takes the larger struct if the fields that it does not know are zero */
static int create(const struct ruleset_attr *attr, int abi, struct err *e)
{
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);

	return ruleset < 0
		       ? err_set(e, errno, "landlock: create a ruleset of ABI %d", abi)
		       : ruleset;
}

static int restrict_self(int ruleset, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_set(e, errno, "landlock: restrict");
	return 0;
}

int landlock_restrict(const struct plan *p, int abi, struct err *e)
{
	struct ruleset_attr attr = know(abi);

	if (abi == 0 && (p->require & REQUIRE_LANDLOCK))
		return err_say(
			e, ENOSYS,
			"landlock: is required, and this kernel has none: " LANDLOCK_REMEDY);
	if (abi == 0)
		return 0;
	if (p->net != NET_NONE)
		attr.net = 0;

	cleanup_fd int ruleset = create(&attr, abi, e);
	int r = ruleset < 0 ? ruleset : add_rules(ruleset, p, attr.fs, e);

	return r < 0 ? r : restrict_self(ruleset, e);
}

int landlock_close(int abi, const struct landlock_path_beneath_attr *rules, size_t count,
		   struct err *e)
{
	const struct ruleset_attr attr = know(abi);
	cleanup_fd int ruleset = create(&attr, abi, e), root = -1;
	int r = ruleset < 0 ? ruleset : 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_rule(ruleset, rules[i].parent_fd, rules[i].allowed_access);
	if (r < 0)
		return ruleset < 0 ? r : err_set(e, -r, "landlock: allow a folder");
	r = restrict_self(ruleset, e);
	if (r < 0)
		return r;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 || errno != EACCES)
		return err_say(
			e, EPERM,
			"landlock: not in force: it did not refuse the root directory (%s)",
			root < 0 ? strerror(errno) : "opened");
	return 0;
}

int landlock_try(struct err *e)
{
	static const char node[] = "/dev/shm/stepjail";
	int errnum = mknod(node, S_IFCHR, makedev(1, 3)) < 0 ? errno : 0;

	if (errnum == EACCES)
		return 0;
	if (errnum == 0)
		(void)unlink(node);
	return err_say(e, EPERM,
		       "landlock: not in force: it did not refuse a device node (%s)",
		       errnum ? strerror(errnum) : "made");
}
