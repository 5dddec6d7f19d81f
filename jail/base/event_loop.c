/* SPDX-License-Identifier: MIT */
/*
 * event_loop.c - one loop over the fds and deadlines of many sessions: see event_loop.h
 *
 * An fd is taken out of the epoll set before it is closed. close(2) alone would not do
 * it: the child of a launch that is under way may hold a copy of the fd. Events that a
 * turn has fetched already are dropped if their port was closed meanwhile. There are one
 * or two bells for each step that runs, so a list is searched.
 */

#include "init/io.h"
#include "jail/base/event_loop.h"

#define EVENTS 64
#define SLEEP_MAX_MS 3600000

int event_loop_open(struct event_loop *h, struct err *e)
{
	*h = (struct event_loop){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
	return h->epoll < 0 ? err_set(e, errno, "serve: epoll_create1") : 0;
}

int event_loop_listen(struct event_loop *h, struct port *p, uint32_t events)
{
	struct epoll_event want = { .events = events, .data.ptr = p };
	int op = !p->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;

	if (p->fd < 0 || p->events == events)
		return 0;
	if (epoll_ctl(h->epoll, op, p->fd, &want) < 0)
		return -errno;
	p->events = events;
	return 0;
}

void event_loop_close(struct event_loop *h, struct port *p)
{
	(void)event_loop_listen(h, p, 0);
	io_close_fd(&p->fd);
}

void event_loop_set(struct event_loop *h, struct bell *b, uint64_t at_ms)
{
	event_loop_unset(h, b);
	b->at_ms = at_ms ? at_ms : 1;
	b->next = h->bells;
	h->bells = b;
}

void event_loop_unset(struct event_loop *h, struct bell *b)
{
	struct bell **at = &h->bells;

	if (!b->at_ms)
		return;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	b->at_ms = 0;
}

void event_loop_later(struct event_loop *h, struct later *l, void (*act)(void *owner),
		      void *owner)
{
	l->act = act;
	l->owner = owner;
	l->next = h->laters;
	h->laters = l;
}

static int timeout(const struct event_loop *h)
{
	uint64_t now = clock_now_ms(), at = UINT64_MAX;

	for (const struct bell *b = h->bells; b; b = b->next)
		at = b->at_ms < at ? b->at_ms : at;
	if (at == UINT64_MAX)
		return -1;
	if (at <= now)
		return 0;
	return at - now > SLEEP_MAX_MS ? SLEEP_MAX_MS : (int)(at - now);
}

/* Begin anew after each bell: a bell that rings may set or unset others. */
static void ring(struct event_loop *h)
{
	uint64_t now = h->bells ? clock_now_ms() : 0;

	for (struct bell *b = h->bells; b;) {
		if (b->at_ms > now) {
			b = b->next;
			continue;
		}
		event_loop_unset(h, b);
		b->ring(b);
		b = h->bells;
	}
}

int event_loop_turn(struct event_loop *h, struct err *e)
{
	struct epoll_event got[EVENTS];
	int n = epoll_wait(h->epoll, got, EVENTS, timeout(h));

	if (n < 0 && errno != EINTR)
		return err_set(e, errno, "serve: epoll_wait");
	for (int i = 0; i < n; i++) {
		struct port *p = got[i].data.ptr;

		/* the port may have been closed since the event was fetched */
		if (p->fd >= 0 && p->events) {
			p->came = got[i].events;
			p->serve(p);
		}
	}
	ring(h);
	while (h->laters) {
		struct later *l = h->laters;

		h->laters = l->next;
		l->act(l->owner);
	}
	return 0;
}
