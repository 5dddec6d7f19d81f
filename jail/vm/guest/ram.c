/* SPDX-License-Identifier: MIT */
/*
 * ram.c - QEMU opens a template's memory to read it
 *
 * A clone maps the file privately, for which it need not be writable; but QEMU before 8.2
 * opens every file of memory for writing. The jail that it is in shows this one read-only
 * whatever is asked for: this library, which its loader takes first, only makes QEMU ask
 * for no more. It is no wall.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEMPLATE "/vm/ram"

/* in place of libc's, see open(2); the second is what fortified programs call */
int open64(const char *path, int flags, ...);
int __open64_2(const char *path, int flags);

static int open_file(const char *path, int flags, int mode)
{
	if (strcmp(path, TEMPLATE) == 0)
		flags = (flags & ~(O_ACCMODE | O_CREAT)) | O_RDONLY;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list values;
	int mode;

	va_start(values, flags);
	mode = va_arg(values, int);
	va_end(values);
	return open_file(path, flags, mode);
}

int __open64_2(const char *path, int flags)
{
	return open_file(path, flags, 0);
}
