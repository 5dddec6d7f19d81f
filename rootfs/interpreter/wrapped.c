/* SPDX-License-Identifier: MIT */
/*
 * wrapped.c - calls of CPython that are answered here
 *
 * Theory of operation
 *   The linker hands them over (--wrap, in rootfs/trees/build). They are a convenience
 *   for honest code, and no wall.
 *
 *   Libraries look for programs: platform for uname, numpy for lscpu, matplotlib for
 *   fc-list, and are content when there is none. Under --lock-code each such look would
 *   be a refused call, told beside attacks, and deadly with --on-violation=kill. So
 *   execve(2) and execv(3) are answered as the kernel would answer them, where there is
 *   no such file. A program that is there goes to the kernel, and its filter. os.system()
 *   is not among them: only code that means to start a shell calls it.
 *
 *   The jail's own host name leads to its loopback, as a host's own name does. Elsewhere
 *   /etc/hosts has it. A tree is read-only and one for all jails, and the name is each
 *   jail's own (--hostname). So the calls by which CPython looks a name up take it for
 *   localhost.
 */
#include <limits.h>
#include <netdb.h>
#include <strings.h>
#include <unistd.h>

/* the linker's names for what a call was, and what it is made */
int __real_execve(const char *path, char *const *argv, char *const *env);
int __real_execv(const char *path, char *const *argv);
int __wrap_execve(const char *path, char *const *argv, char *const *env);
int __wrap_execv(const char *path, char *const *argv);
int __real_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **found);
int __real_gethostbyname_r(const char *name, struct hostent *host, char *bytes,
			   size_t size, struct hostent **found, int *error);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **found);
int __wrap_gethostbyname_r(const char *name, struct hostent *host, char *bytes,
			   size_t size, struct hostent **found, int *error);

/* errno of access(2) is what that of execve(2) would be: ENOENT, ENOTDIR, EACCES */
int __wrap_execve(const char *path, char *const *argv, char *const *env)
{
	return access(path, X_OK) < 0 ? -1 : __real_execve(path, argv, env);
}

int __wrap_execv(const char *path, char *const *argv)
{
	return access(path, X_OK) < 0 ? -1 : __real_execv(path, argv);
}

static const char *known(const char *name)
{
	char own[HOST_NAME_MAX + 1] = "";

	return name && gethostname(own, sizeof(own)) == 0 && strcasecmp(name, own) == 0
		       ? "localhost"
		       : name;
}

int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **found)
{
	return __real_getaddrinfo(known(node), service, hints, found);
}

int __wrap_gethostbyname_r(const char *name, struct hostent *host, char *bytes,
			   size_t size, struct hostent **found, int *error)
{
	return __real_gethostbyname_r(known(name), host, bytes, size, found, error);
}
