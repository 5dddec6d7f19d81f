/* SPDX-License-Identifier: MIT */
/*
 * without.c - be root without some capabilities: without NAME,NAME PROGRAM [ARGS]
 *
 * They leave the bounding set, so that the exec does not give them back.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/capability.h>

static const struct {
	const char *name;
	unsigned long number;
} capabilities[] = {
	{ "chown", CAP_CHOWN },
	{ "dac_override", CAP_DAC_OVERRIDE },
	{ "dac_read_search", CAP_DAC_READ_SEARCH },
	{ "kill", CAP_KILL },
	{ "mknod", CAP_MKNOD },
	{ "net_admin", CAP_NET_ADMIN },
	{ "setgid", CAP_SETGID },
	{ "setpcap", CAP_SETPCAP },
	{ "setuid", CAP_SETUID },
	{ "sys_admin", CAP_SYS_ADMIN },
	{ "sys_chroot", CAP_SYS_CHROOT },
	{ "sys_ptrace", CAP_SYS_PTRACE },
	{ "sys_resource", CAP_SYS_RESOURCE },
};
#define COUNT (sizeof(capabilities) / sizeof(capabilities[0]))

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("without NAME,NAME PROGRAM [ARGS]\n", stderr);
		return 3;
	}
	for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
		size_t i = 0;

		while (i < COUNT && strcmp(name, capabilities[i].name) != 0)
			i++;
		if (i == COUNT || prctl(PR_CAPBSET_DROP, capabilities[i].number) < 0) {
			perror(name);
			return 3;
		}
	}
	(void)execv(argv[2], argv + 2);
	perror(argv[2]);
	return 3;
}
