/* SPDX-License-Identifier: MIT */
/*
 * evalask.c - ask a model for solutions: see evalask.h
 *
 * Theory of operation
 *   As many processes as jobs; the i-th asks for the samples i, i + jobs, ... and writes
 *   what comes of each into a pipe: a struct answer, and its text. One poll() over all
 *   the pipes. A process ends when it has asked for all of its own; one that fails says
 *   why and ends, and so do then the others. They die with this one.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/eval/evalask.h"
#include "agent/model/extract.h"
#include "agent/session/launch.h"
#include "init/io.h"

#define SCRIPTED "scripted:"
#define NO_CODE "the reply holds no code"

static const char system_words[] =
	"You complete Python functions. Reply with the whole function, with the imports and helpers that it needs, in one block fenced by ```python and ```, and nothing else. It is tested as it is; you cannot run it before.";

enum answer_kind { ANSWER_CODE, ANSWER_NONE, ANSWER_FAILED };

struct answer {
	uint64_t sample;
	uint32_t length; /* of the text behind it: code, or why there is none */
	uint32_t kind;
};

struct asker {
	pid_t pid;
	int pidfd; /* a confined process may signal by nothing else */
	int fd;
	struct text got;
};

static int put(int fd, uint64_t sample, enum answer_kind kind, const char *text,
	       size_t length)
{
	const struct answer a = { sample, (uint32_t)length, kind };
	int r = io_write_all(fd, &a, sizeof(a));

	return r < 0 ? r : io_write_all(fd, text, length);
}

static int ask_one(struct model *model, const struct eval_task *t, uint64_t ask_ms,
		   struct reply *reply, struct err *e)
{
	char time[32];
	struct chat chat = { 0 };
	cleanup_text struct text user = { 0 };

	text_printf(&user, "Complete this:\n\n```python\n%s\n```\n", t->prompt);

	int r = text_check(&user, "a task", e);

	if (r == 0)
		r = chat_add(&chat, ROLE_SYSTEM, system_words, strlen(system_words), e);
	if (r == 0)
		r = chat_add(&chat, ROLE_USER, text_string(&user), user.length, e);
	if (r == 0)
		r = model_ask(model, &chat, units_now_ms() + ask_ms, reply, e);
	if (r == -ETIMEDOUT)
		r = err_say(e, ETIMEDOUT, "%s was not answered within %s (--ask-time)",
			    t->id, units_say_time(ask_ms, time, sizeof(time)));
	chat_free(&chat);
	return r;
}

/* hand back the code of a reply, or what is wrong with it */
static int hand_back(int fd, size_t sample, const struct reply *reply)
{
	struct extract found = { 0 };
	const char *why;
	int r;

	extract_code(text_string(&reply->text), reply->text.length, &found);
	why = extract_complaint(found.kind);
	if (found.kind == EXTRACT_CODE)
		r = put(fd, sample, ANSWER_CODE, text_string(&found.code),
			found.code.length);
	else
		r = put(fd, sample, ANSWER_NONE, why ? why : NO_CODE,
			strlen(why ? why : NO_CODE));
	text_free(&found.code);
	return r;
}

static int ask_all(const struct evalbook *b, const struct evalask_plan *p, size_t first,
		   size_t step, int fd, struct err *e)
{
	bool script = strncmp(p->model, SCRIPTED, strlen(SCRIPTED)) == 0;
	struct model model = { 0 };
	struct reply reply = { 0 };
	int r = model_open(&model, p->model, p->model_plan, e);

	if (r == 0)
		r = p->confine(p->arg, &model, e);
	for (size_t i = first; r == 0 && i < b->count; i += step) {
		/* a script goes on where it was only if it is heard from its beginning */
		if (b->samples[i].asked && !script)
			continue;
		r = ask_one(&model, &b->set->tasks[b->samples[i].task], p->ask_ms, &reply,
			    e);
		if (r == 0 && !b->samples[i].asked)
			r = hand_back(fd, i, &reply);
	}
	reply_free(&reply);
	model_close(&model);
	return r;
}

static int start(struct asker *a, const struct evalbook *b, const struct evalask_plan *p,
		 size_t first, size_t step, struct err *e)
{
	cleanup_fd int write_end = -1;
	pid_t parent = getpid();
	int r = launch_pipe(&a->fd, &write_end, e);

	if (r < 0)
		return r;
	a->got.max = EXTRACT_CODE_MAX + sizeof(struct answer);
	a->pid = fork();
	if (a->pid < 0)
		return err_set(e, errno, "fork");
	if (a->pid > 0) {
		a->pidfd = pidfd_open(a->pid, 0);
		return a->pidfd < 0 ? err_set(e, errno, "pidfd_open") : 0;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	/* what others say, and whether they live, is not for this one */
	for (size_t i = 0; i <= first; i++) {
		io_close_fd(&(a - i)->fd);
		io_close_fd(&(a - i)->pidfd);
	}
	*e = (struct err){ 0 };
	r = ask_all(b, p, first, step, write_end, e);
	if (r < 0 && r != -EINTR) /* a signal is for the parent to tell of */
		(void)put(write_end, 0, ANSWER_FAILED, e->text, strlen(e->text));
	_exit(r < 0);
}

/* whole answers out of what has come; 0, or -errno */
static int take(struct evalbook *b, const struct evalask_plan *p, struct asker *a,
		struct err *e)
{
	struct answer head;
	int r = 0;

	while (r == 0 && a->got.length >= sizeof(head)) {
		memcpy(&head, a->got.bytes, sizeof(head));

		size_t whole = sizeof(head) + head.length;

		if (head.length > EXTRACT_CODE_MAX || head.sample >= b->count)
			return err_say(e, EBADMSG, "an asker makes no sense");
		if (a->got.length < whole)
			break;

		char *text = strndup(a->got.bytes + sizeof(head), head.length);

		if (!text)
			return err_set(e, ENOMEM, "a reply");
		if (head.kind == ANSWER_FAILED)
			r = err_say(e, EPROTO, "%s", text);
		else
			r = evalbook_reply(b, head.sample,
					   head.kind == ANSWER_CODE ? text : NULL, text,
					   e);
		free(text);
		if (r == 0)
			r = p->replied(p->arg, head.sample, e);
		memmove(a->got.bytes, a->got.bytes + whole, a->got.length - whole);
		a->got.length -= whole;
	}
	return r;
}

/* 1 while there may be more */
static int hear(struct evalbook *b, const struct evalask_plan *p, struct asker *a,
		struct err *e)
{
	char bytes[65536];
	size_t room = a->got.max - a->got.length;
	ssize_t n = read(a->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : err_set(e, errno, "pipe");
	if (n == 0) {
		io_close_fd(&a->fd);
		return a->got.length ? err_say(e, EBADMSG, "an asker has died") : 0;
	}
	text_add(&a->got, bytes, (size_t)n);

	int r = text_check(&a->got, "a reply", e);

	if (r == 0)
		r = take(b, p, a, e);
	return r < 0 ? r : 1;
}

static int hear_all(struct evalbook *b, const struct evalask_plan *p,
		    struct asker *askers, size_t count, struct err *e)
{
	size_t left = count;
	int r = 0;

	while (r >= 0 && left) {
		struct pollfd polls[EVALRUN_JOBS_MAX + 1];

		for (size_t i = 0; i < count; i++)
			polls[i] =
				(struct pollfd){ .fd = askers[i].fd, .events = POLLIN };
		polls[count] = (struct pollfd){ .fd = p->stop->fd, .events = POLLIN };
		if (poll(polls, count + 1, -1) < 0 && errno != EINTR)
			return err_set(e, errno, "poll");
		if (stop_came(p->stop))
			return err_say(e, EINTR, "stopped by a signal");
		for (size_t i = 0; r >= 0 && i < count; i++) {
			if (!polls[i].revents)
				continue;
			r = hear(b, p, &askers[i], e);
			left -= r == 0;
		}
	}
	return r < 0 ? r : 0;
}

/* what one that has ended had handed back, which was paid for; nobody writes any more */
static void hear_rest(struct evalbook *b, const struct evalask_plan *p, struct asker *a)
{
	struct err ignored = { 0 };

	while (a->fd >= 0 && hear(b, p, a, &ignored) > 0)
		continue;
}

/* 0 where all of them have ended well */
static int end(struct evalbook *b, const struct evalask_plan *p, struct asker *askers,
	       size_t count, int r, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		int status = 0;

		if (askers[i].pidfd >= 0 && r < 0)
			(void)pidfd_send_signal(askers[i].pidfd, SIGKILL, NULL, 0);
		while (askers[i].pid > 0 && waitpid(askers[i].pid, &status, 0) < 0 &&
		       errno == EINTR)
			continue;
		if (r == 0 && status)
			r = err_say(e, EPROTO, "an asker has died");
		/* not where it is the book that can take no more */
		if (r == -EPROTO || r == -EINTR)
			hear_rest(b, p, &askers[i]);
		io_close_fd(&askers[i].pidfd);
		io_close_fd(&askers[i].fd);
		text_free(&askers[i].got);
	}
	return r;
}

int evalask(struct evalbook *b, const struct evalask_plan *p, struct err *e)
{
	struct asker askers[EVALRUN_JOBS_MAX] = { 0 };
	bool script = strncmp(p->model, SCRIPTED, strlen(SCRIPTED)) == 0;
	size_t count = script ? 1 : p->jobs;
	size_t open = 0;
	int r = 0;

	for (size_t i = 0; i < b->count; i++)
		open += !b->samples[i].asked;
	if (!open)
		return p->confine(p->arg, NULL, e);
	for (size_t i = 0; i < count; i++)
		askers[i].fd = askers[i].pidfd = -1;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = start(&askers[i], b, p, i, count, e);
	if (r == 0)
		r = p->confine(p->arg, NULL, e);
	if (r == 0)
		r = hear_all(b, p, askers, count, e);
	return end(b, p, askers, count, r, e);
}
