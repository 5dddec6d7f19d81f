/* SPDX-License-Identifier: MIT */
/*
 * make.c - what a jail's maker hands to --hold for a helper: see call.h
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/helper/call.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* linux/memfd.h */
#endif

__asm__(".pushsection .rodata\nhelper:\n.incbin \"build/stepjail-helper\"\n"
	"helper_end:\n.popsection\n");
extern const char helper[], helper_end[];

static int make_file(void)
{
	cleanup_fd int fd = memfd_create("stepjail-helper", MFD_CLOEXEC | MFD_EXEC);
	int r;

	/* Linux before 6.3 knows no other */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("stepjail-helper", MFD_CLOEXEC);
	r = fd < 0 ? -errno
		   : io_write_all(fd, helper, (uintptr_t)helper_end - (uintptr_t)helper);
	/* who may execute it may not read it, so nobody in the jail traces it: execve(2)
	 */
	if (r == 0 && fchmod(fd, 0111) < 0)
		r = -errno;
	return r < 0 ? r : io_steal_fd(&fd);
}

int helper_make(int folder, const char *name, int *file, int *listener, struct err *e)
{
	const struct sockaddr_un at = helper_address(folder, name);

	*file = make_file();
	if (*file < 0)
		return err_set(
			e, -*file,
			"make the jail's helper (the sysctl vm.memfd_noexec may be 1 at most)");
	*listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*listener < 0 ||
	    bind(*listener, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(*listener, SOMAXCONN) < 0)
		return err_set(e, errno, "make the socket of the jail's helper");
	return 0;
}

struct sockaddr_un helper_address(int folder, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", folder,
		       name);
	return at;
}
