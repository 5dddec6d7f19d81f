/* SPDX-License-Identifier: MIT */
/*
 * place.c - HOST:PORT: see place.h
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/egress/place/place.h"

#define NAME_MAX_BYTES 253
#define LABEL_MAX_BYTES 63

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

/* What is wrong with a name, or NULL */
static const char *fault_of_name(const char *host)
{
	size_t label = 0;
	const char *last = strrchr(host, '.');

	if (strlen(host) > NAME_MAX_BYTES)
		return "a name has 253 bytes at the most";
	if (host[strspn(host, name_bytes)])
		return "a name has letters, digits, '-', '_' and '.'";
	for (const char *at = host;; at++) {
		if (*at && *at != '.') {
			label++;
			continue;
		}
		if (label == 0)
			return "there is nothing before or behind a '.'";
		if (label > LABEL_MAX_BYTES)
			return "what is between dots has 63 bytes at the most";
		label = 0;
		if (!*at)
			break;
	}
	last = last ? last + 1 : host;
	/* also "1" alone, and "0x7f" */
	if (last[0] >= '0' && last[0] <= '9' &&
	    (last[strspn(last, "0123456789")] == '\0' || strncmp(last, "0x", 2) == 0))
		return "a name does not end in a number, and an IPv4 address is four of them";
	return NULL;
}

static const char *read_host(char *host, bool bracketed, bool rule, bool *literal)
{
	struct in6_addr six;
	struct in_addr four;
	const char *name = host;

	*literal = true;
	if (bracketed) {
		if (inet_pton(AF_INET6, host, &six) != 1)
			return "in brackets stands an IPv6 address";
		(void)inet_ntop(AF_INET6, &six, host, PLACE_HOST_MAX);
		return NULL;
	}
	if (inet_pton(AF_INET, host, &four) == 1)
		return NULL;
	*literal = false;
	if (rule && strncmp(host, "*.", 2) == 0) {
		name += 2;
		if (!strchr(name, '.'))
			return "behind '*.' stands a name of two parts or more";
	}
	return fault_of_name(name);
}

int place_read(const char *text, bool rule, struct place *place, struct err *e)
{
	const char *colon = strrchr(text, ':');
	const char *from = text, *to = colon ? colon : text;
	bool bracketed = text[0] == '[';
	const char *fault = NULL;
	char *end = NULL;
	unsigned long port = 0;

	if (colon && colon[1] >= '1' && colon[1] <= '9')
		port = strtoul(colon + 1, &end, 10);
	if (!end || *end || port > UINT16_MAX)
		fault = "a port from 1 to 65535 must be named, as in example.com:443";
	if (!fault && bracketed && (to - from < 2 || to[-1] != ']'))
		fault = "in brackets stands an IPv6 address";
	if (!fault && bracketed) {
		from++;
		to--;
	}
	if (!fault && (size_t)(to - from) >= sizeof(place->host))
		fault = "a name has 253 bytes at the most";
	if (!fault) {
		*place = (struct place){ .port = (uint16_t)port };
		for (size_t i = 0; from + i < to; i++)
			place->host[i] = (char)(from[i] >= 'A' && from[i] <= 'Z'
							? from[i] - 'A' + 'a'
							: from[i]);
		fault = read_host(place->host, bracketed, rule, &place->literal);
	}
	return fault ? err_say(e, EINVAL, "'%.300s': %s", text, fault) : 0;
}

int place_next(const char **list, struct place *place, struct err *e)
{
	char text[PLACE_HOST_MAX + 16];
	size_t length = strcspn(*list, ",");
	int r = (size_t)snprintf(text, sizeof(text), "%.*s", (int)length, *list) <
				sizeof(text)
			? place_read(text, true, place, e)
			: err_say(e, EINVAL, "'%.300s': it is too long", *list);

	*list += length + ((*list)[length] == ',');
	return r;
}

bool place_allows(const struct place *rule, const struct place *asked)
{
	const char *suffix = rule->host + 1;
	size_t long_ = strlen(asked->host), short_ = strlen(suffix);

	if (rule->port != asked->port)
		return false;
	if (rule->host[0] != '*')
		return strcmp(rule->host, asked->host) == 0;
	return !asked->literal && long_ > short_ &&
	       strcmp(asked->host + long_ - short_, suffix) == 0;
}
