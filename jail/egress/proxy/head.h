/* SPDX-License-Identifier: MIT */
/*
 * head.h - the head of a request to a proxy, RFC 9112, read strictly
 */
#pragma once

#include "jail/egress/proxy/proxy.h"

#define HEAD_MAX 32768
#define HEAD_FIELDS 100

struct field {
	const char *name, *value;
	bool dropped; /* it is not sent on */
};

struct head {
	char bytes[HEAD_MAX + 1]; /* the strings lie here */
	size_t have, length;      /* what was read; of the head. The rest is body */
	size_t seen;              /* of what was read, by head_parse() */
	const char *method;       /* "CONNECT", "GET" */
	const char *version;      /* "HTTP/1.1" or "HTTP/1.0" */
	const char *target;       /* path and query, with a '/' first; NULL of CONNECT */
	struct place to;
	struct field field[HEAD_FIELDS];
	size_t fields;
	bool has_length;
	bool marked; /* END_MARK is to follow */
	uint64_t body_bytes;
};

/**
 * head_parse() - Read what is in bytes[0..have]
 *
 * Return: 1; 0: more bytes are needed; -1: refused
 */
int head_parse(struct connection *c, struct head *h);

/** head_drop() - Do not send on fields of a name, or of one that gateways take for it */
void head_drop(struct head *h, const char *name);
