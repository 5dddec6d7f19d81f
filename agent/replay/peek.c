/* SPDX-License-Identifier: MIT */
/*
 * peek.c - the first line of a stranger's transcript: see peek.h
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "agent/record/read_transcript.h"
#include "agent/replay/peek.h"
#include "init/io.h"

/* what the child says first */
enum said { SAID_START = 's', SAID_NONE = 'n', SAID_ERROR = 'e' };

static void pack_number(uint64_t n, struct text *out)
{
	text_add(out, &n, sizeof(n));
}

static void pack_string(const char *s, struct text *out)
{
	pack_number(strlen(s), out);
	text_add(out, s, strlen(s));
}

void peek_pack(const cJSON *value, struct text *out)
{
	bool named = cJSON_IsObject(value);
	const char *type = named                   ? "o"
			   : cJSON_IsArray(value)  ? "a"
			   : cJSON_IsString(value) ? "s"
			   : cJSON_IsNumber(value) ? "d"
			   : cJSON_IsTrue(value)   ? "t"
			   : cJSON_IsFalse(value)  ? "f"
						   : "z";

	text_puts(out, type);
	if (*type == 's')
		pack_string(value->valuestring, out);
	if (*type == 'd')
		text_add(out, &value->valuedouble, sizeof(value->valuedouble));
	if (*type != 'o' && *type != 'a')
		return;
	pack_number((uint64_t)cJSON_GetArraySize(value), out);
	for (const cJSON *item = value->child; item; item = item->next) {
		if (named)
			pack_string(item->string ? item->string : "", out);
		peek_pack(item, out);
	}
}

/* bytes that are still to be taken; @at NULL once anything was wrong */
struct packed {
	const char *at, *end;
	size_t values;
};

static const char *take(struct packed *p, size_t length)
{
	const char *at = p->at;

	if (!at || length > (size_t)(p->end - at)) {
		p->at = NULL;
		return NULL;
	}
	p->at += length;
	return at;
}

static uint64_t take_number(struct packed *p)
{
	uint64_t n = 0;
	const char *at = take(p, sizeof(n));

	if (at)
		memcpy(&n, at, sizeof(n));
	return n;
}

/* a copy, or NULL */
static char *take_string(struct packed *p)
{
	uint64_t length = take_number(p);
	const char *at = take(p, length);
	char *copy = at && !memchr(at, '\0', length) ? strndup(at, length) : NULL;

	if (!copy)
		p->at = NULL;
	return copy;
}

static cJSON *take_text(struct packed *p)
{
	char *string = take_string(p);
	cJSON *value = string ? cJSON_CreateString(string) : NULL;

	free(string);
	return value;
}

static cJSON *take_value(struct packed *p, int depth);

static void take_items(struct packed *p, cJSON *into, int depth)
{
	for (uint64_t left = take_number(p); left && p->at; left--) {
		cleanup_free char *name = cJSON_IsObject(into) ? take_string(p) : NULL;
		cJSON *item = p->at ? take_value(p, depth - 1) : NULL;
		bool added = item && (name ? cJSON_AddItemToObject(into, name, item)
					   : cJSON_AddItemToArray(into, item));

		if (!added) {
			cJSON_Delete(item);
			p->at = NULL;
		}
	}
}

static cJSON *take_value(struct packed *p, int depth)
{
	const char *type = take(p, 1);
	double number = 0;
	cJSON *value = NULL;

	if (!type || depth == 0 || ++p->values > PEEK_VALUES_MAX) {
		p->at = NULL;
		return NULL;
	}
	if (*type == 'd') {
		const char *at = take(p, sizeof(number));

		if (at)
			memcpy(&number, at, sizeof(number));
	}
	switch (*type) {
	case 'o':
		value = cJSON_CreateObject();
		break;
	case 'a':
		value = cJSON_CreateArray();
		break;
	case 's':
		value = take_text(p);
		break;
	case 'd':
		value = cJSON_CreateNumber(number);
		break;
	case 't':
	case 'f':
		value = cJSON_CreateBool(*type == 't');
		break;
	case 'z':
		value = cJSON_CreateNull();
		break;
	default:
		break;
	}
	if (!value)
		p->at = NULL;
	else if (*type == 'o' || *type == 'a')
		take_items(p, value, depth);
	return value;
}

cJSON *peek_unpack(const char *bytes, size_t length)
{
	struct packed p = { .at = bytes, .end = bytes + length };
	cJSON *value = take_value(&p, PEEK_DEPTH_MAX);

	if (p.at == p.end)
		return value;
	cJSON_Delete(value);
	return NULL;
}

/* ---- the child */

static int take_start(void *arg, const char *event, const cJSON *line, struct err *e)
{
	struct text *out = arg;

	if (strcmp(event, "start") == 0 && !out->length) {
		text_add(out, &(char){ SAID_START }, 1);
		peek_pack(line, out);
	}
	return text_check(out, "the transcript's first line", e);
}

static int look(int fd, const char *path, struct text *out, struct err *e)
{
	const struct confine_policy nothing = { 0 };
	struct confine_facts facts;
	struct read_transcript reading;
	int r = confine_self(&nothing, &facts, e);

	if (r == 0)
		r = read_transcript_run(fd, take_start, out, &reading, e);
	if (r == 0 && reading.end == READ_TRANSCRIPT_CHANGED)
		r = err_say(e, EBADMSG,
			    "%s: line %" PRIu64
			    " does not fit: %s; only what was recorded is run again",
			    path, reading.chain.lines + 1, reading.why.text);
	return r;
}

__attribute__((noreturn)) static void be_child(int fd, int answer, const char *path,
					       pid_t parent)
{
	cleanup_text struct text out = { .max = PEEK_BYTES_MAX };
	struct err e = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* out of the way of 0 to 4 */
	int from = fcntl(fd, F_DUPFD_CLOEXEC, 5);
	int to = fcntl(answer, F_DUPFD_CLOEXEC, 5);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || null < 0 ||
	    from < 0 || to < 0)
		_exit(125);
	for (int i = 0; i <= 2; i++)
		(void)dup2(null, i);
	if (dup2(from, 3) < 0 || dup2(to, 4) < 0 || close_range(5, UINT_MAX, 0) < 0)
		_exit(125);
	if (look(3, path, &out, &e) < 0) {
		text_clear(&out);
		text_add(&out, &(char){ SAID_ERROR }, 1);
		text_puts(&out, e.text);
	} else if (!out.length) {
		text_add(&out, &(char){ SAID_NONE }, 1);
	}
	_exit(io_write_all(4, text_string(&out), out.length) < 0);
}

/* ---- its parent */

static int hear(int fd, struct stop *stop, struct text *said, struct err *e)
{
	char bytes[65536];
	ssize_t n = 1;

	while (n != 0) {
		struct pollfd polls[] = { { .fd = fd, .events = POLLIN },
					  { .fd = stop->fd, .events = POLLIN } };

		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return err_set(e, errno, "poll");
		if (stop_came(stop))
			return err_say(e, EINTR, "stopped by a signal");
		if (!polls[0].revents)
			continue;
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0)
			return err_set(e, errno, "who reads the transcript");
		text_add(said, bytes, (size_t)n);
		if (said->failed)
			return text_check(said, "the transcript's first line", e);
	}
	return 0;
}

static int understand(const struct text *said, cJSON **start, struct err *e)
{
	const char *bytes = text_string(said);

	if (*bytes == SAID_ERROR && said->length > 1)
		return err_say(e, EBADMSG, "%s", bytes + 1);
	if (*bytes == SAID_NONE && said->length == 1)
		return 0;
	if (*bytes == SAID_START)
		*start = peek_unpack(bytes + 1, said->length - 1);
	return cJSON_IsObject(*start)
		       ? 0
		       : err_say(e, EBADMSG, "who reads the transcript has died");
}

int peek_start(int fd, const char *path, struct stop *stop, cJSON **start, struct err *e)
{
	cleanup_text struct text said = { .max = PEEK_BYTES_MAX };
	cleanup_fd int ours = -1, theirs = -1;
	pid_t parent = getpid();
	int both[2];

	*start = NULL;
	if (pipe2(both, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe");
	ours = both[0];
	theirs = both[1];

	pid_t pid = fork();

	if (pid == 0)
		be_child(fd, theirs, path, parent);
	if (pid < 0)
		return err_set(e, errno, "fork");
	io_close_fd(&theirs);

	int r = hear(ours, stop, &said, e);

	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (r == 0)
		r = understand(&said, start, e);
	if (r < 0) {
		cJSON_Delete(*start);
		*start = NULL;
	}
	return r;
}
