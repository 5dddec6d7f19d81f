/* SPDX-License-Identifier: MIT */
/*
 * options.c - --allow-host and --secret-header, and what they change in a plan: see
 * plan.h
 */
#include <string.h>

#include "jail/egress/place/place.h"
#include "jail/plan/plan.h"

static int add(const char **list, size_t *count, size_t max, const char *spec,
	       struct err *e)
{
	if (*count == max)
		return err_say(e, E2BIG, "'%s' is one more than %zu", spec, max);
	list[(*count)++] = spec;
	return 0;
}

int plan_add_host(struct plan *p, const char *spec, struct err *e)
{
	const char *rest = spec;
	struct place at;
	int r;

	do
		r = place_next(&rest, &at, e);
	while (r == 0 && *rest);
	return r < 0 ? r : add(p->host, &p->host_count, PLAN_HOSTS_MAX, spec, e);
}

int plan_add_header(struct plan *p, const char *spec, struct err *e)
{
	const char *colon = strchr(spec, ':');
	size_t name = colon ? strspn(colon + 1, PLACE_TOKEN) : 0;

	if (name == 0 || name > PLAN_HEADER_NAME_MAX || colon == spec ||
	    colon - spec >= PLACE_HOST_MAX || colon[1 + name] != '=' || !colon[2 + name])
		return err_say(e, EINVAL, "'%s' is not of the form HOST:NAME=FILE", spec);
	return add(p->header, &p->header_count, PLAN_HEADERS_MAX, spec, e);
}

int plan_complete_egress(struct plan *p, struct err *e)
{
	static const char *const variables[] = { "http_proxy=" PROXY_URL,
						 "https_proxy=" PROXY_URL,
						 "HTTP_PROXY=" PROXY_URL,
						 "HTTPS_PROXY=" PROXY_URL };
	int r = 0;

	if (p->host_count == 0 && p->header_count)
		return err_say(e, EINVAL,
			       "--secret-header needs --allow-host for that host");
	if (p->host_count == 0)
		return 0;
	/* the proxy's port is there */
	p->net = NET_LOOPBACK;
	for (size_t i = 0; r == 0 && i < COUNT(variables); i++)
		r = plan_add_env(p, variables[i], e);
	return r;
}
