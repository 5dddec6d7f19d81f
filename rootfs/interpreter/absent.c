/* SPDX-License-Identifier: MIT */
/*
 * absent.c - programs that the tree does not have
 *
 * Theory of operation
 *   Libraries look for programs: platform for uname, numpy for lscpu, matplotlib for
 *   fc-list, and are content when there is none. Under --lock-code each such look would
 *   be a refused call, told beside attacks, and deadly with --on-violation=kill. So
 *   CPython's calls of execve(2) and execv(3) are answered here, as the kernel would
 *   answer them, where there is no such file; the linker hands them over (--wrap, in
 *   rootfs/trees/build). A program that is there goes to the kernel, and its filter.
 *
 *   It is a convenience for honest code and no wall. os.system() is not among them: only
 *   code that means to start a shell calls it.
 */
#include <unistd.h>

/* the linker's names for what a call was, and what it is made */
int __real_execve(const char *path, char *const *argv, char *const *env);
int __real_execv(const char *path, char *const *argv);
int __wrap_execve(const char *path, char *const *argv, char *const *env);
int __wrap_execv(const char *path, char *const *argv);

/* errno of access(2) is what that of execve(2) would be: ENOENT, ENOTDIR, EACCES */
int __wrap_execve(const char *path, char *const *argv, char *const *env)
{
	return access(path, X_OK) < 0 ? -1 : __real_execve(path, argv, env);
}

int __wrap_execv(const char *path, char *const *argv)
{
	return access(path, X_OK) < 0 ? -1 : __real_execv(path, argv);
}
