/* SPDX-License-Identifier: MIT */
/*
 * place.c - HOST:PORT: see place.h
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "jail/egress/place/place.h"

#define NAME_MAX_BYTES 253
#define LABEL_MAX_BYTES 63

/* What is wrong with a name, or NULL */
static const char *fault_of_name(const char *host)
{
	size_t length;

	if (host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
		return "a name has letters, digits, '-', '_' and '.'";
	for (;; host += length + 1) {
		length = strcspn(host, ".");
		if (length == 0)
			return "there is nothing before or behind a '.'";
		if (length > LABEL_MAX_BYTES)
			return "what is between dots has 63 bytes at the most";
		if (!host[length])
			break;
	}
	/* also "1" alone, and "0x7f" */
	return host[strspn(host, "0123456789")] == '\0' || strncmp(host, "0x", 2) == 0
		       ? "a name does not end in a number, and an IPv4 address is four of them"
		       : NULL;
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

int place_read(const char *text, size_t length, uint16_t port, bool rule,
	       struct place *place, struct err *e)
{
	const char *colon = memrchr(text, ':', length),
		   *bracket = memrchr(text, ']', length);
	bool bracketed = length && text[0] == '[';
	const char *fault = NULL;
	unsigned int number = port;
	const int shown = (int)length;
	int end = 0;

	if (bracket > colon)
		colon = NULL;
	if (colon && sscanf(colon, ":%5u%n", &number, &end) == 1 && colon[1] >= '1' &&
	    colon[1] <= '9' && number <= UINT16_MAX && colon + end == text + length)
		length = (size_t)(colon - text);
	else if (colon || !number)
		fault = "a port from 1 to 65535 must be named, as in example.com:443";
	if (!fault && bracketed && (bracket != text + length - 1 || length < 2))
		fault = "in brackets stands an IPv6 address";
	if (!fault && length > NAME_MAX_BYTES)
		fault = "a name has 253 bytes at the most";
	if (!fault) {
		*place = (struct place){ .port = (uint16_t)number };
		length -= bracketed ? 2 : 0;
		for (size_t i = 0; i < length; i++)
			place->host[i] =
				(char)tolower((unsigned char)text[i + bracketed]);
		fault = read_host(place->host, bracketed, rule, &place->literal);
	}
	return fault ? err_say(e, EINVAL, "'%.*s': %s", shown, text, fault) : 0;
}

int place_next(const char **list, struct place *place, struct err *e)
{
	size_t length = strcspn(*list, ",");
	int r = place_read(*list, length, 0, true, place, e);

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
