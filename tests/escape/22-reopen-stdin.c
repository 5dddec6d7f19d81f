/* write to a file that was given as read-only stdin | Landlock, ids of its own | EACCES
 * ENOSYS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/openat2.h>

int main(void)
{
	struct open_how how = { .flags = O_WRONLY };

	door("write(0)", write(0, "x", 1) < 0 ? (errno = EACCES, -1) : 0);
	door("reopen for writing", open("/proc/self/fd/0", O_WRONLY));
	door("for both", open("/proc/self/fd/0", O_RDWR | O_APPEND));
	door("/dev/stdin", open("/dev/stdin", O_WRONLY));
	door("truncating", open("/proc/self/fd/0", O_RDONLY | O_TRUNC));
	door("truncate", truncate("/proc/self/fd/0", 0));
	door("openat2",
	     syscall(SYS_openat2, AT_FDCWD, "/proc/self/fd/0", &how, sizeof(how)));
	return attack_end();
}
