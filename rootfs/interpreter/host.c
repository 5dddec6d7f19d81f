/* SPDX-License-Identifier: MIT */
/*
 * host.c - the jail's own host name leads to its loopback, as a host's own name does
 *
 * Elsewhere /etc/hosts has it. A tree is read-only and one for all jails, and the name is
 * each jail's own (--hostname). So the calls by which CPython looks a name up take it for
 * localhost. The linker hands them over (--wrap, in rootfs/trees/build).
 */
#include <limits.h>
#include <netdb.h>
#include <strings.h>
#include <unistd.h>

/* the linker's names for what a call was, and what it is made */
int __real_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **found);
int __real_gethostbyname_r(const char *name, struct hostent *host, char *bytes,
			   size_t size, struct hostent **found, int *error);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **found);
int __wrap_gethostbyname_r(const char *name, struct hostent *host, char *bytes,
			   size_t size, struct hostent **found, int *error);

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
