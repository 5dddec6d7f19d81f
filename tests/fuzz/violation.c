/* SPDX-License-Identifier: MIT */
/*
 * violation.c - any refused calls at the listener, up to the report and --learn's policy
 *
 * The listener itself is played here: what it tells are the input's records, and whatever
 * they are, each answer must be EPERM and nothing else.
 *
 * The first byte: bit 0 --lock-code, bit 1 --on-violation kill, bit 2 a listener that is
 * interrupted, bit 3 one whose calls are withdrawn. A record: what entry it came through,
 * two bytes of its number, the milliseconds since the one before, which of its arguments
 * have four bytes each behind it.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "jail/watch/violation.h"
#include "tests/fuzz/policy.h"

static struct {
	const uint8_t *at, *end;
	uint8_t flags;
	uint64_t id, answered, received, now_ms;
	bool interrupt;
} host;

static uint32_t take(size_t bytes)
{
	uint32_t value = 0;

	for (size_t i = 0; i < bytes && host.at < host.end; i++)
		value |= (uint32_t)*host.at++ << (8 * i);
	return value;
}

static int receive(struct seccomp_notif *n)
{
	static const uint32_t archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386,
					  AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM };
	uint32_t entry = take(1), args;

	n->data.arch = entry < 0xf0 ? archs[entry / 2 % 4] : entry << 24;
	/* mostly there is such a call */
	n->data.nr = (int)(entry & 1 ? take(2) << 16 : 0) | (int)(take(2) % 600);
	host.now_ms += take(1);
	args = take(1);
	for (unsigned int i = 0; i < 6; i++)
		n->data.args[i] = args & (1u << i) ? take(4) : 0;
	/* the high half, which no filter compares */
	n->data.args[1] |= (uint64_t)(args >> 6) << 40;
	n->id = ++host.id;
	n->pid = 1 + entry;
	host.received++;
	return 0;
}

static int answer(const struct seccomp_notif_resp *resp)
{
	HOLDS(resp->id == host.id && resp->error == -EPERM);
	HOLDS(resp->val == 0 && resp->flags == 0);
	host.answered++;
	return 0;
}

/* linked with --wrap=syscall */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long a[5];
	va_list ap;

	/* in registers, however many there are */
	va_start(ap, number);
	for (size_t i = 0; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number != SYS_ioctl || ((unsigned long)a[1] != SECCOMP_IOCTL_NOTIF_RECV &&
				    (unsigned long)a[1] != SECCOMP_IOCTL_NOTIF_SEND))
		return __real_syscall(number, a[0], a[1], a[2], a[3], a[4]);
	host.interrupt = !host.interrupt && (host.flags & 4);
	errno = host.interrupt ? EINTR : ENOENT;
	if (host.interrupt)
		return -1;
	if ((unsigned long)a[1] == SECCOMP_IOCTL_NOTIF_SEND)
		return host.flags & 8 ? -1 : answer((struct seccomp_notif_resp *)a[2]);
	return host.at < host.end ? receive((struct seccomp_notif *)a[2]) : -1;
}

static void check_report(const struct violations *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool any = false;

	HOLDS(out);
	violation_print(v, true, out);
	HOLDS(fclose(out) == 0);
	for (size_t i = 0; i < size; i++)
		HOLDS(text[i] >= ' ' && text[i] < 0x7f);

	cJSON *whole = cJSON_ParseWithLength(text, size);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(whole, "list"), *kind;
	uint64_t count = v->beyond;

	HOLDS(cJSON_IsArray(list) && cJSON_GetArraySize(list) == (int)v->kinds);
	cJSON_ArrayForEach(kind, list)
	{
		const cJSON *is = cJSON_GetObjectItemCaseSensitive(kind, "violation");

		count += (uint64_t)cJSON_GetNumberValue(
			cJSON_GetObjectItemCaseSensitive(kind, "count"));
		HOLDS(cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(kind, "syscall")));
		HOLDS(cJSON_IsBool(is));
		any = any || cJSON_IsTrue(is);
	}
	HOLDS(count == v->total && v->total == host.received);
	HOLDS((violation_name(v) != NULL) == any);
	cJSON_Delete(whole);
	free(text);
}

/* what is learned is a policy that parses, for the plan it was learned with */
static void check_learned(const struct violations *v, const struct plan *p)
{
	static struct plan learned;
	static char lock[2][16] = { "--lock-code=no", "--lock-code" };
	char *text = NULL, path[40];
	char *words[] = { (char *)(uintptr_t) "--policy", path,
			  lock[p->lock_code == LOCK_YES], NULL };
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct err e;
	int fd;

	HOLDS(out);
	violation_learn(v, p, out);
	HOLDS(fclose(out) == 0);
	fd = fuzz_file(text, size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (option_parse(&learned, words, &e) < 0) {
		(void)fprintf(stderr, "%s\n%s", e.text, text);
		abort();
	}
	(void)close(fd);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct plan plan;
	static struct violations v;

	if (size < 1 || size > 8192)
		return 0;
	(void)memset(&host, 0, sizeof(host));
	host.flags = bytes[0];
	host.at = bytes + 1;
	host.end = bytes + size;
	plan.lock_code = bytes[0] & 1 ? LOCK_YES : LOCK_NO;
	plan.on_violation = bytes[0] & 2 ? VIOLATION_KILL : VIOLATION_REFUSE;
	(void)memset(&v, 0, sizeof(v));
	v.fd = eventfd(1, EFD_CLOEXEC);
	HOLDS(v.fd >= 0);
	while (host.at < host.end) {
		uint64_t received = host.received - host.answered;
		int r;

		host.now_ms += violation_wait_ms(&v, host.now_ms);
		(void)violation_wait_ms(&v, host.now_ms);
		r = violation_serve(&v, &plan, host.now_ms);
		HOLDS(r == 0 || r == 1);
		if (r == 1)
			HOLDS(violation_name(&v) || v.beyond);
		/* a violation that kills is not answered, and the last one; all others
		 * are */
		if (!(bytes[0] & 8))
			HOLDS(host.received - host.answered - received ==
			      (r == 1 && plan.on_violation == VIOLATION_KILL));
		if (r == 1 && plan.on_violation == VIOLATION_KILL)
			break;
	}
	check_report(&v);
	check_learned(&v, &plan);
	(void)close(v.fd);
	return 0;
}
