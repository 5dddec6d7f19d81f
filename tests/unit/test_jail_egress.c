/* SPDX-License-Identifier: MIT */
/*
 * test_jail_egress.c - --allow-host: addresses, heads of requests, names of TLS, its log
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jail/egress/proxy/head.h"
#include "jail/egress/report.h"
#include "tests/unit/suites.h"

static const struct {
	const char *text;
	bool public;
} addresses[] = {
	{ "1.1.1.1", true },
	{ "8.8.8.8", true },
	{ "9.255.255.255", true },
	{ "11.0.0.0", true },
	{ "100.63.255.255", true },
	{ "100.128.0.0", true },
	{ "126.255.255.255", true },
	{ "128.0.0.0", true },
	{ "169.253.255.255", true },
	{ "172.15.255.255", true },
	{ "172.32.0.0", true },
	{ "192.167.255.255", true },
	{ "192.169.0.0", true },
	{ "198.17.255.255", true },
	{ "198.20.0.0", true },
	{ "223.255.255.255", true },
	{ "0.0.0.0", false },
	{ "0.255.255.255", false },
	{ "10.0.0.1", false },
	{ "10.255.255.255", false },
	{ "100.64.0.0", false },
	{ "100.127.255.255", false },
	{ "127.0.0.1", false },
	{ "127.255.255.255", false },
	{ "169.254.169.254", false },
	{ "172.16.0.0", false },
	{ "172.31.255.255", false },
	{ "192.0.0.8", false },
	{ "192.0.2.1", false },
	{ "192.88.99.1", false },
	{ "192.168.255.255", false },
	{ "198.18.0.1", false },
	{ "198.19.255.255", false },
	{ "198.51.100.7", false },
	{ "203.0.113.7", false },
	{ "224.0.0.1", false },
	{ "239.255.255.255", false },
	{ "240.0.0.1", false },
	{ "255.255.255.255", false },
	{ "2606:4700::1111", true },
	{ "2001:4860::8", true },
	{ "2a00::1", true },
	{ "3ffe::1", true },
	{ "64:ff9b::808:808", true },
	{ "::", false },
	{ "::1", false },
	{ "::ffff:8.8.8.8", false },
	{ "::ffff:127.0.0.1", false },
	{ "::127.0.0.1", false },
	{ "64:ff9b::a00:1", false },
	{ "64:ff9b::7f00:1", false },
	{ "64:ff9b:1::1", false },
	{ "100::1", false },
	{ "2001::1", false },
	{ "2001:1ff::1", false },
	{ "2001:db8::1", false },
	{ "2002:808:808::1", false },
	{ "3fff::1", false },
	{ "3fff:fff::1", false },
	{ "4000::1", false },
	{ "5f00::1", false },
	{ "fc00::1", false },
	{ "fdff::1", false },
	{ "fe80::1", false },
	{ "fec0::1", false },
	{ "ff02::1", false },
};

START_TEST(addresses_are_judged)
{
	for (size_t i = 0; i < COUNT(addresses); i++) {
		int family = strchr(addresses[i].text, ':') ? AF_INET6 : AF_INET;
		uint8_t at[16];

		ck_assert_int_eq(inet_pton(family, addresses[i].text, at), 1);
		ck_assert_msg(address_is_public(family, at) == addresses[i].public, "%s",
			      addresses[i].text);
	}
}
END_TEST

static struct head head;
static struct egress_row row;
static struct connection c = { .row = &row };

static int parse(const char *bytes, size_t length)
{
	memset(&head, 0, sizeof(head));
	memcpy(head.bytes, bytes, length);
	head.have = length;
	return head_parse(&c, &head);
}

START_TEST(a_head_is_read)
{
	static const char text[] = "POST HTTP://A.example?x=1 HTTP/1.0\r\n"
				   "host:a.EXAMPLE\r\nX-A:\t b c \t\r\nX-B:\r\n"
				   "Connection: close, te ,,\tUPGRADE\r\nX_C: 1\r\n"
				   "Content-Length: 007\r\nTE: trailers\r\n\r\nbody";
	static const char *const kept[] = { "X-A", "X-B", "X_C" };
	size_t end = strlen(text) - 4, sent = 0;

	for (size_t i = 0; i < end; i++)
		ck_assert_int_eq(parse(text, i), 0);
	ck_assert_int_eq(parse(text, strlen(text)), 1);
	ck_assert_uint_eq(head.length, end);
	ck_assert_str_eq(head.method, "POST");
	ck_assert_str_eq(head.version, "HTTP/1.0");
	ck_assert_str_eq(head.target, "/?x=1");
	ck_assert_str_eq(head.to.host, "a.example");
	ck_assert_uint_eq(head.to.port, 80);
	ck_assert_uint_eq(head.body_bytes, 7);
	for (size_t i = 0; i < head.fields; i++)
		if (!head.field[i].dropped) {
			ck_assert_uint_lt(sent, COUNT(kept));
			ck_assert_str_eq(head.field[i].name, kept[sent++]);
		}
	ck_assert_uint_eq(sent, COUNT(kept));
	head_drop(&head, "x-C");
	ck_assert(head.field[4].dropped && !head.field[2].dropped);
	ck_assert_str_eq(head.field[1].value, "b c");
	ck_assert_str_eq(head.field[2].value, "");
	ck_assert_int_eq(parse("GET http://a.b:81 HTTP/1.1\r\n\r\n", 30), 1);
	ck_assert_str_eq(head.target, "/");
	ck_assert_uint_eq(head.to.port, 81);
	ck_assert_int_eq(parse("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", 30), 1);
	ck_assert_ptr_null(head.target);
	ck_assert_str_eq(head.to.host, "::1");
}
END_TEST

START_TEST(what_is_odd_is_refused)
{
	static const struct {
		const char *text;
		size_t length; /* 0: of the string */
		int status;
	} rows[] = {
		{ "\r\n\r\n", 0, 400 },
		{ "GET\r\n\r\n", 0, 400 },
		{ "GET / HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET https://a.b/ HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/2\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1 \r\n\r\n", 0, 400 },
		{ "GET  http://a.b/ HTTP/1.1\r\n\r\n", 0, 400 },
		{ "get http://a.b/ HTTP/1.1\r\n\r\n", 0, 400 },
		{ " http://a.b/ HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET http:///x HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET http://a.b/#x HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET http://a.b/\x80 HTTP/1.1\r\n\r\n", 0, 400 },
		{ "GET http://a.b/\0 HTTP/1.1\r\n\r\n", 29, 400 },
		{ "GET http://a.b/ HTTP/1.1\n\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA: b\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA: b\rc\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA: \x7f\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA : b\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\n A: b\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\n: b\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nHost: c.d\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nHost: \r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nHost: c\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nA: \x80\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nConnection: A\r\n\r\n", 0, 400 },
		{ "GET http://a.b/ HTTP/1.1\r\nConnection: close, Host\r\n\r\n", 0, 400 },
		{ "TRACE http://a.b/ HTTP/1.1\r\n\r\n", 0, 405 },
		{ "TRACK http://a.b/ HTTP/1.1\r\n\r\n", 0, 405 },
		{ "PUT http://a.b/ HTTP/1.1\r\nContent-Length: x\r\n\r\n", 0, 400 },
		{ "PUT http://a.b/ HTTP/1.1\r\nContent-Length: \r\n\r\n", 0, 400 },
		{ "PUT http://a.b/ HTTP/1.1\r\nContent-Length: 1 2\r\n\r\n", 0, 400 },
		{ "PUT http://a.b/ HTTP/1.1\r\nContent-Length: 9999999999999999\r\n\r\n",
		  0, 400 },
		{ "PUT http://a.b/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		  0, 400 },
		{ "PUT http://a.b/ HTTP/1.1\r\nTransfer-encoding: chunked\r\n\r\n", 0,
		  411 },
		{ "CONNECT a.b HTTP/1.1\r\n\r\n", 0, 400 },
		{ "CONNECT http://a.b:443/ HTTP/1.1\r\n\r\n", 0, 400 },
	};
	char many[4096] = "GET http://a.b/ HTTP/1.1\r\n", *at = many + strlen(many);

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);

		ck_assert_msg(parse(rows[i].text, length) == -1, "%zu: %s", i,
			      rows[i].text);
		ck_assert_int_eq(c.status, rows[i].status);
		ck_assert_uint_eq(row.end, EGRESS_INVALID);
		ck_assert(c.words[0]);
	}
	for (int i = 0; i <= HEAD_FIELDS; i++)
		at += sprintf(at, "A: b\r\n");
	(void)strcpy(at, "\r\n");
	ck_assert_int_eq(parse(many, strlen(many)), -1);
	ck_assert_int_eq(c.status, 431);
	memset(&head, 'a', HEAD_MAX);
	head.have = HEAD_MAX;
	ck_assert_int_eq(head_parse(&c, &head), -1);
	ck_assert_int_eq(c.status, 431);
}
END_TEST

/* a ClientHello of TLS 1.2 with one extension */
static size_t make_hello(unsigned char *to, const unsigned char *extension, size_t length)
{
	size_t hello = 2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + length, at = 0;
	const unsigned char head_bytes[] = { 22,
					     3,
					     1,
					     (unsigned char)((hello + 4) >> 8),
					     (unsigned char)(hello + 4),
					     1,
					     0,
					     (unsigned char)(hello >> 8),
					     (unsigned char)hello,
					     3,
					     3 };

	memcpy(to, head_bytes, sizeof(head_bytes));
	at = sizeof(head_bytes);
	memset(to + at, 7, 32);
	at += 32;
	memcpy(to + at, (const unsigned char[]){ 0, 0, 2, 0xc0, 0x2f, 1, 0 }, 7);
	at += 7;
	to[at++] = (unsigned char)(length >> 8);
	to[at++] = (unsigned char)length;
	memcpy(to + at, extension, length);
	return at + length;
}

START_TEST(the_name_of_tls_is_found)
{
	static const unsigned char sni[] = { 0, 0,   0,   11,  0,   9,   0,  0,
					     6, 'A', '.', 'b', 'X', '-', '1' };
	static const unsigned char two[] = { 0, 0,   0, 11, 0, 9,   0,  0,
					     1, 'a', 0, 0,  2, 'b', 'c' };
	static const unsigned char nul[] = { 0, 0, 0, 8, 0, 6, 0, 0, 3, 'a', 0, 'b' };
	unsigned char bytes[600];
	char name[PLACE_HOST_MAX];
	size_t length = make_hello(bytes, sni, sizeof(sni));

	ck_assert_int_eq(tls_name(&c, bytes, 0, name), 0);
	for (size_t i = 0; i < length - 1; i++)
		ck_assert_int_eq(tls_name(&c, bytes + i, 1, name), 0);
	ck_assert_int_eq(tls_name(&c, bytes + length - 1, 1, name), 1);
	ck_assert_str_eq(name, "a.bx-1");
	ck_assert_int_eq(tls_name(&c, bytes, length, name), 1);
	ck_assert_str_eq(name, "a.bx-1");
	ck_assert_int_eq(tls_name(&c, bytes, make_hello(bytes, sni, 0), name), 1);
	ck_assert_str_eq(name, "");
	ck_assert_int_eq(tls_name(&c, bytes, make_hello(bytes, two, sizeof(two)), name),
			 -1);
	ck_assert_int_eq(tls_name(&c, bytes, make_hello(bytes, nul, sizeof(nul)), name),
			 -1);
	ck_assert_int_eq(
		tls_name(&c, (const unsigned char *)"GET / HTTP/1.1\r\n", 16, name), -1);
	ck_assert_ptr_null(c.hello);
}
END_TEST

static double cpu_seconds(void)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What comes a byte at a time is read once: a head, and a ClientHello of many records.
 * Anew for each byte they took 0.6 and 4 seconds. */
START_TEST(bytes_are_read_once)
{
	static unsigned char hello[70000], records[70000];
	unsigned char extension[16000] = { 0xfa, 0xfa, 15996 >> 8, 15996 & 255 };
	size_t length = make_hello(hello, extension, sizeof(extension)), have = 0;
	char name[PLACE_HOST_MAX];
	double start = cpu_seconds();

	memset(&head, 0, sizeof(head));
	(void)strcpy(head.bytes, "GET http://a.b/");
	memset(head.bytes + 15, 'a', HEAD_MAX - 15);
	for (head.have = 1; head.have < HEAD_MAX; head.have++)
		ck_assert_int_eq(head_parse(&c, &head), 0);
	ck_assert_double_lt(cpu_seconds() - start, 0.25);
	/* the hello, in records of few bytes */
	for (size_t at = 5; at < length;) {
		size_t n = length - at < 128 ? length - at : 128;

		memcpy(records + have, (unsigned char[]){ 22, 3, 1, 0, (unsigned char)n },
		       5);
		memcpy(records + have + 5, hello + at, n);
		have += 5 + n;
		at += n;
	}
	start = cpu_seconds();
	for (size_t i = 0; i < have - 1; i++)
		ck_assert_int_eq(tls_name(&c, records + i, 1, name), 0);
	ck_assert_int_eq(tls_name(&c, records + have - 1, 1, name), 1);
	ck_assert_str_eq(name, "");
	ck_assert_double_lt(cpu_seconds() - start, 0.5);
}
END_TEST

#define HOSTS ",\"egress\":{\"hosts\":["
#define ROW                                                                              \
	"{\"host\":\"a?*?b\",\"port\":80,\"allowed\":false,"                             \
	"\"times\":%d,\"failed\":%d,\"sent\":0,\"received\":0,"                          \
	"\"why\":\"no --allow-host names it\"}"
#define END                                                                              \
	"],\"more\":%d,\"bypass\":%d,"                                                   \
	"\"proxy\":{\"landlock_abi\":0}}"

/* a file of counts, or its next words */
static void write_counts(int *fd, const char *text)
{
	if (*fd < 0)
		*fd = memfd_create("counts", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(*fd, 0), 0);
	ck_assert_int_eq(pwrite(*fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* as Linux writes it */
static void write_snmp(struct egress *g, unsigned int no_route, unsigned int no_port)
{
	char text[1000];

	(void)snprintf(
		text, sizeof(text),
		"Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout\n"
		"Ip: 1 64 3 0 0 0 0 0 9 10 11 %u 13\n"
		"Icmp: InMsgs InErrors\nIcmp: 77 78\nIcmpMsg: InType3\nIcmpMsg: 4\n"
		"Tcp: RtoAlgorithm MaxConn\nTcp: 1 -1\n"
		"Udp: InDatagrams NoPorts InErrors\nUdp: 55 %u 56\n"
		"UdpLite: InDatagrams NoPorts InErrors\nUdpLite: 7 8 9\n",
		no_route, no_port);
	write_counts(&g->fd[EGRESS_SNMP], text);
}

START_TEST(the_log_is_printed)
{
	static struct egress_log log, seen;
	static char text[100000], expected[2000];
	struct egress g = EGRESS_NONE;
	FILE *out = fmemopen(text, sizeof(text), "w");

	/* whatever a proxy writes */
	memset(&log, 0xff, sizeof(log));
	g.map = &log;
	egress_print(&g, NULL, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_ptr_nonnull(
		strstr(text, "\"why\":\"its process ended before it did\""));
	log = (struct egress_log){ .rows = 1 };
	log.row[0] = (struct egress_row){
		{ "a\x01*\"b", 80, false }, EGRESS_UNLISTED, 3, 3, 0, 0
	};
	out = fmemopen(text, sizeof(text), "w");
	egress_print(&g, &seen, out);
	log.row[0].times = 5;
	log.row[0].failed = 4;
	log.more = 2;
	write_snmp(&g, 12, 5);
	egress_print(&g, &seen, out);
	write_snmp(&g, 13, 5);
	write_counts(&g.fd[EGRESS_SNMP + 1],
		     "Ip6InReceives  \t8\nIp6OutNoRoutes    \t20\nUdp6NoPorts \t40\n");
	egress_print(&g, &seen, out);
	egress_print(&g, &seen, out);
	g.map = NULL;
	egress_print(&g, NULL, out);
	egress_print(NULL, NULL, out);
	ck_assert_int_eq(fclose(out), 0);
	(void)snprintf(expected, sizeof(expected),
		       HOSTS ROW END HOSTS ROW END HOSTS END HOSTS END
		       ",\"egress\":null,\"egress\":null",
		       3, 3, 0, 0, 2, 1, 2, 17, 0, 61, 0, 0);
	ck_assert_str_eq(text, expected);
	for (size_t i = 0; i < EGRESS_ENDS; i++)
		ck_assert((egress_words[i].why != NULL) == (i != EGRESS_DONE));
	egress_end(&g);
}
END_TEST

Suite *jail_egress_suite(void)
{
	Suite *s = suite_create("jail/egress");
	TCase *t = tcase_create("egress");

	tcase_add_test(t, addresses_are_judged);
	tcase_add_test(t, a_head_is_read);
	tcase_add_test(t, what_is_odd_is_refused);
	tcase_add_test(t, the_name_of_tls_is_found);
	tcase_add_test(t, bytes_are_read_once);
	tcase_add_test(t, the_log_is_printed);
	suite_add_tcase(s, t);
	return s;
}
