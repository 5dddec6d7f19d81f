/* SPDX-License-Identifier: MIT */
/*
 * limits.c - limits of config.json: see bundle.h
 *
 * What is higher than a jail can have becomes the highest that it can have: a lower limit
 * gives no more than was asked for.
 */
#include <string.h>
#include <sys/resource.h>

#include "jail/oci/bundle.h"

#define MEMORY_MIN 0x1p22
#define SIZE_MAXIMUM 0x1p40
#define PIDS_MAX 1000000
#define FILES_MIN 8
#define FILES_MAX 1048576
#define CPUS_MIN 0.01
#define CPUS_MAX 1024
#define PERIOD_DEFAULT 100000 /* microseconds, as quota */
/* of shares, as the kernel has them in cgroup v1, and of weights */
#define SHARES_MIN 2
#define SHARES_MAX 262144
#define WEIGHT_MAX 10000

static double within(double low, double n, double high)
{
	return n < low ? low : n > high ? high : n;
}

int bundle_rlimit(struct bundle *b, const cJSON *value, struct err *e)
{
	static const char *const ignored[] = { "RLIMIT_NPROC", "RLIMIT_CORE", NULL };
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(value, "soft");
	const char *name = bundle_text(value, "type");
	struct rlimit own = { .rlim_max = FILES_MAX };
	double soft;

	if (!cJSON_IsNumber(number))
		return err_say(e, EINVAL, "soft is no number");
	soft = number->valuedouble;
	(void)getrlimit(RLIMIT_NOFILE, &own);
	if (strcmp(name, "RLIMIT_NOFILE") == 0)
		words_put(&b->options, "files", "%.0f",
			  within(FILES_MIN, soft,
				 within(FILES_MIN, (double)own.rlim_max, FILES_MAX)));
	else if (soft >= SIZE_MAXIMUM || bundle_is_listed(name, ignored))
		return 0; /* none, or as good as none */
	else if (strcmp(name, "RLIMIT_FSIZE") == 0)
		words_put(&b->options, "file-size", "%.0f",
			  within(0, soft, SIZE_MAXIMUM));
	else if (strcmp(name, "RLIMIT_CPU") == 0)
		words_put(&b->options, "cpu-time", "%.0f", within(1, soft, INT_MAX));
	else
		return err_say(e, EPERM, "%s is refused: a jail cannot keep it", name);
	return 0;
}

/* a member of linux.resources, whichever comes first; 0 where it is not there */
static double read_number(const struct bundle *b, const char *part, const char *name)
{
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(b->config, "linux");

	at = cJSON_GetObjectItemCaseSensitive(at, "resources");
	at = cJSON_GetObjectItemCaseSensitive(at, part);
	at = cJSON_GetObjectItemCaseSensitive(at, name);
	return cJSON_IsNumber(at) ? at->valuedouble : 0;
}

int bundle_limits(struct bundle *b, const cJSON *value, struct err *e)
{
	/* -1 for none, which a jail always has; swap is both together */
	double memory = read_number(b, "memory", "limit");
	double both = read_number(b, "memory", "swap");
	double period = read_number(b, "cpu", "period");
	double quota = read_number(b, "cpu", "quota");
	double shares = read_number(b, "cpu", "shares");
	double pids = read_number(b, "pids", "limit");

	if (!cJSON_IsNumber(value))
		return err_say(e, EINVAL, "it is no number");
	if (memory > 0)
		words_put(&b->options, "memory", "%.0f",
			  within(MEMORY_MIN, memory, SIZE_MAXIMUM));
	if (memory > 0 && both >= memory)
		words_put(&b->options, "swap", "%.0f",
			  within(0, both - memory, SIZE_MAXIMUM));
	if (shares > 0)
		words_put(
			&b->options, "cpu-weight", "%d",
			(int)(1 + (within(SHARES_MIN, shares, SHARES_MAX) - SHARES_MIN) *
					  (WEIGHT_MAX - 1) / (SHARES_MAX - SHARES_MIN)));
	if (quota > 0)
		words_put(&b->options, "cpus", "%.3f",
			  within(CPUS_MIN, quota / (period > 0 ? period : PERIOD_DEFAULT),
				 CPUS_MAX));
	if (pids > 0)
		words_put(&b->options, "pids", "%.0f", within(1, pids, PIDS_MAX));
	return 0;
}
