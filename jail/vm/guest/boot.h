/* SPDX-License-Identifier: MIT */
/*
 * boot.h - what a guest's PID 1 makes of the kernel that has started it
 *
 * What fails ends the guest, with a last line that tells the host why.
 */
#pragma once

#include <sys/types.h>

/** boot_fail() - End the guest: @what could not be done to @which, and errno */
_Noreturn void boot_fail(const char *what, const char *which);

/** boot_console() - Make fds 0 to 2 the console; nothing can be told before */
void boot_console(void);

/** boot_mount_all() - Mount what stepjail needs, and load the kernel's modules */
void boot_mount_all(void);

/** boot_network() - Give QEMU's own network device an address: see egress.c */
void boot_network(void);

/** boot_mount() - As mount(2), on a folder that is made */
void boot_mount(const char *type, const char *from, const char *at, unsigned long flags,
		const char *options);

/** boot_write() - Make a file of text, or write it into one */
void boot_write(const char *path, const char *text, mode_t mode);
