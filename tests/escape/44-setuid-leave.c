/* leave a set-user-ID file on the host, through a given file or folder | seccomp refuses
 * set-id modes | EPERM ENOSYS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/openat2.h>

static char path[4096];
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

/* stdin is a file of the host; argv: a folder of the host that may be written to */
int main(int argc, char **argv)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 04755 };
	struct stat st;

	if (argc < 2)
		attack_lacks("a folder");
	folder = argv[1];
	errno = EPERM;
	door("fchmod(0)",
	     fchmod(0, 04755) == 0 && fstat(0, &st) == 0 && (st.st_mode & S_ISUID) ? 0
										   : -1);
	look("openat", syscall(SYS_openat, AT_FDCWD, at('b'), O_CREAT | O_WRONLY, 04755));
	look("mknodat", syscall(SYS_mknodat, AT_FDCWD, at('e'), S_IFREG | 04755, 0));
	look("openat2", syscall(SYS_openat2, AT_FDCWD, at('f'), &how, sizeof(how)));
	try_modes();
	return attack_end();
}
