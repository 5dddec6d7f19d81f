/* SPDX-License-Identifier: MIT */
/*
 * request.c - any bytes as what a jail says to its proxy: the head of a request, or TLS
 *
 * A head that is taken has a place that reads back as it was, a target without a byte
 * that a server could take for an end, and fields without one. The first byte says which
 * of the two.
 */
#include <arpa/inet.h>

#include <openssl/ssl.h>

#include "jail/egress/proxy/head.h"
#include "tests/fuzz/fuzz.h"

static struct head head;

static void check_text(const char *text)
{
	for (; *text; text++)
		HOLDS(*text != '\r' && *text != '\n');
}

static void check_head(void)
{
	char text[PLACE_HOST_MAX + 16];
	bool six = head.to.literal && strchr(head.to.host, ':');
	struct place again;
	struct err e;

	HOLDS(head.length <= head.have && head.fields <= HEAD_FIELDS);
	(void)snprintf(text, sizeof(text), six ? "[%s]:%u" : "%s:%u", head.to.host,
		       head.to.port);
	HOLDS(place_read(text, strlen(text), 0, false, &again, &e) == 0);
	HOLDS(place_allows(&again, &head.to) && again.literal == head.to.literal);
	HOLDS((head.target == NULL) == (strcmp(head.method, "CONNECT") == 0));
	HOLDS(!head.target ||
	      (head.target[0] == '/' && !strpbrk(head.target, " \t\r\n#")));
	for (size_t i = 0; i < head.fields; i++) {
		check_text(head.field[i].name);
		check_text(head.field[i].value);
		HOLDS(head.field[i].name[0] && !strpbrk(head.field[i].name, " \t:"));
		HOLDS(head.field[i].dropped ||
		      strcasecmp(head.field[i].name, "Host") != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct egress_row row = { .end = EGRESS_OPEN };
	struct connection c = { .row = &row };
	char name[PLACE_HOST_MAX];
	int r;

	if (size < 1 || size > HEAD_MAX)
		return 0;
	if (bytes[0] == 22) {
		size_t half = bytes[size - 1] % (size + 1);

		/* in two parts: the rest is for one that wants more */
		r = tls_name(&c, bytes, half, name);
		if (r == 0)
			r = tls_name(&c, bytes + half, size - half, name);
		HOLDS(r >= -1 && r <= 1);
		if (r > 0)
			HOLDS(strnlen(name, sizeof(name)) < sizeof(name));
		SSL_free(c.hello);
		return 0;
	}
	memset(&head, 0, sizeof(head));
	memcpy(head.bytes, bytes, size);
	head.have = size;
	r = head_parse(&c, &head);
	HOLDS(r >= -1 && r <= 1);
	if (r > 0)
		check_head();
	if (r < 0)
		HOLDS(row.end == EGRESS_INVALID && c.status >= 400 && c.words[0]);
	return 0;
}
