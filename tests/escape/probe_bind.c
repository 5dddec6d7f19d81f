/* SPDX-License-Identifier: MIT */
/*
 * probe_bind.c - attacks by way of what the caller gives: binds, and their destinations
 */
#include "tests/escape/scene.h"

#include <linux/openat2.h>
#include <sys/xattr.h>

/* argv: a folder that was given for reading, with a file named data in it */
static void shown_change(char **argv)
{
	struct stat st;

	if (chdir(probe_word(argv, 0, "the folder")) < 0 || stat("data", &st) < 0)
		probe_lacks("the folder's file");
	door("open for writing", open("data", O_WRONLY));
	door("truncating", open("data", O_RDONLY | O_TRUNC));
	door("create", open("new", O_WRONLY | O_CREAT, 0666));
	door("mkdir", mkdir("folder", 0777));
	door("rename", rename("data", "moved") < 0 ? -1 : rename("moved", "data"));
	door("chmod", chmod("data", 0666));
	door("times", utimensat(AT_FDCWD, "data", NULL, 0));
	door("attribute", setxattr("data", "user.stepjail", "x", 1, 0));
	door("unlink", unlink("data"));
}

/* argv: a bound folder, and the name of its neighbour on the host */
static void shown_climb(char **argv)
{
	const char *folder = probe_word(argv, 0, "the folder");
	const char *beside = probe_word(argv, 1, "the name beside it");
	char path[PATH_MAX];
	int fd = open(folder, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		probe_lacks("the folder");
	(void)snprintf(path, sizeof(path), "../%s", beside);
	door("openat(..)", openat(fd, path, O_RDONLY));
	door("fchdir, ..", fchdir(fd) < 0 ? -1 : open(path, O_RDONLY));
	(void)snprintf(path, sizeof(path), "%s/../%s", folder, beside);
	door(path, open(path, O_RDONLY));
}

/* argv: paths that are symlinks of the host to its own files */
static void shown_link(char **argv)
{
	for (; *argv; argv++)
		door(*argv, open(*argv, O_RDONLY));
}

/* argv: where the destination of a bind leads to, outside of the tree */
static void bent_bind(char **argv)
{
	const char *path = probe_word(argv, 0, "a path");

	door(path, access(path, F_OK));
}

/* this program is that file: owned by root, mode 04755 or 02755 */
static void setid_file(char **argv)
{
	(void)argv;
	door_word("effective user", geteuid() != getuid(), "same-id");
	door_word("effective group", getegid() != getgid(), "same-id");
}

/* argv: a device node in a bound folder, of null's number */
static void shown_node(char **argv)
{
	const char *node = probe_word(argv, 0, "the node");

	if (access(node, F_OK) < 0)
		probe_lacks("the node");
	door("open it", open(node, O_RDWR));
	door("open it to read", open(node, O_RDONLY));
}

static char path[PATH_MAX];
static const char *folder;

/* a new path for the next door */
static const char *at(char letter)
{
	(void)snprintf(path, sizeof(path), "%s/%c", folder, letter);
	return path;
}

/* the call may say yes and drop the bit: the mode that is there counts */
static void look(const char *what, long result)
{
	struct stat st;

	if (result >= 0 && (stat(path, &st) < 0 || !(st.st_mode & (S_ISUID | S_ISGID)))) {
		errno = EPERM;
		result = -1;
	}
	door(what, result);
}

static void try_modes(void)
{
	(void)close(open(at('g'), O_CREAT | O_WRONLY, 0755));
	look("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, path, 04755));
	(void)close(open(at('h'), O_CREAT | O_WRONLY, 0755));
	look("fchmodat2", syscall(452, AT_FDCWD, path, 04755, 0));
	(void)mkdir(at('i'), 0755);
	look("a set-group-ID folder", chmod(path, 02755));
#ifdef SYS_open /* newer architectures have the -at calls alone */
	look("open", syscall(SYS_open, at('a'), O_CREAT | O_WRONLY, 04755));
	look("creat", syscall(SYS_creat, at('c'), 04755));
	look("mknod", syscall(SYS_mknod, at('d'), S_IFREG | 04755, 0));
	(void)close(open(at('j'), O_CREAT | O_WRONLY, 0755));
	look("chmod", syscall(SYS_chmod, path, 04755));
#endif
}

/* argv: a folder of the host that may be written to; stdin is a file of the host */
static void setid_leave(char **argv)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 04755 };
	struct stat st;

	folder = probe_word(argv, 0, "a folder");
	errno = EPERM;
	door("fchmod(0)",
	     fchmod(0, 04755) == 0 && fstat(0, &st) == 0 && (st.st_mode & S_ISUID) ? 0
										   : -1);
	look("openat", syscall(SYS_openat, AT_FDCWD, at('b'), O_CREAT | O_WRONLY, 04755));
	look("mknodat", syscall(SYS_mknodat, AT_FDCWD, at('e'), S_IFREG | 04755, 0));
	look("openat2", syscall(SYS_openat2, AT_FDCWD, at('f'), &how, sizeof(how)));
	try_modes();
}

/* argv: a folder of the host that may be written to */
static void capability_leave(char **argv)
{
	/* struct vfs_cap_data, revision 2: cap_setuid, permitted and effective */
	static const uint32_t caps[5] = { 0x02000001, 1 << 7, 0, 0, 0 };

	folder = probe_word(argv, 0, "a folder");
	(void)close(open(at('x'), O_CREAT | O_WRONLY, 0755));
	door("a file's capabilities",
	     setxattr(path, "security.capability", caps, sizeof(caps), 0));
}

/* argv: a folder of the host that may be written to. The scene goes on from there. */
static void plant_links(char **argv)
{
	if (chdir(probe_word(argv, 0, "a folder")) < 0 ||
	    symlink("../victim", "link") < 0 || symlink("..", "way") < 0)
		probe_lacks("links in a folder of the host");
	door_word("the links are there", false, "planted");
}

static const struct probe probes[] = {
	{ "bind-change", "change what was given with --bind",
	  W(READ_ONLY) | W(OVERLAY) | W(LANDLOCK), &scene_shown, shown_change, 0, NULL },
	{ "bind-climb", "climb from a given folder to what lies beside it on the host",
	  W(MOUNTS), &scene_shown, shown_climb, 0, NULL },
	{ "bind-symlink", "follow a symlink of a given folder to a file of the host",
	  W(MOUNTS) | W(OLD_ROOT), &scene_shown_link, shown_link, 0, NULL },
	{ "bind-destination-symlink", "a symlink bends the destination of a bind",
	  W(RESOLVE), &scene_bent_bind, bent_bind, REFUSED, "passes through a symlink" },
	{ "bind-destination-dotdot",
	  "a .. in the destination of a bind leads out of the tree", W(PLAN) | W(RESOLVE),
	  &scene_dotdot_bind, bent_bind, REFUSED, "without '.', '..'" },
	{ "bind-setuid-file", "gain ids by a set-user-ID or set-group-ID file",
	  W(NOSUID) | W(NNP) | W(USERS), &scene_setuid_file, setid_file, 0, NULL },
	{ "bind-device", "open a device node in a given folder", W(NODEV) | W(LANDLOCK),
	  &scene_node, shown_node, 0, NULL },
	{ "bind-rw-setuid",
	  "leave a set-user-ID file on the host, by a given file or folder", W(SECCOMP),
	  &scene_open_bind, setid_leave, 0, NULL },
	{ "bind-rw-capability", "leave a file with capabilities on the host",
	  W(CAPS) | W(USERS), &scene_open_bind, capability_leave, 0, NULL },
	{ "bind-rw-planted", "have the next report written through a symlink", W(RESOLVE),
	  &scene_planted, plant_links, 0, NULL },
};

AREA(bind, "given files and folders", probes);
