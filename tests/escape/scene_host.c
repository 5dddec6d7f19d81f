/* SPDX-License-Identifier: MIT */
/*
 * scene_host.c - scenes of probes about the host: its processes, sockets, terminals,
 * names
 */
#include "tests/escape/scene.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <termios.h>

static void on_init(struct run *r)
{
	run_word(r, "%s", run_where(r, "1", "child"));
}
/* outside, a child of the probe's own is in the place of init */
const struct scene scene_on_init = { .set_up = on_init };

/* a process of the host, of the same user, that sleeps */
static void start_victim(struct run *r)
{
	(void)fflush(stdout);
	r->helper = fork();
	if (r->helper != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpgid(0, 0);
	(void)alarm(60);
	for (;;)
		(void)pause();
}

static void victim(struct run *r)
{
	start_victim(r);
	run_word(r, "%d", r->helper);
}
const struct scene scene_victim = { .set_up = victim };

/* the victim leads the group that the launcher, or the bare probe, is put into */
static void group(struct run *r)
{
	start_victim(r);
	(void)setpgid(r->helper, r->helper);
}

static void join_group(struct run *r)
{
	(void)setpgid(0, r->helper);
	if (r->inside)
		(void)signal(SIGUSR1, SIG_IGN); /* the launcher would end, too */
}

/* the first signal that ends it counts: is it the probe's, or only now this one? */
static int group_effect(struct run *r)
{
	siginfo_t info = { 0 };

	(void)kill(r->helper, SIGKILL);
	return waitid(P_PID, (id_t)r->helper, &info, WEXITED | WNOWAIT) < 0 ||
	       info.si_status != SIGKILL;
}
const struct scene scene_group = { .set_up = group,
				   .child = join_group,
				   .effect = group_effect };

/* stdin is a terminal that controls the session of the launcher, or of the bare probe */
static void terminal(struct run *r)
{
	const char *name;

	r->fd[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	name = r->fd[0] < 0 || grantpt(r->fd[0]) < 0 || unlockpt(r->fd[0]) < 0
		       ? NULL
		       : ptsname(r->fd[0]);
	if (!name) {
		r->missing = "a pseudo-terminal of the host";
		return;
	}
	r->input = r->fd[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void control(struct run *r)
{
	(void)r;
	(void)setsid();
	(void)ioctl(0, TIOCSCTTY, 0);
}
const struct scene scene_terminal = { .set_up = terminal, .child = control };

/* it is stdout as well, and the probe's exit status says what came of it */
static void terminal_out(struct run *r)
{
	terminal(r);
	if (r->inside && !r->limits->captured)
		r->missing =
			"--capture, since this configuration passes all output through";
	r->output = r->input;
	r->input = -1;
}

static void control_out(struct run *r)
{
	(void)r;
	(void)setsid();
	(void)ioctl(1, TIOCSCTTY, 0);
}

static int said_open(struct run *r)
{
	return WIFEXITED(r->status) && WEXITSTATUS(r->status) == OPENED;
}
const struct scene scene_terminal_out = { .set_up = terminal_out,
					  .child = control_out,
					  .effect = said_open };

/* what was typed is echoed; a terminal that nobody typed into stays silent */
static int typed(struct run *r)
{
	struct pollfd echo = { .fd = r->fd[0], .events = POLLIN };

	/* the kernel echoes when it finds the time; only silence is waited out */
	return poll(&echo, 1, 3000) == 1;
}
const struct scene scene_typed = { .set_up = terminal,
				   .child = control,
				   .effect = typed };

static void listen_at(struct run *r, int type, const char *path, bool abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t length = offsetof(struct sockaddr_un, sun_path) + abstract + strlen(path);

	r->fd[0] = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	(void)snprintf(at.sun_path + abstract, sizeof(at.sun_path) - abstract, "%s",
		       path);
	if (bind(r->fd[0], (struct sockaddr *)&at, (socklen_t)length) < 0 ||
	    (type == SOCK_STREAM && listen(r->fd[0], 8) < 0))
		r->missing = "a unix socket of the host";
}

static void abstract(struct run *r)
{
	listen_at(r, SOCK_STREAM, r->marker, true);
	run_word(r, "%s", r->marker);
}
const struct scene scene_abstract = { .set_up = abstract };

static void abstract_datagram(struct run *r)
{
	listen_at(r, SOCK_DGRAM, r->marker, true);
	run_word(r, "%s", r->marker);
}
const struct scene scene_abstract_datagram = { .set_up = abstract_datagram };

static void docker(struct run *r)
{
	(void)mkdir(run_path(r, "s"), 0777);
	listen_at(r, SOCK_STREAM, run_path(r, "s/docker.sock"), false);
	(void)chmod(run_path(r, "s/docker.sock"), 0666);
	run_option(r, "--bind", "%s:" SHOWN_PATH, run_path(r, "s"));
	if (r->inside)
		run_word(r, SHOWN_PATH "/docker.sock");
	run_word(r, "%s", run_path(r, "s/docker.sock"));
}
const struct scene scene_docker = { .set_up = docker };

/* System V shared memory of the host, open to all */
static void segment(struct run *r)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
	char *at = shmat(id, NULL, 0);

	if (id < 0 || at == (char *)-1) {
		r->missing = "System V shared memory on this host";
		return;
	}
	(void)snprintf(at, 4096, "%s", r->marker);
	(void)shmdt(at);
	r->before = id;
	run_word(r, "%d", id);
	run_word(r, "%s", r->marker);
}

static void remove_segment(struct run *r)
{
	if (!r->missing)
		(void)shmctl((int)r->before, IPC_RMID, NULL);
}
const struct scene scene_segment = { .set_up = segment, .tear_down = remove_segment };

/* the name of our own cgroup: the jail's lies below it, or beside it */
static void cgroup(struct run *r)
{
	char text[4096] = "", *at = NULL;

	(void)probe_read("/proc/self/cgroup", text, sizeof(text));
	for (char *line, *rest = text; !at && (line = strsep(&rest, "\n"));)
		at = strstr(line, ":/");
	if (!at || !at[2])
		r->missing = "a cgroup of the caller's that has a name";
	else
		run_word(r, "%s", at + 1);
}
const struct scene scene_cgroup = { .set_up = cgroup };

static void listen_on(struct run *r, const struct sockaddr *at, socklen_t length)
{
	struct sockaddr_in6 bound; /* the longer of the two; ports lie at one place */
	socklen_t size = sizeof(bound);

	r->fd[0] = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(r->fd[0], at, length) < 0 || listen(r->fd[0], 8) < 0 ||
	    getsockname(r->fd[0], (struct sockaddr *)&bound, &size) < 0) {
		r->missing = "a loopback interface of the host";
		return;
	}
	run_word(r, "%u", ntohs(bound.sin6_port));
}

static void loopback(struct run *r)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_on(r, (struct sockaddr *)&at, sizeof(at));
}
const struct scene scene_loopback = { .set_up = loopback };

static void loopback6(struct run *r)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	listen_on(r, (struct sockaddr *)&at, sizeof(at));
}
const struct scene scene_loopback6 = { .set_up = loopback6 };

static void host_name(struct run *r)
{
	struct utsname name;

	if (uname(&name) < 0 || !name.nodename[0])
		r->missing = "a host name";
	run_word(r, "%s", name.nodename);
	run_word(r, "%s", strcmp(name.domainname, "(none)") ? name.domainname : "");
}
const struct scene scene_host_name = { .set_up = host_name };

static void environment(struct run *r)
{
	run_word(r, "STEPJAIL_ESCAPE_KEY=%s", r->marker);
}

static void set_environment(struct run *r)
{
	(void)setenv("STEPJAIL_ESCAPE_KEY", r->marker, 1);
}
const struct scene scene_environment = { .set_up = environment,
					 .child = set_environment };

/* a word that a file of the host alone holds */
static void host_words(struct run *r)
{
	char id[64];

	if (probe_read("/etc/machine-id", id, sizeof(id)) < 32)
		r->missing = "/etc/machine-id on this host";
	id[strcspn(id, "\n")] = '\0';
	run_word(r, "%s", id);
}
const struct scene scene_host_words = { .set_up = host_words };

static void caller_id(struct run *r)
{
	if (r->inside && geteuid() != 0)
		r->missing =
			"ids of its own: an ordinary user's jail is that user (start as "
			"root)";
	run_word(r, "%u", geteuid());
}
const struct scene scene_caller_id = { .set_up = caller_id };

/* the report says what the row's data says; without a jail there is nobody to say it */
static int judged(struct run *r)
{
	const char *verdict = r->probe->data, *code = strchr(verdict, ' ');
	char expected[64];

	if (!r->inside)
		return 1;
	(void)snprintf(expected, sizeof(expected), "\"verdict\":\"%.*s\"",
		       (int)(code - verdict), verdict);
	if (!run_reports(r, expected))
		return 1;
	(void)snprintf(expected, sizeof(expected), "\"status\":%s,", code + 1);
	return !run_reports(r, expected);
}
const struct scene scene_judged = { .effect = judged };

/* the report lists what the row's data says; where nobody listens, it says so */
static int listed(struct run *r)
{
	const char *text = r->probe->data;
	char part[64];

	if (!r->inside)
		return 1;
	if (run_reports(r, "\"violations\":null")) {
		r->missing = "a record of violations: --allow-missing audit gave it up";
		return 0;
	}
	/* under --on-violation kill, the first one is the last */
	if (run_reports(r, "\"verdict\":\"violation\""))
		return -1;
	for (; *text; text += strcspn(text, "|"), text += *text == '|') {
		(void)snprintf(part, sizeof(part), "%.*s", (int)strcspn(text, "|"), text);
		if (!run_reports(r, part))
			return 1;
	}
	return 0;
}
const struct scene scene_listed = { .effect = listed };

/* the other jail, or outside the other process: it says when it is ready */
static void start_other(struct run *r, int report, const int *ends)
{
	char *words[2 * WORDS_MAX], bind[PATH_MAX + 32], number[16];
	size_t n = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)dup2(ends[1], 1);
	(void)dup2(open("/dev/null", O_WRONLY), 2);
	(void)snprintf(number, sizeof(number), "%d", report);
	(void)snprintf(bind, sizeof(bind), "%s:" PROBE_PATH, r->bound);
	if (r->inside) {
		const char *const first[] = { r->launcher, "run",    "--report",
					      number,      "--bind", bind };

		for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
			words[n++] = (char *)(uintptr_t)first[i];
		for (size_t i = 0; r->user[i]; i++)
			words[n++] = r->user[i];
		words[n++] = (char *)(uintptr_t) "--";
	}
	words[n++] = (char *)(uintptr_t)run_where(r, PROBE_PATH, r->self);
	words[n++] = (char *)(uintptr_t) "--probe-self";
	words[n++] = (char *)(uintptr_t) "be-victim";
	words[n++] = r->marker;
	words[n] = NULL;
	(void)execv(words[0], words);
	_exit(125);
}

static void two_jails(struct run *r)
{
	int ends[2], report = open(run_path(r, "other"), O_RDWR | O_CREAT, 0600);
	char ready[6] = "";

	run_word(r, "%s", r->marker);
	if (r->inside && r->limits->captured) {
		r->missing = "output as it is printed, by which the other jail says that "
			     "it is ready: run without --capture";
		return;
	}
	if (pipe2(ends, O_CLOEXEC) < 0 || report < 0 || (r->helper = fork()) < 0)
		r->missing = "a second jail";
	if (r->helper == 0 && !r->missing)
		start_other(r, report, ends);
	(void)close(ends[1]);
	r->fd[0] = ends[0];
	r->fd[1] = report;
	if (read(ends[0], ready, 5) != 5 || strcmp(ready, "ready") != 0)
		r->missing = "a second jail";
}

/* both reports name the kernel's uid: as root, never the same twice */
static int compare(struct run *r)
{
	char other[8192] = "", uid[32] = "";
	const char *at;
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)r->helper, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == r->helper)
		return 1; /* it has ended */
	if (!r->inside || geteuid() != 0)
		return -1;
	(void)kill(r->helper, SIGTERM);
	(void)waitpid(r->helper, NULL, 0);
	r->helper = 0;
	(void)!pread(r->fd[1], other, sizeof(other) - 1, 0);
	at = strstr(other, "\"host_uid\":");
	if (!at)
		return 1;
	(void)snprintf(uid, sizeof(uid), "%.*s", (int)strcspn(at, ",}"), at);
	return run_reports(r, uid) ? 1 : -1;
}
const struct scene scene_two_jails = { .set_up = two_jails, .effect = compare };
