/* SPDX-License-Identifier: MIT */
/*
 * plan_io.c - limits of disks, from the values of --io-max: see plan.h
 */
#include <string.h>

#include "jail/plan/plan.h"
#include "jail/plan/value.h"

#define BLANKS " \t"
#define T (1ULL << 40)

/* io.max keeps operations in 32 bits, of which all ones mean no limit */
static const struct {
	const char *key;
	enum value_kind kind;
	uint64_t max;
} rates[RATE_COUNT] = {
	[RATE_RBPS] = { "rbps=", VALUE_SIZE, T },
	[RATE_WBPS] = { "wbps=", VALUE_SIZE, T },
	[RATE_RIOPS] = { "riops=", VALUE_COUNT, UINT32_MAX - 1 },
	[RATE_WIOPS] = { "wiops=", VALUE_COUNT, UINT32_MAX - 1 },
};

/* one "KEY=N" */
static int take_rate(struct plan_io *io, const char *word, struct err *e)
{
	for (size_t i = 0; i < RATE_COUNT; i++) {
		size_t n = strlen(rates[i].key);
		int r;

		if (strncmp(word, rates[i].key, n) != 0)
			continue;
		if (io->rate[i] != NO_LIMIT)
			return err_say(e, EEXIST, "'%s': %s is given twice", io->spec,
				       rates[i].key);
		r = value_parse(rates[i].kind, word + n, &io->rate[i], e);
		if (r == 0 && (io->rate[i] == 0 || io->rate[i] > rates[i].max))
			r = err_say(e, ERANGE,
				    "'%s' is not between 1 and what io.max holds", word);
		return r;
	}
	return err_say(e, EINVAL,
		       "'%s' is not rbps=, wbps=, riops= or wiops= and a number", word);
}

int plan_add_io(struct plan *p, const char *spec, struct err *e)
{
	const char *at = spec + strcspn(spec, BLANKS);
	struct plan_io io = { .spec = spec, .device_length = (int)(at - spec) };
	size_t slot = 0;

	for (size_t i = 0; i < RATE_COUNT; i++)
		io.rate[i] = NO_LIMIT;
	at += strspn(at, BLANKS);
	if (io.device_length == 0 || *at == '\0')
		return err_say(
			e, EINVAL,
			"'%s' must be a device and its limits, as in '/var/tmp wbps=8M wiops=200'",
			spec);
	while (slot < p->io_count &&
	       strncmp(p->io[slot].spec, spec, (size_t)io.device_length + 1) != 0)
		slot++;
	if (slot == PLAN_IO_MAX)
		return err_say(e, E2BIG, "more than %d devices", PLAN_IO_MAX);
	while (*at) {
		char word[64];
		size_t n = strcspn(at, BLANKS);

		if (n >= sizeof(word))
			return err_say(e, EINVAL, "'%s' is too long", at);
		memcpy(word, at, n);
		word[n] = '\0';

		int r = take_rate(&io, word, e);

		if (r < 0)
			return r;
		at += n + strspn(at + n, BLANKS);
	}
	p->io[slot] = io;
	p->io_count += slot == p->io_count;
	return 0;
}
