/* SPDX-License-Identifier: MIT */
/*
 * timestamp.c - read a time that a user wrote: see timestamp.h, ISO 8601
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jail/plan/timestamp.h"

#define LAST 7258118399ULL /* second of the year 2199 */

/* Has the text digits where the form has 0, and is it the same everywhere else? */
static bool looks_like(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	return *text == '\0';
}

int timestamp_parse(const char *text, uint64_t *seconds, struct err *e)
{
	struct tm day = { .tm_mday = 0 };
	size_t digits = strspn(text, "0123456789");

	if (digits > 0 && text[digits] == '\0') {
		*seconds = digits > 10 ? UINT64_MAX : strtoull(text, NULL, 10);
	} else if (looks_like(text, "0000-00-00") ||
		   looks_like(text, "0000-00-00T00:00:00Z")) {
		const char *form = text[10] ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d";
		const char *end = strptime(text, form, &day);
		struct tm same = day;
		time_t t = timegm(&same);

		/* timegm(3) turns a day or second that does not exist into another one */
		if (!end || same.tm_mday != day.tm_mday || same.tm_sec != day.tm_sec)
			return err_say(e, EINVAL, "'%s' is not in the calendar", text);
		*seconds = t < 0 ? UINT64_MAX : (uint64_t)t;
	} else {
		return err_say(
			e, EINVAL,
			"'%s' must be of the form 2024-02-29T12:00:00Z, 2024-02-29, or seconds since 1970",
			text);
	}
	if (*seconds > LAST)
		return err_say(e, ERANGE, "'%s' is not between 1970 and 2199", text);
	return 0;
}
