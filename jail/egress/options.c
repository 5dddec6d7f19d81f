/* SPDX-License-Identifier: MIT */
/*
 * options.c - --allow-host and --secret-header, and what they change in a plan: see plan.h
 */
#include <stdio.h>
#include <string.h>

#include "jail/egress/place/place.h"
#include "jail/plan/plan.h"

#define TEXT(port) #port
#define URL(port) "http://127.0.0.1:" TEXT(port)
static int add(const char **list, size_t *count, size_t max, const char *spec,
	       struct err *e)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(list[i], spec) == 0)
			return 0;
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

/* Of HOST:NAME=FILE, what is before NAME, with port 443 */
static int read_header(const char *spec, struct place *at, struct err *e)
{
	char text[PLACE_HOST_MAX + 8];
	const char *colon = strchr(spec, ':');
	size_t length = colon ? (size_t)(colon - spec) : 0;
	size_t name = colon ? strspn(colon + 1, PLACE_TOKEN) : 0;

	if (length == 0 || name == 0 || name > PLAN_HEADER_NAME_MAX ||
	    colon[1 + name] != '=' || !colon[2 + name] || length >= PLACE_HOST_MAX)
		return err_say(e, EINVAL, "'%s' is not of the form HOST:NAME=FILE", spec);
	(void)snprintf(text, sizeof(text), "%.*s:443", (int)length, spec);
	return place_read(text, false, at, e);
}

int plan_add_header(struct plan *p, const char *spec, struct err *e)
{
	struct place at;
	int r = read_header(spec, &at, e);

	return r < 0 ? r : add(p->header, &p->header_count, PLAN_HEADERS_MAX, spec, e);
}

static int check_header(const struct plan *p, const char *spec, struct err *e)
{
	struct place at, rule;
	int r = read_header(spec, &at, e);

	for (size_t i = 0; r == 0 && i < p->host_count; i++)
		for (const char *rest = p->host[i]; *rest;)
			if (place_next(&rest, &rule, e) == 0 && place_allows(&rule, &at))
				return 0;
	return err_say(e, EINVAL,
		       "secret-header: %s:443 is not allowed: --allow-host %s:443",
		       at.host, at.host);
}

int plan_complete_egress(struct plan *p, struct err *e)
{
	static const char *const variables[] = {
		"http_proxy=" URL(3128),
		"https_proxy=" URL(3128),
		"HTTP_PROXY=" URL(3128),
		"HTTPS_PROXY=" URL(3128),
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->header_count; i++)
		r = check_header(p, p->header[i], e);
	if (p->host_count == 0)
		return r;
	/* the proxy's port is there */
	p->net = NET_LOOPBACK;
	for (size_t i = 0; r == 0 && i < sizeof(variables) / sizeof(variables[0]); i++)
		r = plan_add_env(p, variables[i], e);
	return r;
}
