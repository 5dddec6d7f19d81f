/* SPDX-License-Identifier: MIT */
/*
 * unwall_init.c - the same for init: it stays dumpable if STEPJAIL_WITHOUT says so
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		 unsigned long d);
int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...)
{
	const char *words = getenv("STEPJAIL_WITHOUT");
	unsigned long a[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_DUMPABLE && words && strstr(words, "dumpable"))
		return 0;
	return __real_prctl(option, a[0], a[1], a[2], a[3]);
}
