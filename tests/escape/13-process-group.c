/* signal the process group of the caller | setsid | own-group */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* the runner looks whether another process of its group has ended */
int main(void)
{
	(void)signal(SIGUSR1, SIG_IGN);
	(void)kill(0, SIGUSR1);
	if (getpgrp() > 1) /* a group that cannot be seen has the number 0 */
		(void)kill(-getpgrp(), SIGUSR1);
	door_word("reach", false, "own-group");
	return attack_end();
}
