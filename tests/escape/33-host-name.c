/* learn the name of the host | UTS namespace | other-name */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/utsname.h>

/* argv: the host's name and domain name */
int main(int argc, char **argv)
{
	struct utsname name;
	char text[256] = "";
	int fd = open("/proc/sys/kernel/hostname", O_RDONLY);

	if (argc < 3 || uname(&name) < 0)
		attack_lacks("names");
	(void)!read(fd, text, sizeof(text) - 1);
	door_word("host name", strcmp(name.nodename, argv[1]) == 0, "other-name");
	door_word("domain name", strcmp(name.domainname, argv[2]) == 0, "other-name");
	door_word("sysctl", strncmp(text, argv[1], strlen(argv[1])) == 0, "other-name");
	return attack_end();
}
