/* open files by handle, past all paths | seccomp, no capability | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mount.h>

int main(void)
{
	struct {
		struct file_handle h;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	int mount_id = 0, root;

	/* in a user namespace only a file system mounted there hands out files */
	if (!attack_on_the_machine())
		(void)mount("none", "/tmp", "tmpfs", 0, NULL);
	root = open("/tmp", O_RDONLY | O_DIRECTORY);
	door("name_to_handle_at",
	     name_to_handle_at(AT_FDCWD, "/tmp", &handle.h, &mount_id, 0));
	door("open_by_handle_at", open_by_handle_at(root, &handle.h, O_RDONLY));
	return attack_end();
}
