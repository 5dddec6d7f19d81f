/* open files without end, raise the limit | RLIMIT_NOFILE | EMFILE EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/resource.h>

/* argv: how many */
int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	struct rlimit limit;
	long made = 0;

	if (count <= 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		attack_lacks("a number");
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
	/* with the right to it, even the hard limit goes up */
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		door("the hard limit", 0);
	while (made < count && open("/dev/null", O_RDONLY) >= 0)
		made++;
	door("open files", made == count ? 0 : -1);
	return attack_end();
}
