/* SPDX-License-Identifier: MIT */
/*
 * spawned.c - a jail of `serve`, from OPEN to ENDED: see spawned.h
 *
 * What is read here: READY and FAIL of a jail that has run nothing yet, both of fixed
 * size, and kernel files about a process that waits at its gate. When that gate has been
 * opened, all ends of the jail are the supervisor's. A supervisor that reads too slowly
 * is told later: what it is to be told follows from where a jail is, so nothing is
 * queued.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/base/sys.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/spawner/spawned.h"
#include "jail/serve/template/template.h"
#include "jail/watch/report.h"

#define REFUSED_MAX 4096
#define SPAWNED_OF(at, member) ((void *)((char *)(at)-offsetof(struct spawned, member)))

/* false: not yet, see spawner_say() */
static bool tell(struct spawned *j, uint32_t kind, const struct err *why)
{
	struct spawn_answer a = { .kind = kind,
				  .number = j->number,
				  .errnum = (uint32_t)why->errnum };

	(void)snprintf(a.text, sizeof(a.text), "%s", why->text);
	return spawner_say(j->spawner, &a, NULL, 0) != -EAGAIN;
}

static void forget(struct spawned *j)
{
	struct spawner *p = j->spawner;
	struct spawned **at = &p->bucket[j->number % SPAWNER_BUCKETS];

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	p->count--;
	egress_end(&j->egress);
	event_loop_later(&p->loop, &j->forget, free, j);
}

/* what the supervisor gets; its leaf stays, to be ended */
static void close_ends(struct spawned *j)
{
	struct event_loop *loop = &j->spawner->loop;

	(void)event_loop_listen(loop, &j->control, 0);
	(void)event_loop_listen(loop, &j->gate, 0);
	(void)event_loop_listen(loop, &j->proxy, 0);
	j->control.fd = j->gate.fd = j->proxy.fd = -1;
	for (size_t i = 0; i < EGRESS_FDS; i++)
		io_close_fd(&j->egress.fd[i]);
	io_close_fd(&j->channel);
	io_close_fd(&j->diagnostics);
	io_close_fd(&j->facts);
	for (int fd = 0; fd <= 2; fd++) /* no launch has taken them */
		io_close_fd(&j->up.jail.stdio[fd]);
	gate_close(&j->up.gate);
	cgroup_release(&j->up.jail.cgroup);
	tmpfs_usage_close(&j->up.tmpfs);
	posture_end(&j->up.posture);
}

static void serve_gone(struct ending *en, const struct err *e)
{
	struct spawned *j = SPAWNED_OF(en, ending);

	j->phase = SPAWNED_GONE;
	j->space = 0; /* another's from now on: its pidfd, which kept it, is closed */
	if (e)
		j->left = *e;
	template_pool_release(j->order.from);
	spawned_update(j);
}

static void begin_end(struct spawned *j)
{
	event_loop_unset(&j->spawner->loop, &j->late);
	close_ends(j);
	ending_begin(&j->ending, &j->spawner->loop, &j->up.jail, serve_gone);
}

void spawned_end(struct spawned *j)
{
	if (j->phase >= SPAWNED_ENDING)
		return;
	j->phase = SPAWNED_ENDING;
	/* a clone that nobody knows yet could not be ended */
	if (!j->asked && !j->unmet)
		begin_end(j);
}

static void fail(struct spawned *j, const struct err *e)
{
	if (j->phase >= SPAWNED_ENDING)
		return;
	j->error = *e;
	spawned_end(j);
	spawned_update(j);
}

/* the jail's ends go over, and none of them stays here */
static bool tell_opened(struct spawned *j)
{
	struct startup *up = &j->up;
	int ends[SPAWN_FDS] = {
		[SPAWN_CONTROL] = up->jail.control,
		[SPAWN_CHANNEL] = j->channel,
		[SPAWN_DIAGNOSTICS] = j->diagnostics,
		[SPAWN_FACTS] = j->facts,
		[SPAWN_LISTENER] = up->gate.fd[GATE_LISTENER],
		[SPAWN_LOCKS] = up->gate.fd[GATE_LOCKS],
		[SPAWN_WORK] = up->tmpfs.work,
		[SPAWN_TMP] = up->tmpfs.tmp,
	};
	struct spawn_answer a = { .kind = SPAWN_OPENED,
				  .number = j->number,
				  .init = up->jail.pid,
				  .program = up->gate.program };
	int fds[SPAWN_FDS], r;
	size_t count = 0;
	struct err e;

	memcpy(ends + SPAWN_PROXY, j->egress.fd, sizeof(j->egress.fd));
	memcpy(ends + SPAWN_HELD, up->jail.cgroup.held + 1,
	       sizeof(up->jail.cgroup.held) - sizeof(int));
	for (int i = 0; i < SPAWN_FDS; i++)
		if (ends[i] >= 0) {
			a.fds |= 1u << i;
			fds[count++] = ends[i];
		}
	r = spawner_say(j->spawner, &a, fds, count);
	if (r == -EAGAIN)
		return false;
	close_ends(j);
	io_close_fd(&up->jail.control);
	if (r < 0) {
		(void)fd_passing_failed(-r, "serve: hand over a jail", &e);
		fail(j, &e);
	}
	return r == 0;
}

void spawned_update(struct spawned *j)
{
	const struct spawner *p = j->spawner;
	const struct err unsent = { .errnum = j->unsent };

	if (p->slow && !p->ending)
		return;
	if (j->unsent && tell(j, SPAWN_UNSENT, &unsent))
		j->unsent = 0;
	if (j->measured.kind && spawner_say(j->spawner, &j->measured, NULL, 0) != -EAGAIN)
		j->measured.kind = 0;
	if (!j->told && j->error.errnum)
		j->told = tell(j, SPAWN_FAILED, &j->error);
	else if (!j->told && j->phase == SPAWNED_UP)
		j->told = tell_opened(j);
	if (j->phase == SPAWNED_GONE && j->to_end && tell(j, SPAWN_ENDED, &j->left))
		forget(j);
}

/* Members of the JSON object of OPENED: the rest of its posture, that object's end, and
 * what is behind it. Return: a sealed memfd, or -1 */
static int print_facts(const struct spawned *j)
{
	const struct jail *jail = &j->up.jail;
	static char text[WIRE_PAYLOAD_MAX];
	cleanup_fd int fd = memfd_create("facts", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FILE *out = fmemopen(text, sizeof(text), "w");
	ssize_t n = -1;

	if (out) {
		(void)fprintf(out, "%s},\"host_uid\":%u,\"warm\":%s", j->up.posture.json,
			      ids_program(&jail->ids), jail->warm ? "true" : "false");
		json_after(",\"why_cold\":", jail->warm ? NULL : j->spawner->pool.why,
			   out);
		report_not_enforced(jail, j->up.gate.fd[GATE_LISTENER] >= 0, out);
		n = json_close(out, text, sizeof(text));
	}
	if (n < 0 || io_write_all(fd, text, (size_t)n) < 0 || sys_seal(fd) < 0)
		return -1;
	return io_steal_fd(&fd);
}

/* both of its processes wait behind their walls, which were read back */
static void take_up(struct spawned *j)
{
	int opened = gate_open(&j->up.jail.gate);
	cleanup_fd int dir = procfs_open(j->up.gate.program);
	struct stat st;
	struct err e;

	/* a program that could not be executed has ended by now, and its init tells why:
	 * then no process of the jail is reached */
	if (fstatat(dir, "ns/pid", &st, 0) == 0)
		j->space = st.st_ino;
	j->facts = print_facts(j);
	if (opened < 0 || j->facts < 0 ||
	    fcntl(j->up.jail.control, F_SETFL, O_NONBLOCK) < 0) {
		(void)err_set(&e, opened < 0 ? -opened : errno, "serve: look at a jail");
		fail(j, &e);
		return;
	}
	j->phase = SPAWNED_UP;
	event_loop_unset(&j->spawner->loop, &j->late);
	spawned_update(j);
}

static void serve_proxy(struct port *p)
{
	struct spawned *j = p->owner;
	struct err e;

	(void)event_loop_listen(&j->spawner->loop, p, 0);
	if (egress_hear(p->fd, 0, &e) < 0)
		fail(j, &e);
	else
		take_up(j);
}

static void start_proxy(struct spawned *j)
{
	struct err e;
	int r = egress_start(&j->up.jail, &j->up.gate.fd[GATE_PORT], &j->egress, &e);

	j->proxy.fd = j->egress.fd[EGRESS_SOCKET];
	if (r == 0 && j->proxy.fd >= 0)
		r = event_loop_listen(&j->spawner->loop, &j->proxy, EPOLLIN);
	else if (r == 0)
		take_up(j);
	if (r < 0)
		fail(j, &e);
}

/* after something was heard of a jail that is being made */
static void look(struct spawned *j, int r, const struct err *e)
{
	if (j->phase != SPAWNED_MAKING)
		return;
	if (r < 0)
		fail(j, e);
	else if (j->up.complete && j->egress.fd[EGRESS_SOCKET] < 0)
		start_proxy(j);
}

static void serve_gate(struct port *p)
{
	struct spawned *j = p->owner;
	struct event_loop *loop = &j->spawner->loop;
	struct err e;
	int r;

	/* it is closed now, or when init is ready as well; the loop must not know it
	 * then, as the child of another launch may hold a copy */
	(void)event_loop_listen(loop, p, 0);
	r = startup_gate(&j->up, &e);
	if (r == 0)
		(void)event_loop_listen(loop, p, EPOLLIN);
	else
		p->fd = -1;
	look(j, r, &e);
}

/* it walks its stages from now on */
static int listen_to(struct spawned *j, struct err *e)
{
	struct event_loop *loop = &j->spawner->loop;
	int r;

	j->gate.fd = j->up.jail.gate;
	j->control.fd = j->up.jail.control;
	r = event_loop_listen(loop, &j->gate, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(loop, &j->control, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

/* the template's answer is there already */
static void meet(struct spawned *j)
{
	struct err e;
	int r = template_meet(j->order.from, &j->up.jail, &e);

	if (r == 0)
		return;
	j->unmet = false;
	if (j->phase == SPAWNED_ENDING)
		begin_end(j);
	else if (r < 0 || launch_go(&j->up.jail, &e) < 0 || listen_to(j, &e) < 0)
		fail(j, &e);
}

static void serve_control(struct port *p)
{
	struct spawned *j = p->owner;
	struct err e;

	if (j->unmet)
		meet(j);
	else
		look(j, startup_control(&j->up, &e), &e);
}

static void serve_late(struct bell *b)
{
	struct spawned *j = b->owner;
	struct err e;

	j->unmet = false;
	if (j->phase == SPAWNED_ENDING) {
		begin_end(j);
		return;
	}
	look(j, startup_late(&e), &e);
}

/* a template's answer */
static void serve_made(struct order *o, const struct err *e)
{
	struct spawned *j = SPAWNED_OF(o, order);
	struct event_loop *loop = &j->spawner->loop;

	j->asked = false;
	if (e) {
		if (j->phase == SPAWNED_ENDING)
			begin_end(j);
		else
			fail(j, e);
		return;
	}
	j->unmet = true;
	j->control.fd = j->up.jail.control;
	event_loop_set(loop, &j->late, clock_now_ms() + STARTUP_MS);
	if (event_loop_listen(loop, &j->control, EPOLLIN) < 0)
		event_loop_set(loop, &j->late, clock_now_ms());
}

static struct spawned *make(struct spawner *p, uint32_t number)
{
	struct spawned *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->spawner = p;
	j->number = number;
	j->up = STARTUP_NONE;
	j->channel = j->diagnostics = j->facts = -1;
	j->control = PORT(-1, serve_control, j);
	j->gate = PORT(-1, serve_gate, j);
	j->proxy = PORT(-1, serve_proxy, j);
	j->egress = EGRESS_NONE;
	j->late = (struct bell){ .ring = serve_late, .owner = j };
	j->order = (struct order){ .jail = &j->up.jail, .made = serve_made };
	j->next = p->bucket[number % SPAWNER_BUCKETS];
	p->bucket[number % SPAWNER_BUCKETS] = j;
	p->count++;
	return j;
}

/* the interpreter's fds: its channel, and a pipe for what it says when it fails */
static int make_stdio(struct spawned *j, struct err *e)
{
	int *stdio = j->up.jail.stdio, ends[2];
	int r = channel_pair(&j->channel, &stdio[0], e);

	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "serve: pipe");
	j->diagnostics = ends[0];
	stdio[1] = ends[1];
	stdio[2] = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	if (stdio[2] < 0 || fchmod(ends[1], 0222) < 0 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "serve: set up a pipe");
	return 0;
}

static bool is_full(const struct spawner *p, uint64_t beyond)
{
	return p->count > p->plan->limit[LIMIT_SESSIONS] + beyond;
}

int spawned_open(struct spawner *p, uint32_t number)
{
	/* one that is refused costs memory, too, until it is asked to end */
	struct spawned *j = is_full(p, REFUSED_MAX) ? NULL : make(p, number);
	struct err e;
	int r;

	if (!j)
		return -ENOMEM;
	r = is_full(p, 0) ? err_say(&e, EMFILE, "serve: more jails than there may be")
			  : make_stdio(j, &e);
	if (r == 0)
		r = template_pool_launch(&p->pool, &j->order, &e);
	if (r == 0)
		r = listen_to(j, &e);
	j->asked = r > 0;
	if (r < 0)
		fail(j, &e);
	else if (!j->asked)
		event_loop_set(&p->loop, &j->late, clock_now_ms() + STARTUP_MS);
	return 0;
}
