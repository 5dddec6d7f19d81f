/* SPDX-License-Identifier: MIT */
/*
 * probe_fd.c - what is left open, and the program's own executable
 */
#include "tests/escape/scene.h"

/* argv: numbers of fds that the scene left open: a secret file, and the host's root */
static void leaked(char **argv)
{
	char byte;

	for (; *argv; argv++) {
		int fd = (int)strtol(*argv, NULL, 10);

		door("is it open", fcntl(fd, F_GETFD));
		door("read it", read(fd, &byte, 1));
		door("go through it", openat(fd, "proc", O_RDONLY | O_DIRECTORY));
	}
}

static void any_fd(char **argv)
{
	(void)argv;
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			door("a fd", fd);
	door_word("none", false, "none");
}

/* CVE-2024-21626: a working folder that is the host's, by a fd that was open at chdir */
static void leaked_folder(char **argv)
{
	const char *name = probe_word(argv, 0, "a name that is in the host's folder");
	char path[PATH_MAX];

	door(".", open(".", O_RDONLY | O_DIRECTORY));
	door(name, access(name, F_OK));
	(void)snprintf(path, sizeof(path), "/proc/self/cwd/%s", name);
	door(path, access(path, F_OK));
}

/* this program has been started through a link to a leaked fd: that it runs is enough */
static void leaked_exec(char **argv)
{
	(void)argv;
	door_word("run a file of the host", true, "");
}

/*
 * CVE-2019-5736: the executable that runs us, kept open while it becomes another, and
 * then opened again for writing. argv: the other program; or "-" and the fd, when it has
 */
static void own_executable(char **argv)
{
	const char *other = probe_word(argv, 0, "another program");
	char path[64], number[16], name[] = "stepjail-probe", row[] = "exe-self",
				   dash[] = "-";
	char *const words[] = { name, row, dash, number, NULL };
	int fd;

	if (strcmp(other, "-") != 0) {
		fd = open("/proc/self/exe", O_RDONLY);
		(void)snprintf(number, sizeof(number), "%d", fd);
		door("open it", open("/proc/self/exe", O_RDWR));
		door("become another", execv(other, words));
		return;
	}
	fd = (int)probe_number(argv, 1, "a fd");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	door("open it again", open(path, O_WRONLY));
	door("truncating", open(path, O_RDONLY | O_TRUNC));
	door("its mode", chmod(path, 0777));
	door("its mode, by its fd", fchmod(fd, 0777));
}

/* argv: "child", or the PID of init, whose file is the host's stepjail-init */
static void executable_of_init(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", target);
	door("read", open(path, O_RDONLY));
	door("look", access(path, F_OK));
	door("O_PATH", open(path, O_PATH));
}

static const struct probe probes[] = {
	{ "fd-leaked", "use file descriptors that the caller left open", W(FDS),
	  &scene_leaked, leaked, 0, NULL },
	{ "fd-any", "find any file descriptor above stderr", W(FDS), &scene_leaked,
	  any_fd, 0, NULL },
	{ "fd-chdir", "start in a folder of the host by a leaked fd (CVE-2024-21626)",
	  W(FDS) | W(MAGIC_LINKS) | W(LANDLOCK), &scene_leaked_chdir, leaked_folder,
	  REFUSED, "chdir: /proc/self/fd" },
	{ "fd-exec", "be a program of the host by a leaked fd (CVE-2024-21626)",
	  W(FDS) | W(LANDLOCK), &scene_leaked_exec, leaked_exec, REFUSED, "/leap: " },
	{ "exe-self", "overwrite the running executable (CVE-2019-5736)",
	  W(READ_ONLY) | W(OVERLAY) | W(LANDLOCK), &scene_executable, own_executable, 0,
	  NULL },
	{ "exe-init", "reach the executable of init (CVE-2019-5736)",
	  W(HIDEPID) | W(DUMPABLE), &scene_on_init, executable_of_init, 0, NULL },
};

AREA(fd, "leaked fds, /proc/self/exe", probes);
