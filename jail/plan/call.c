/* SPDX-License-Identifier: MIT */
/*
 * call.c - a system call in words: see call.h
 */
#include <string.h>

#include "jail/plan/call.h"

#include "syscall_names.h"

#define X32_BIT 0x40000000u

static const struct {
	uint32_t number;
	const char *name;
} archs[] = {
	{ AUDIT_ARCH_X86_64, "x86_64" },
	{ AUDIT_ARCH_I386, "i386" },
	{ AUDIT_ARCH_AARCH64, "aarch64" },
	{ AUDIT_ARCH_ARM, "arm" },
};

const char *call_arch(const struct seccomp_data *data)
{
	if (data->arch == AUDIT_ARCH_X86_64 && ((uint32_t)data->nr & X32_BIT))
		return "x32";
	for (size_t i = 0; i < COUNT(archs); i++)
		if (archs[i].number == data->arch)
			return archs[i].name;
	return "unknown";
}

const char *call_name(const struct seccomp_data *data)
{
	/* x32 has the numbers of x86-64, but for a few at its end */
	uint32_t nr =
		(uint32_t)data->nr & ~(data->arch == AUDIT_ARCH_X86_64 ? X32_BIT : 0);

	if (data->arch == CALL_NATIVE)
		return nr < COUNT(names_native) ? names_native[nr] : NULL;
	return nr < COUNT(names_compat) ? names_compat[nr] : NULL;
}

int call_telling(const char *name)
{
	static const struct {
		const char *name;
		int arg;
	} telling[] = {
		{ "ioctl", 1 },        { "prctl", 0 },       { "socket", 0 },
		{ "socketpair", 0 },   { "personality", 0 }, { "clone", 0 },
		{ "memfd_create", 1 }, { "madvise", 2 },
	};

	for (size_t i = 0; i < COUNT(telling); i++)
		if (strcmp(telling[i].name, name) == 0)
			return telling[i].arg;
	return -1;
}

int call_number(const char *name)
{
	for (size_t i = 0; i < COUNT(names_native); i++)
		if (names_native[i] && strcmp(names_native[i], name) == 0)
			return (int)i;
	return -1;
}

bool call_foreign(const struct seccomp_data *data)
{
	return data->arch != CALL_NATIVE || strcmp(call_arch(data), "x32") == 0;
}

static bool speaks_of(const struct refused_row *row, const char *name,
		      const struct seccomp_data *data)
{
	uint32_t arg = (uint32_t)data->args[row->arg];

	if (strcmp(row->syscall, name) != 0)
		return false;
	switch (row->when) {
	case REFUSED_EQ:
		return arg == row->value;
	case REFUSED_BIT:
		return (arg & row->value) != 0;
	case REFUSED_MIXED:
		return (arg & row->value) != 0 && arg != UINT32_MAX;
	default:
		return true;
	}
}

const struct refused_row *call_refused(const struct seccomp_data *data, bool locked,
				       const struct refused_row *after)
{
	const char *name = call_foreign(data) ? NULL : call_name(data);
	/* the lock's rows come first: without the lock, these calls may be allowed */
	size_t locks = locked ? locked_row_count : 0;
	bool found = after == NULL;

	for (size_t i = 0; name && i < locks + refused_row_count; i++) {
		const struct refused_row *row =
			i < locks ? &locked_rows[i] : &refused_rows[i - locks];

		if (found && speaks_of(row, name, data))
			return row;
		found = found || row == after;
	}
	return NULL;
}
