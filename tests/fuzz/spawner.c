/* SPDX-License-Identifier: MIT */
/*
 * spawner.c - a hostile supervisor, before the spawner of `serve`
 *
 * The spawner is spawner_serve() itself. Before each turn of its loop one record of the
 * input is acted: the supervisor sends a packet or reads answers, a jail or a template
 * says something, time passes. Jails and templates are played, and a PID namespace is one
 * by the number of a played process; each launch, signal and path is looked at. So is
 * each call that may wait: none does.
 *
 * The first byte: bit 0 --cold, bit 2 --deterministic, which must have a
 * template. Then records of four bytes: what acts, and three more.
 */
#include "tests/fuzz/spawner_jails.h"

#define ENDING_TURNS 400 /* of a second each: more than all deadlines together */

/* what goes beside a packet; the caller closes them */
static size_t choose(uint8_t how, int *fds)
{
	size_t count = how < 128 ? 1 : how < 144 ? 2 : how < 160 ? 16 : 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t which = (how + i) % 8;

		fds[i] = which < PROCESSES
				 ? (int)syscall(SYS_pidfd_open, process[which], 0)
			 : which == 4 ? (int)syscall(SYS_pidfd_open, getpid(), 0)
			 : which == 5
				 ? (how & 64 ? fcntl(dead, F_DUPFD_CLOEXEC, 3)
					     : (int)syscall(SYS_pidfd_open, getppid(), 0))
			 : which == 6 ? memfd_create("none", MFD_CLOEXEC)
				      : fcntl(supervisor, F_DUPFD_CLOEXEC, 3);
	}
	return count;
}

static void send_packet(uint8_t what, uint8_t number, uint8_t how)
{
	static const size_t sizes[] = { 0, 1, 8, 12, 15, 17, 32, 40000 };
	static const uint32_t values[] = { SIGKILL,    SIGINT,  0,       1,
					   2,          SIGTERM, SIGSTOP, SIGKILL + 256,
					   UINT32_MAX, 64 };
	static unsigned char bytes[40000];
	static const uint32_t kinds[] = {
		0,         SPAWN_OPEN,        SPAWN_SIGNAL,  SPAWN_SCORE,
		SPAWN_END, SPAWN_MEASURE + 1, SPAWN_MEASURE, UINT32_MAX,
	};
	uint32_t value = values[(what >> 3) % 10];
	const struct spawn_request q = { kinds[what & 7],
					 number < 248 ? number % 8 : number * 0x01010101u,
					 value, how };
	size_t length = what >= 240 ? sizes[what & 7] : sizeof(q), count;
	int fds[16] = { -1 };

	if (supervisor < 0)
		return;
	count = choose(how, fds);
	memcpy(bytes, &q, sizeof(q));
	(void)fd_passing_send(supervisor, bytes, length, fds, count);
	for (size_t i = 0; i < count; i++)
		io_close_fd(&fds[i]);
}

/* each of one size, of a kind that there is, and with the fds that it names */
static void read_answers(uint8_t count)
{
	struct spawn_answer a;
	int fds[SPAWN_FDS], r = 0;

	while (supervisor >= 0 && count--) {
		r = fd_passing_receive(supervisor, &a, sizeof(a), fds, SPAWN_FDS);
		if (r < 0)
			break;
		HOLDS(a.kind >= SPAWN_OPENED && a.kind <= SPAWN_STOP);
		HOLDS(r == __builtin_popcount(a.fds));
		HOLDS(a.kind == SPAWN_OPENED || (r == 0 && a.init == 0));
		HOLDS(memchr(a.text, '\0', sizeof(a.text)));
		HOLDS(a.kind != SPAWN_FAILED || (a.errnum && a.text[0]));
		HOLDS(a.kind != SPAWN_UNSENT || a.errnum);
		for (int i = 0; i < r; i++)
			io_close_fd(&fds[i]);
	}
	HOLDS(r >= 0 || r == -EAGAIN || r == -EPIPE || r == -ECONNRESET);
}

static void signal_serve(uint8_t number)
{
	const struct signalfd_siginfo info = { .ssi_signo = number };

	(void)!write(signals_in, &info, sizeof(info));
}

static void pass_time(uint64_t ms)
{
	now_ms += ms;
	for (int i = 0; prompt && i < launched; i++)
		let_end(&jails[i]);
}

static void act(const uint8_t *r)
{
	switch (r[0] % 16) {
	default:
		send_packet(r[1], r[2], r[3]);
		break;
	case 9:
		read_answers(r[1]);
		break;
	case 10:
	case 11:
		jail_says(r[1], r[2], r[3]);
		break;
	case 12:
		template_says(r[1], r[2]);
		break;
	case 13:
		pass_time(r[1] * (uint64_t)r[2]);
		break;
	case 14:
		launch_errnum = r[1] % 64 < 48 ? 0 : r[2] % 32 + 1;
		prompt = r[3] & 1;
		pass_time(0);
		break;
	case 15:
		if (r[1] < 16)
			signal_serve(r[2]);
		else if (r[1] < 32 && supervisor >= 0)
			(void)shutdown(supervisor, r[2] % 2 ? SHUT_RD : SHUT_WR);
	}
}

static void nothing(struct bell *b)
{
	(void)b;
}

int __real_event_loop_turn(struct event_loop *h, struct err *e);
int __wrap_event_loop_turn(struct event_loop *h, struct err *e);
int __wrap_event_loop_turn(struct event_loop *h, struct err *e)
{
	struct bell soon = { .ring = nothing };
	int r;

	loop = h;
	watching = false;
	if (left >= 4) {
		act(input);
		input += 4;
		left -= 4;
	} else {
		/* now it must come to its end */
		io_close_fd(&supervisor);
		launch_errnum = 0;
		prompt = true;
		pass_time(1000);
		HOLDS(++turns < ENDING_TURNS);
	}
	event_loop_set(h, &soon, 1);
	watching = true;
	r = __real_event_loop_turn(h, e);
	event_loop_unset(h, &soon);
	return r;
}

static void start_processes(void)
{
	pid_t pid, self = getpid();

	for (int i = 0; i < PROCESSES; i++) {
		process[i] = fork();
		HOLDS(process[i] >= 0);
		if (process[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (getppid() == self)
				(void)pause();
			_exit(0);
		}
	}
	pid = fork();
	if (pid == 0)
		_exit(0);
	dead = (int)syscall(SYS_pidfd_open, pid, 0);
	HOLDS(dead >= 0);
	while (waitpid(pid, NULL, 0) < 0)
		HOLDS(errno == EINTR);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static struct keeper keeper;
static int keeper_far;

static void begin(uint8_t how)
{
	static char *const none[] = { NULL };
	struct err e;
	int ends[2];

	memset(&plan, 0, sizeof(plan));
	HOLDS(option_parse(&plan, none, &e) == 0);
	plan.session = true;
	plan.cold = how & 1 ? ANSWER_YES : ANSWER_NO;
	plan.deterministic = how & 4 ? ANSWER_YES : ANSWER_NO;
	plan.limit[LIMIT_SESSIONS] = 2;
	plan.limit[LIMIT_TEMPLATE_CLONES] = 3;
	plan.limit[LIMIT_TEMPLATE_MS] = 60000;
	plan_before = plan;
	HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	keeper = (struct keeper){ .socket = ends[0] };
	keeper_far = ends[1];
	parts = (struct parts){ .plan = &plan, .init_fd = -1, .keeper = &keeper };
	parts_before = parts;
	memset(jails, 0, sizeof(jails));
	memset(templates, 0, sizeof(templates));
	launched = launch_errnum = turns = 0;
	now_ms = 100000;
	prompt = true;
	beside[0] = beside[1] = -1;
	HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			 ends) == 0);
	spawner = ends[0];
	supervisor = ends[1];
	/* few answers fit, so that one who does not read is soon noticed */
	HOLDS(setsockopt(spawner, SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int)) == 0);
	HOLDS(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	signals = ends[0];
	signals_in = ends[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char *const words[] = { "/bin/interpreter", NULL };
	static struct confine measurer;
	int before, r;
	struct err e;

	if (size < 1 || size > 4096)
		return 0;
	if (!process[0])
		start_processes();
	if (!measurer.root)
		measurer.root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	before = count_open();
	begin(bytes[0]);
	input = bytes + 1;
	left = size - 1;
	watching = true;
	r = spawner_serve(&parts, words, spawner, signals, SUPERVISOR, &measurer, &e);
	watching = false;
	HOLDS(r == 0 || r == -EPROTO || r == -ETIMEDOUT);
	for (int i = 0; i < launched; i++)
		HOLDS(!jails[i].jail);
	for (int i = 0; i < TEMPLATES_MAX; i++)
		HOLDS(!templates[i].t);
	io_close_fd(&loop->epoll);
	io_close_fd(&spawner);
	io_close_fd(&signals);
	io_close_fd(&signals_in);
	io_close_fd(&supervisor);
	io_close_fd(&keeper.socket);
	io_close_fd(&keeper_far);
	/* and what only its exit may close */
	io_close_fd(&beside[0]);
	io_close_fd(&beside[1]);
	HOLDS(count_open() == before);
	return 0;
}
