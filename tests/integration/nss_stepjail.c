/* SPDX-License-Identifier: MIT */
/*
 * nss_stepjail.c - a name service that libc loads, for test_agent_confine.py
 *
 * model.test is 127.0.0.1, and there is no other name. See nsswitch.conf(5).
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <stdint.h>
#include <string.h>

enum nss_status _nss_stepjail_gethostbyname4_r(const char *name,
					       struct gaih_addrtuple **found,
					       char *buffer, size_t size, int *errnop,
					       int *h_errnop, int32_t *ttl);

enum nss_status _nss_stepjail_gethostbyname4_r(const char *name,
					       struct gaih_addrtuple **found,
					       char *buffer, size_t size, int *errnop,
					       int *h_errnop, int32_t *ttl)
{
	struct gaih_addrtuple *one = *found ? *found : (void *)buffer;

	if (strcmp(name, "model.test") != 0 || size < sizeof(*one)) {
		*errnop = ENOENT;
		*h_errnop = HOST_NOT_FOUND;
		return NSS_STATUS_NOTFOUND;
	}
	memset(one, 0, sizeof(*one));
	one->name = (char *)(uintptr_t)name;
	one->family = AF_INET;
	one->addr[0] = htonl(INADDR_LOOPBACK);
	*found = one;
	*h_errnop = 0;
	if (ttl)
		*ttl = 60;
	return NSS_STATUS_SUCCESS;
}
