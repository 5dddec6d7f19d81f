/* SPDX-License-Identifier: MIT */
/*
 * probe_terminal.c - the terminal of the caller, given as stdin
 */
#include "tests/escape/scene.h"

#include <sys/ioctl.h>
#include <termios.h>

#define TIOCLINUX_PASTE 3

static void need_terminal(void)
{
	if (!isatty(0))
		probe_lacks("a terminal");
}

/* where it controls us, what we type is the shell's next command */
static void type(char **argv)
{
	char key = 'x', paste = TIOCLINUX_PASTE, legacy[8] = "";

	(void)argv;
	if (probe_read("/proc/sys/dev/tty/legacy_tiocsti", legacy, sizeof(legacy)) > 0 &&
	    legacy[0] == '0')
		probe_lacks("dev.tty.legacy_tiocsti=1 on this host");
	need_terminal();
	door("TIOCSTI", ioctl(0, TIOCSTI, &key));
	/* the high half does not count for the kernel, and must not for a filter */
	door("TIOCSTI, high half",
	     syscall(SYS_ioctl, 0, 0xffffffff00000000UL | TIOCSTI, &key));
	door("TIOCLINUX", ioctl(0, TIOCLINUX, &paste));
}

static void take(char **argv)
{
	(void)argv;
	(void)signal(SIGHUP, SIG_IGN); /* what giving it up sends */
	(void)signal(SIGTTOU, SIG_IGN);
	need_terminal();
	door("/dev/tty", open("/dev/tty", O_RDWR));
	door("its session", tcgetsid(0));
	door("foreground group", tcsetpgrp(0, getpgrp()));
	door("make it ours", ioctl(0, TIOCSCTTY, 1));
	door("give it up", ioctl(0, TIOCNOTTY));
}

/* a leader of a group starts no session: the child does */
static long steal(const void *unused)
{
	(void)unused;
	(void)signal(SIGHUP, SIG_IGN);
	return setsid() < 0 ? -1 : ioctl(0, TIOCSCTTY, 1);
}

static void take_later(char **argv)
{
	(void)argv;
	need_terminal();
	door("TIOCSCTTY in a new session", probe_in_child(steal, NULL));
}

/* another line discipline: n_gsm, slip, ppp and their faults */
static void discipline(char **argv)
{
	int number = 0, gsm = 21;

	(void)argv;
	need_terminal();
	door("set the one it has", ioctl(0, TIOCSETD, &number));
	door_reach("n_gsm", ioctl(0, TIOCSETD, &gsm));
	(void)ioctl(0, TIOCSETD, &number);
}

static void lock_out(char **argv)
{
	struct winsize size = { 1, 1, 1, 1 };

	(void)argv;
	need_terminal();
	door("its size", ioctl(0, TIOCSWINSZ, &size));
	door("exclusive use", ioctl(0, TIOCEXCL));
	(void)ioctl(0, TIOCNXCL);
	door("break", ioctl(0, TCSBRKP, 0));
	door("flush", ioctl(0, TCFLSH, TCIFLUSH));
}

/* what is printed goes to a terminal in the end: is it the program's? */
static void reach_by_output(char **argv)
{
	struct termios modes;
	char key;

	(void)argv;
	door("its modes", tcgetattr(1, &modes));
	door("its name", ttyname_r(1, (char[64]){ "" }, 64) == 0 ? 0 : -1);
	(void)fcntl(1, F_SETFL, O_NONBLOCK);
	if (read(1, &key, 1) >= 0 || errno == EAGAIN)
		door("what is typed", 0);
}

static void new_terminal(char **argv)
{
	(void)argv;
	door("/dev/ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY));
	door("/dev/pts/ptmx", open("/dev/pts/ptmx", O_RDWR | O_NOCTTY));
	door("the host's", open("/../dev/ptmx", O_RDWR | O_NOCTTY));
	door("/dev/tty0", open("/dev/tty0", O_RDWR | O_NOCTTY));
	door("/dev/vcs", open("/dev/vcs", O_RDONLY | O_NOCTTY));
}

static const struct probe probes[] = {
	{ "terminal-type", "type into the terminal of the caller",
	  W(SECCOMP) | W(SESSION), &scene_typed, type, 0, NULL },
	{ "terminal-take", "take the controlling terminal of the caller",
	  W(SESSION) | W(SECCOMP), &scene_terminal, take, 0, NULL },
	{ "terminal-steal", "make the caller's terminal control a session of its own",
	  W(SECCOMP), &scene_terminal, take_later, 0, NULL },
	{ "terminal-discipline", "another line discipline on the terminal", W(SECCOMP),
	  &scene_terminal, discipline, 0, NULL },
	{ "terminal-lock", "resize, lock or flush the terminal of the caller", W(SECCOMP),
	  &scene_terminal, lock_out, 0, NULL },
	{ "terminal-output", "reach the terminal of the caller by captured output",
	  W(CAPTURE), &scene_terminal_out, reach_by_output, 0, NULL },
	{ "terminal-new", "open new terminals, and the console's", W(NODES), NULL,
	  new_terminal, 0, NULL },
};

AREA(terminal, "terminals", probes);
