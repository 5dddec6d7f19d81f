/* SPDX-License-Identifier: MIT */
/*
 * probe_file.c - attacks by way of the file system: the root tree, /dev, what is writable
 */
#include "tests/escape/scene.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

/* argv: the tree as this process sees it */
static void root_create(char **argv)
{
	const char *tree = probe_word(argv, 0, "the tree");

	if (chdir(tree) < 0)
		probe_lacks("the tree");
	door("create", open("stepjail-new", O_WRONLY | O_CREAT, 0666));
	door("mkdir", mkdir("stepjail-folder", 0777));
	door("symlink", symlink("/", "stepjail-link"));
	door("fifo", mkfifo("stepjail-fifo", 0666));
	door("O_TMPFILE", open(".", O_TMPFILE | O_WRONLY, 0600));
}

/* the first plain file below a folder, the jail's own and the probe aside */
static bool find_file(const char *folder, int depth, char *path, size_t size)
{
	DIR *dir = opendir(folder);
	bool found = false;

	for (struct dirent *d; dir && !found && (d = readdir(dir));) {
		char at[PATH_MAX];
		struct stat st;

		if (d->d_name[0] == '.' || strstr(d->d_name, "stepjail"))
			continue;
		(void)snprintf(at, sizeof(at), "%s/%s", folder, d->d_name);
		if (lstat(at, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			found = (size_t)snprintf(path, size, "%s", at) < size;
		else if (S_ISDIR(st.st_mode) && depth > 0 && strcmp(at, "./proc") != 0 &&
			 strcmp(at, "./dev") != 0)
			found = find_file(at, depth - 1, path, size);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* where a door opens, what it changes is changed back */
static void root_change(char **argv)
{
	const struct timespec times[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	const char *tree = probe_word(argv, 0, "the tree");
	char path[PATH_MAX], moved[PATH_MAX + 16];
	struct stat st;

	if (chdir(tree) < 0 || !find_file(".", 4, path, sizeof(path)) ||
	    stat(path, &st) < 0)
		probe_lacks("a file in the root tree");
	(void)snprintf(moved, sizeof(moved), "%s.moved", path);
	door("open for writing", open(path, O_WRONLY));
	door("open for both", open(path, O_RDWR | O_APPEND));
	door("truncate", truncate(path, st.st_size));
	door("times", utimensat(AT_FDCWD, path, times, 0));
	door("chmod", chmod(path, st.st_mode & 0777));
	door("hard link", link(path, moved) < 0 ? -1 : unlink(moved));
	door("rename", rename(path, moved) < 0 ? -1 : rename(moved, path));
}

/* argv: /dev, or a folder like it */
static void write_dev(char **argv)
{
	const char *dev = probe_word(argv, 0, "a folder of devices");
	struct stat st;

	if (chdir(dev) < 0 || stat("null", &st) < 0)
		probe_lacks("null in the folder of devices");
	door("create", open("stepjail-new", O_WRONLY | O_CREAT, 0666));
	door("mode of null", chmod("null", st.st_mode & 0777));
	door("rename null",
	     rename("null", "stepjail-null") < 0 ? -1 : rename("stepjail-null", "null"));
	door("symlink", symlink("null", "stepjail-link"));
	door("mknod", mknod("stepjail-file", S_IFREG | 0666, 0));
}

/* argv: host paths */
static void read_host(char **argv)
{
	char climb[PATH_MAX];

	for (; *argv; argv++) {
		door(*argv, open(*argv, O_RDONLY));
		door(*argv, access(*argv, F_OK));
		(void)snprintf(climb, sizeof(climb), "/work/../../../..%s", *argv);
		door(climb, open(climb, O_RDONLY));
		(void)snprintf(climb, sizeof(climb), "/proc/self/root/..%s", *argv);
		door(climb, open(climb, O_RDONLY));
	}
}

/* argv: the path of a secret on the host */
static void chroot_breakout(char **argv)
{
	const char *secret = probe_word(argv, 0, "the secret's path");

	(void)mkdir("/work/breakout", 0755);
	int r = chroot("/work/breakout");

	for (int i = 0; i < 64; i++)
		(void)!chdir("..");
	door("open behind ..", r < 0 ? r : open(secret + 1, O_RDONLY));
	r = chroot(".");
	door("open behind chroot", r < 0 ? r : open(secret, O_RDONLY));
}

/* argv: a secret's path, relative to the folder that is stdin */
static void folder_stdin(char **argv)
{
	const char *secret = probe_word(argv, 0, "the secret's path");

	door("openat(0)", openat(0, secret, O_RDONLY));
	door("fchdir(0), open", fchdir(0) < 0 ? -1 : open(secret, O_RDONLY));
}

/* 1 MiB at most: the copy need not be whole to be refused, but it is */
static bool drop(const char *path)
{
	static char text[1 << 20];
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n = -1;

	if (in < 0)
		in = open(PROBE_PATH, O_RDONLY);
	while (in >= 0 && out >= 0 && (n = read(in, text, sizeof(text))) > 0)
		if (write(out, text, (size_t)n) != n)
			return false;
	return n == 0 && close(in) == 0 && close(out) == 0;
}

static long start(const void *data)
{
	const char *path = data;
	char name[] = "stepjail-probe", nothing[] = "nothing";
	char *const argv[] = { name, nothing, NULL }, *const env[] = { NULL };

	return execve(path, argv, env);
}

/* argv: folders that can be written to */
static void dropped_binary(char **argv)
{
	for (; *argv; argv++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%s/dropped", *argv);
		if (!drop(path))
			probe_lacks("room for a program of its own size");
		door(*argv, probe_in_child(start, path));
		(void)unlink(path);
	}
}

static void dropped_script(char **argv)
{
	for (; *argv; argv++) {
		char path[PATH_MAX], line[PATH_MAX], self[PATH_MAX] = PROBE_PATH;
		int fd;

		if (access(self, X_OK) < 0)
			(void)!readlink("/proc/self/exe", self, sizeof(self) - 1);
		(void)snprintf(path, sizeof(path), "%s/script", *argv);
		(void)snprintf(line, sizeof(line), "#!%s nothing\n", self);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
		if (fd < 0 || write(fd, line, strlen(line)) < 0 || close(fd) < 0)
			probe_lacks("a folder to drop a script into");
		door(*argv, probe_in_child(start, path));
		(void)unlink(path);
	}
}

static void dropped_code(char **argv)
{
	for (; *argv; argv++) {
		char path[PATH_MAX];
		void *code;
		int fd;

		(void)snprintf(path, sizeof(path), "%s/code", *argv);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
		if (fd < 0 || write(fd, "\xc3", 1) != 1)
			probe_lacks("a folder to drop code into");
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		door("map it", code == MAP_FAILED ? -1 : 0);
		code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		door("map it, then make it executable",
		     mprotect(code, 4096, PROT_READ | PROT_EXEC));
		(void)unlink(path);
	}
}

/* argv: a folder to make a node in */
static void make_device(char **argv)
{
	const char *folder = probe_word(argv, 0, "a folder");
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/node", folder);
	door("character device", mknod(path, S_IFCHR | 0666, makedev(1, 3)));
	door("open it", open(path, O_RDWR));
	(void)unlink(path);
	door("block device", mknod(path, S_IFBLK | 0666, makedev(7, 0)));
	(void)unlink(path);
}

static void open_device(char **argv)
{
	static const char *const nodes[] = {
		"/dev/mem",  "/dev/port",    "/dev/kmsg",    "/dev/kvm",
		"/dev/vda",  "/dev/sda",     "/dev/nvme0",   "/dev/loop-control",
		"/dev/fuse", "/dev/net/tun", "/dev/ptmx",    "/dev/console",
		"/dev/hpet", "/dev/uinput",  "/dev/rtc0",    "/dev/vhost-net",
		"/dev/dri",  "/dev/mapper",  "/dev/bus/usb", "/dev/pts",
	};

	(void)argv;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		door(nodes[i], open(nodes[i], O_RDONLY | O_NONBLOCK | O_NOCTTY));
		door(probe_above(nodes[i]),
		     open(probe_above(nodes[i]), O_RDONLY | O_NONBLOCK | O_NOCTTY));
	}
}

/* stdin is a file that was given for reading */
static void reopen_stdin(char **argv)
{
	struct open_how how = { .flags = O_WRONLY };

	(void)argv;
	door("write(0)", write(0, "x", 1) < 0 ? (errno = EACCES, -1) : 0);
	door("reopen for writing", open("/proc/self/fd/0", O_WRONLY));
	door("for both", open("/proc/self/fd/0", O_RDWR | O_APPEND));
	door("/dev/stdin", open("/dev/stdin", O_WRONLY));
	door("truncating", open("/proc/self/fd/0", O_RDONLY | O_TRUNC));
	door("truncating, for neither", open("/proc/self/fd/0", 3 | O_TRUNC));
	door("creat", creat("/proc/self/fd/0", 0600));
	door("truncate", truncate("/proc/self/fd/0", 0));
	door("openat2",
	     syscall(SYS_openat2, AT_FDCWD, "/proc/self/fd/0", &how, sizeof(how)));
}

/* argv: what the caller has written into the pipe that is stderr */
static void reopen_stderr(char **argv)
{
	const char *marker = probe_word(argv, 0, "the caller's word");
	static char text[4096];
	int fd;

	(void)fchmod(2, 0666);
	fd = open("/proc/self/fd/2", O_RDONLY | O_NONBLOCK);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		door_word("read it", strstr(text, marker) != NULL, "something else");
	else
		door("read it", -1);
}

static const struct probe probes[] = {
	{ "root-create", "make a file, folder, link or FIFO in the root tree",
	  W(OVERLAY) | W(READ_ONLY) | W(LANDLOCK) | W(IDS), &scene_tree, root_create, 0,
	  NULL },
	{ "root-change", "change, rename or link a file of the root tree",
	  W(OVERLAY) | W(READ_ONLY) | W(LANDLOCK), &scene_tree, root_change, 0, NULL },
	{ "dev-change", "put another file in the place of /dev/null",
	  W(READ_ONLY) | W(LANDLOCK), &scene_tree, write_dev, 0, "/dev" },
	{ "host-read", "read a file of the host by its path, by .. and by /proc",
	  W(MOUNTS) | W(OLD_ROOT), &scene_secret, read_host, 0, NULL },
	{ "chroot-breakout", "climb out by a second chroot and ..",
	  W(SECCOMP) | W(CAPS) | W(OLD_ROOT) | W(LANDLOCK), &scene_chroot,
	  chroot_breakout, 0, NULL },
	{ "folder-stdin", "leave the tree through a folder given as stdin",
	  W(STDIO) | W(LANDLOCK), &scene_folder_stdin, folder_stdin, REFUSED,
	  "is a folder" },
	{ "path-stdin", "leave the tree through an O_PATH fd given as stdin",
	  W(STDIO) | W(LANDLOCK), &scene_path_stdin, folder_stdin, REFUSED,
	  "is an O_PATH fd" },
	{ "memory-stdin", "write to a memfd that was given as read-only stdin",
	  W(STDIO) | W(LANDLOCK), &scene_memory_stdin, reopen_stdin, REFUSED,
	  "such as a memfd" },
	{ "dropped-binary", "run a program dropped into a writable place",
	  W(NOEXEC) | W(LANDLOCK) | W(LOCK), &scene_writable, dropped_binary, 0, NULL },
	{ "dropped-script", "run a script dropped into a writable place",
	  W(NOEXEC) | W(LANDLOCK) | W(LOCK), &scene_writable, dropped_script, 0, NULL },
	{ "dropped-code", "map code dropped into a writable place", W(NOEXEC) | W(LOCK),
	  &scene_writable, dropped_code, 0, NULL },
	{ "device-make", "make a device node", W(SECCOMP) | W(CAPS) | W(USERS),
	  &scene_writable, make_device, 0, NULL },
	{ "device-open", "open devices of the host: memory, disks, log, terminals",
	  W(NODES), NULL, open_device, 0, NULL },
	{ "stdin-reopen", "write to a file that was given as read-only stdin",
	  W(LANDLOCK) | W(SHUT) | W(IDS), &scene_given_file, reopen_stdin, 0, NULL },
	{ "pipe-reopen", "take what others have written into a pipe given as stderr",
	  W(CAPTURE) | W(IDS), &scene_given_pipe, reopen_stderr, 0, NULL },
};

AREA(file, "file system", probes);
