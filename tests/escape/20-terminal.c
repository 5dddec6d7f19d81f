/* take the controlling terminal of the caller | setsid, seccomp | ENXIO EPERM ENOTTY */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/ioctl.h>
#include <termios.h>

int main(void)
{
	(void)signal(SIGHUP, SIG_IGN); /* what giving it up sends */
	if (!isatty(0))
		attack_lacks("a terminal");
	door("/dev/tty", open("/dev/tty", O_RDWR));
	door("foreground group", tcsetpgrp(0, getpgrp()));
	door("its session", tcgetsid(0));
	door("make it ours", ioctl(0, TIOCSCTTY, 1));
	door("give it up", ioctl(0, TIOCNOTTY));
	return attack_end();
}
