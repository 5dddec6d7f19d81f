/* SPDX-License-Identifier: MIT */
/*
 * head.c - the head of a request: see head.h
 *
 * What two parsers could read in two ways is refused: a lone CR or LF, bytes that are not
 * ASCII, blanks before a colon, folded lines, two lengths, a chunked body, a Host that is
 * not the target's, a Connection that takes away what others rely on.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "jail/egress/proxy/head.h"

#define LENGTH_DIGITS 15

/* what Connection may name. None of it is sent on */
#define HOP "close, Keep-Alive, Proxy-Connection, TE, Upgrade, HTTP2-Settings"
/* nor is this, which is for the proxy alone, or made anew */
static const char own[] = HOP
	", Host, Connection, Content-Length, Proxy-Authorization, Transfer-Encoding, Trailer, " END_FIELD;

static int invalid(struct connection *c, const char *text)
{
	return refuse(c, EGRESS_INVALID, 400, "%s", text);
}

/* Where the head ends: behind an empty line. Return: 1, 0 (not there yet), or -1 */
static int find_end(struct connection *c, struct head *h)
{
	for (; h->seen < h->have; h->seen++) {
		size_t i = h->seen;
		unsigned char at = (unsigned char)h->bytes[i];
		bool cr = i > 0 && h->bytes[i - 1] == '\r';

		if (cr != (at == '\n'))
			return invalid(c,
				       "a line ends with CR LF, and has neither before");
		if (at == '\n' && i >= 3 && h->bytes[i - 2] == '\n') {
			h->length = i + 1;
			return 1;
		}
		if ((at < ' ' && at != '\r' && at != '\n' && at != '\t') || at > '~')
			return invalid(c,
				       "the head has a byte that is not printable ASCII");
	}
	return h->have < HEAD_MAX
		       ? 0
		       : refuse(c, EGRESS_INVALID, 431, "more than %d bytes", HEAD_MAX);
}

/* The next line as a string, without its CR and LF */
static char *next_line(char **at)
{
	char *line = *at, *end = strstr(line, "\r\n");

	*end = '\0';
	*at = end + 2;
	return line;
}

static int read_place(struct connection *c, const char *text, size_t length,
		      uint16_t port, struct place *to)
{
	struct err e;

	return place_read(text, length, port, false, to, &e) < 0 ? invalid(c, e.text) : 0;
}

/* http://host:port/path?query */
static int read_url(struct connection *c, struct head *h, char *url)
{
	size_t length;

	if (strncasecmp(url, "http://", 7) != 0)
		return invalid(c, "this takes http://HOST/ and CONNECT");
	url += 7;
	length = strcspn(url, "/?");
	if (read_place(c, url, length, 80, &h->to) < 0)
		return -1;
	url += length;
	/* in place of the host's last byte, which has been read */
	if (*url != '/')
		*--url = '/';
	for (const char *at = h->target = url; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '#')
			return invalid(c, "the URL has a byte that must be encoded");
	return 0;
}

static int read_request(struct connection *c, struct head *h, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version ||
	    (strcmp(version, " HTTP/1.1") != 0 && strcmp(version, " HTTP/1.0") != 0))
		return invalid(c, "this is no HTTP/1.1 request");
	*target++ = *version++ = '\0';
	h->method = line;
	h->version = version;
	if (!*line || strlen(line) > 24 ||
	    line[strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-")])
		return invalid(c, "the method is none");
	if (strcmp(line, "TRACE") == 0 || strcmp(line, "TRACK") == 0)
		return refuse(c, EGRESS_INVALID, 405,
			      "%s sends back what it is sent, secrets, too", line);
	return strcmp(line, "CONNECT") == 0
		       ? read_place(c, target, strlen(target), 0, &h->to)
		       : read_url(c, h, target);
}

/* Is a name in a list with commas between? To a gateway such as CGI all that is neither
 * letter nor digit is '_', so that it is the same here. */
static bool is_in(const char *list, const char *name, size_t length)
{
	while (*(list += strspn(list, ", "))) {
		size_t i = 0, size = strcspn(list, ", ");

		while (i < size && i < length &&
		       (isalnum(list[i]) ? tolower(list[i]) == tolower(name[i])
					 : !isalnum(name[i])))
			i++;
		if (i == size && i == length)
			return true;
		list += size;
	}
	return false;
}

void head_drop(struct head *h, const char *name)
{
	for (size_t i = 0; i < h->fields; i++)
		if (is_in(name, h->field[i].name, strlen(h->field[i].name)))
			h->field[i].dropped = true;
}

/* A length, a Host or a secret that it named would be dropped by whoever obeys. */
static int check_connection(struct connection *c, const char *names)
{
	for (size_t n; *(names += strspn(names, ", \t")); names += n) {
		n = strcspn(names, ", \t");
		if (!is_in(HOP, names, n))
			return invalid(c, "Connection names what is none of " HOP);
	}
	return 0;
}

static int take_field(struct connection *c, struct head *h, struct field *f)
{
	size_t digits = strspn(f->value, "0123456789");
	struct place host;

	h->marked = h->marked || strcasecmp(f->name, END_FIELD) == 0;
	if (strcasecmp(f->name, "Transfer-Encoding") == 0)
		return refuse(c, EGRESS_INVALID, 411, "a body needs Content-Length");
	if (strcasecmp(f->name, "Content-Length") == 0) {
		if (h->has_length || !digits || digits > LENGTH_DIGITS ||
		    f->value[digits])
			return invalid(c, "Content-Length is one number, once");
		h->has_length = true;
		h->body_bytes = strtoull(f->value, NULL, 10);
	}
	if (strcasecmp(f->name, "Connection") == 0)
		return check_connection(c, f->value);
	if (strcasecmp(f->name, "Host") != 0)
		return 0;
	if (read_place(c, f->value, strlen(f->value), 80, &host) < 0)
		return -1;
	return strcmp(host.host, h->to.host) != 0 ? invalid(c, "Host is not the URL's")
						  : 0;
}

static int read_field(struct connection *c, struct head *h, char *line)
{
	size_t name = strspn(line, PLACE_TOKEN);
	char *value = line + name + 1, *end;

	if (h->fields == HEAD_FIELDS)
		return refuse(c, EGRESS_INVALID, 431, "more than %d fields", HEAD_FIELDS);
	if (name == 0 || line[name] != ':')
		return invalid(c, "a field is NAME: VALUE, on one line");
	line[name] = '\0';
	value += strspn(value, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t", end[-1]);)
		*--end = '\0';
	h->field[h->fields] = (struct field){ line, value, is_in(own, line, name) };
	return take_field(c, h, &h->field[h->fields++]);
}

int head_parse(struct connection *c, struct head *h)
{
	char *at = h->bytes;
	int r = find_end(c, h);

	if (r <= 0)
		return r;
	r = read_request(c, h, next_line(&at));
	while (r == 0 && at < h->bytes + h->length - 2)
		r = read_field(c, h, next_line(&at));
	return r < 0 ? -1 : 1;
}
