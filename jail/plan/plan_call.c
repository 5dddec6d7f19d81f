/* SPDX-License-Identifier: MIT */
/*
 * plan_call.c - system calls that a policy allows, from the values of --allow-syscall:
 * see plan.h
 */
#include <stdlib.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "jail/plan/call.h"

/* A number of 32 bits: the filter compares no more of an argument. */
static int parse_value(const char *text, uint32_t *value, struct err *e)
{
	char *end;
	unsigned long long n;

	errno = 0;
	/* base 0 would read a number with a leading zero as octal */
	n = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > UINT32_MAX)
		return err_say(e, EINVAL, "'%s' is no number of 32 bits", text);
	*value = (uint32_t)n;
	return 0;
}

static int find_number(struct plan_call *call, const char *spec, char *name, size_t size,
		       struct err *e)
{
	size_t n = strcspn(spec, "=");

	if (n < size) {
		memcpy(name, spec, n);
		name[n] = '\0';
		call->nr = call_number(name);
	}
	if (n >= size || call->nr < 0)
		return err_say(e, EINVAL, "no system call is named '%.*s'",
			       n > 64 ? 64 : (int)n, spec);
	return 0;
}

static int find_value(struct plan_call *call, const char *spec, const char *name,
		      struct err *e)
{
	const char *value = strchr(spec, '=');

	call->arg = call_telling(name);
	if (call->arg < 0 && value)
		return err_say(e, EINVAL, "%s is allowed as a whole: leave the value out",
			       name);
	if (call->arg >= 0 && !value)
		return err_say(
			e, EINVAL,
			"%s is allowed for one value of its argument %d alone: %s=VALUE",
			name, call->arg, name);
	return value ? parse_value(value + 1, &call->value, e) : 0;
}

int plan_add_call(struct plan *p, const char *spec, struct err *e)
{
	struct plan_call call = { .spec = spec };
	struct seccomp_data data = { .arch = CALL_NATIVE };
	char name[32];
	int r = find_number(&call, spec, name, sizeof(name), e);

	if (r == 0)
		r = find_value(&call, spec, name, e);
	if (r < 0)
		return r;
	data.nr = call.nr;
	if (call.arg >= 0)
		data.args[call.arg] = call.value;

	for (const struct refused_row *row = NULL;
	     (row = call_refused(&data, false, row));)
		if (row->barred)
			return err_say(e, EPERM, "no policy may allow %s: %s", spec,
				       row->why);
	for (size_t i = 0; i < p->call_count; i++)
		if (p->call[i].nr == call.nr && p->call[i].value == call.value)
			return 0;
	if (p->call_count == PLAN_CALLS_MAX)
		return err_say(e, E2BIG, "more than %d calls", PLAN_CALLS_MAX);
	p->call[p->call_count++] = call;
	return 0;
}

int plan_check_calls(const struct plan *p, struct err *e)
{
	for (size_t i = 0; p->lock_code == LOCK_YES && i < p->call_count; i++)
		for (size_t k = 0; k < locked_row_count; k++)
			if (call_number(locked_rows[k].syscall) == p->call[i].nr)
				return err_say(
					e, EINVAL,
					"--allow-syscall: %s is what --lock-code refuses: use --lock-code=no",
					p->call[i].spec);
	return 0;
}
