/* SPDX-License-Identifier: MIT */
/*
 * violation.c - refused calls: see violation.h
 *
 * Theory of operation
 *   The kernel holds a thread that makes such a call until the listener's owner answers.
 *   The answer is EPERM. Memory that the arguments point to is not read, so it does not
 *   matter that the program can change that memory meanwhile. Sessions have a second
 *   answer, "go on" (SECCOMP_USER_NOTIF_FLAG_CONTINUE), for the calls of signal_guard.c
 *   alone: a policy decides these by numbers in registers, which nobody can change while
 *   the thread is held. A session's state that waits is held in such a call for as long
 *   as it waits, see session_park.c.
 *   A flood of calls waits: VIOLATION_PER_S answers are given in a second. The memory for
 *   kinds of calls has a fixed size.
 */
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "init/io.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/walls/seccomp/signal_guard.h"
#include "jail/base/json.h"
#include "jail/watch/violation.h"

#define LEARNED_BYTES 65536

/* A newer kernel may have longer structs; they fit in as well. */
union message {
	struct seccomp_notif notif;
	struct seccomp_notif_resp resp;
	char room[1024];
};

static void add_word(char *text, size_t size, const char *word)
{
	size_t used = strlen(text);

	(void)snprintf(text + used, size - used, "%s%s", used ? "|" : "", word);
}

/* Write the names of what the arguments ask for. Return: is the call a violation, by any
 * row that speaks of it? */
static bool describe(const struct seccomp_data *data, bool locked, char *label,
		     size_t size)
{
	bool violation = call_foreign(data);

	label[0] = '\0';
	for (const struct refused_row *row = NULL;
	     (row = call_refused(data, locked, row));) {
		violation = violation || row->violation;
		if (row->label)
			add_word(label, size, row->label);
	}
	return violation;
}

static bool same_kind(const struct violation *k, const struct seccomp_data *data,
		      const char *label)
{
	const char *name = call_name(data);
	int arg = name ? call_telling(name) : -1;

	return k->first.nr == data->nr && k->first.arch == data->arch &&
	       strcmp(k->label, label) == 0 &&
	       (arg < 0 || label[0] ||
		(uint32_t)k->first.args[arg] == (uint32_t)data->args[arg]);
}

/* @guarded: the call is a signal that the policy refused; no row speaks of such a call */
static bool remember(struct violations *v, const struct seccomp_notif *n, bool locked,
		     bool guarded, uint64_t now_ms)
{
	char label[VIOLATION_LABEL_MAX];
	bool violation = describe(&n->data, locked, label, sizeof(label)) || guarded;
	struct violation *k = v->kind;

	v->total++;
	while (k < v->kind + v->kinds && !same_kind(k, &n->data, label))
		k++;
	if (k == v->kind + VIOLATION_KINDS_MAX) {
		v->beyond++;
		return violation;
	}
	if (k == v->kind + v->kinds) {
		v->kinds++;
		*k = (struct violation){
			.first = n->data,
			.pid = (pid_t)n->pid,
			.first_ms = now_ms,
			.violation = violation,
		};
		memcpy(k->label, label, sizeof(k->label));
	}
	k->last_ms = now_ms;
	k->count++;
	return violation;
}

static bool waits(struct violations *v)
{
	struct pollfd p = { .fd = v->fd, .events = POLLIN };

	if (poll(&p, 1, 0) <= 0)
		return false;
	/* The last process of the filter is gone. In a session the event loop hears of
	 * that and closes the fd. */
	if (!(p.revents & POLLIN) && !v->policy)
		io_close_fd(&v->fd);
	return p.revents & POLLIN;
}

/* @error: -errno for the call, or 0 to let it go on. Return: as violation_let() */
static int answer(int fd, uint64_t id, int error)
{
	union message a = { 0 };

	a.resp.id = id;
	a.resp.error = error;
	if (error == 0)
		a.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	while (syscall(SYS_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &a) < 0) {
		/* the thread was killed meanwhile, or had a signal */
		if (errno == ENOENT)
			return 0;
		/* the launcher was stopped from a terminal, and continued */
		if (errno != EINTR)
			return -errno;
	}
	return 1;
}

int violation_let(int fd, uint64_t id, int error)
{
	return answer(fd, id, error);
}

bool violation_holds(int fd, uint64_t id)
{
	return ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* the same for callers to whom a thread that is held no more is no news: 0 or -errno */
static int settle(int fd, uint64_t id, int error)
{
	int r = answer(fd, id, error);

	return r < 0 ? r : 0;
}

/* Return: as violation_serve() */
static int judge(struct violations *v, const struct seccomp_notif *n,
		 const struct plan *p, uint64_t now_ms)
{
	const struct notify_policy *c = v->policy;
	bool guarded = c && signal_guard_asks(p, &n->data);
	struct violations *charged = v;
	bool violation;

	if (guarded) {
		enum notify_answer said = c->decide(c->owner, n);

		if (said == NOTIFY_LATER)
			return 0;
		if (said == NOTIFY_CONTINUE)
			return settle(v->fd, n->id, 0);
		if (said == NOTIFY_NO_PROCESS)
			return settle(v->fd, n->id, -ESRCH);
	}
	if (c)
		charged = c->charge(c->owner, (pid_t)n->pid);
	violation = remember(charged, n, p->lock_code == LOCK_YES, guarded, now_ms);
	/* the thread stays held until the signal kills it: it runs no further instruction
	 * */
	if (violation && p->on_violation == VIOLATION_KILL) {
		if (!c)
			return 1;
		c->kill(c->owner, charged, n);
		return 0;
	}
	return settle(v->fd, n->id, -EPERM);
}

int violation_serve(struct violations *v, const struct plan *p, uint64_t now_ms)
{
	unsigned int before = v->budget;

	/* who decides may have charged more than one for an answer */
	while (v->budget && before - v->budget < VIOLATION_PER_SERVE && waits(v)) {
		union message n = { 0 };

		/* The kernel may have withdrawn the call, as its thread was killed or had
		 * a signal. That costs as much of the budget as an answer. */
		v->budget--;
		if (syscall(SYS_ioctl, v->fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
			if (errno == ENOENT || errno == EINTR)
				continue;
			return -errno;
		}

		int r = judge(v, &n.notif, p, now_ms);

		if (r != 0)
			return r;
	}
	return 0;
}

static const char *name_of(const struct violation *k, char *text, size_t size)
{
	const char *name = call_name(&k->first);

	if (!name)
		(void)snprintf(text, size, "#%d", k->first.nr);
	return name ? name : text;
}

static void print_kind(const struct violation *k, FILE *out)
{
	char number[16];

	json_after("{\"syscall\":", name_of(k, number, sizeof(number)), out);
	json_after(",\"arch\":", call_arch(&k->first), out);
	json_after(",\"asks\":", k->label[0] ? k->label : NULL, out);
	(void)fputs(",\"args\":[", out);
	for (size_t i = 0; i < 6; i++)
		(void)fprintf(out, "%s\"0x%" PRIx64 "\"", i ? "," : "",
			      (uint64_t)k->first.args[i]);
	(void)fprintf(out,
		      "],\"pid\":%d,\"first_ms\":%" PRIu64 ",\"last_ms\":%" PRIu64
		      ",\"count\":%" PRIu64 ",\"violation\":%s}",
		      k->pid, k->first_ms, k->last_ms, k->count,
		      k->violation ? "true" : "false");
}

void violation_print(const struct violations *v, bool listened, FILE *out)
{
	if (!listened) {
		(void)fputs("null", out);
		return;
	}
	(void)fprintf(out, "{\"total\":%" PRIu64 ",\"unlisted\":%" PRIu64 ",\"list\":[",
		      v->total, v->beyond);
	for (unsigned int i = 0; i < v->kinds; i++) {
		(void)fputs(i ? "," : "", out);
		print_kind(&v->kind[i], out);
	}
	(void)fputs("]}", out);
}

const char *violation_name(const struct violations *v)
{
	for (unsigned int i = 0; i < v->kinds; i++)
		if (v->kind[i].violation) {
			const char *name = call_name(&v->kind[i].first);

			return name ? name : "unknown";
		}
	return NULL;
}

/* whether the row's instructions, as prefix_row() writes them, refuse this call */
static bool refuses(const struct denied_without_row *row, const struct seccomp_data *data)
{
	if (row->nr != data->nr)
		return false;
	for (size_t i = 0; i < COUNT(row->test); i++) {
		const struct prefix_test *t = &row->test[i];
		uint64_t word = data->args[t->arg] >> (t->high ? 32 : 0);

		if ((((uint32_t)word & t->mask) == t->value) == t->differs)
			return false;
	}
	return true;
}

const struct denied_without_row *denied_why(unsigned int lacks,
					    const struct seccomp_data *data)
{
	for (size_t i = 0; data->arch == CALL_NATIVE && i < denied_without_row_count; i++)
		if ((denied_without_rows[i].lack & lacks) &&
		    refuses(&denied_without_rows[i], data))
			return &denied_without_rows[i];
	return NULL;
}

static const char locks[] = "--lock-code refuses it";

static bool is_locked(const char *name)
{
	for (size_t i = 0; i < locked_row_count; i++)
		if (strcmp(locked_rows[i].syscall, name) == 0)
			return true;
	return false;
}

/* Why can no policy row allow this call? NULL where one can. @risk: what the call is
 * refused for */
static const char *find_barrier(const struct violation *k, const char *name,
				unsigned int lacks, bool locked, const char **risk)
{
	static const char never[] = "no policy may allow it";
	const struct denied_without_row *denied = denied_why(lacks, &k->first);
	bool barred = !call_name(&k->first);

	*risk = "not known to stepjail: read its manual page first";
	if (denied) {
		*risk = denied->why;
		return "refused on this host alone: see \"shut\" in the report";
	}
	if (call_foreign(&k->first)) {
		*risk = "the entry of another architecture";
		return never;
	}
	for (const struct refused_row *row = NULL;
	     !barred && (row = call_refused(&k->first, locked, row));) {
		barred = row->barred;
		*risk = row->why;
	}
	if (locked && is_locked(name))
		return locks;
	return barred ? never : NULL;
}

/* Is the lock not all that refuses it? */
static bool needs_row(const struct violation *k)
{
	const struct refused_row *row = call_refused(&k->first, false, NULL);

	return row && !row->barred;
}

const char *violation_hint(const struct violations *v, bool locked)
{
	const char *hint = "no option allows it", *risk;
	char number[16];

	for (unsigned int i = 0; i < v->kinds; i++) {
		const struct violation *k = &v->kind[i];
		const char *barrier = find_barrier(k, name_of(k, number, sizeof(number)),
						   v->lacks, locked, &risk);

		if (k->violation && barrier == locks && !needs_row(k))
			return "--lock-code=no allows it";
		if (k->violation && (!barrier || barrier == locks))
			hint = "--learn shows what would allow it";
	}
	return hint;
}

/* Return: does --lock-code refuse it? */
static bool learn_kind(const struct violation *k, unsigned int lacks, bool locked,
		       FILE *out)
{
	char number[16];
	const char *name = name_of(k, number, sizeof(number)), *risk;
	const char *barrier = find_barrier(k, name, lacks, locked, &risk);
	int arg = call_telling(name);

	(void)fprintf(out, "# %s%s%s%s, %" PRIu64 " time%s: %s\n", name,
		      k->label[0] ? " (" : "", k->label, k->label[0] ? ")" : "", k->count,
		      k->count == 1 ? "" : "s", risk);
	if (barrier)
		(void)fprintf(out, "#   %s\n", barrier);
	else if (arg >= 0)
		(void)fprintf(out, "allow-syscall %s=0x%x\n", name,
			      (uint32_t)k->first.args[arg]);
	else
		(void)fprintf(out, "allow-syscall %s\n", name);
	return barrier == locks;
}

void violation_learn(const struct violations *v, const struct plan *p, FILE *out)
{
	bool any = false;

	for (unsigned int i = 0; i < v->kinds; i++)
		any |= learn_kind(&v->kind[i], v->lacks, p->lock_code == LOCK_YES, out);
	(void)fputs(v->total == 0 ? "# no system call was refused\n"
		    : any         ? "lock-code no\n"
				  : "",
		    out);
	if (v->beyond)
		(void)fprintf(out, "# and %" PRIu64 " calls of further kinds\n",
			      v->beyond);
}

int violation_tell(const struct violations *v, bool listened, const struct plan *p,
		   struct err *e)
{
	cleanup_free char *text = NULL;
	FILE *out = json_open(&text, LEARNED_BYTES);
	ssize_t n;

	if (!out)
		return err_set(e, errno, "--learn: allocate");
	if (listened) {
		violation_learn(v, p, out);
		(void)fputs(
			"# not learned: networks that were not reached (allow-host HOST:443), files that could not be written (bind-rw SRC:DST)\n",
			out);
	} else
		(void)fputs(
			"# an outer sandbox keeps the record of refused calls: nothing was learned\n",
			out);
	n = json_close(out, text, LEARNED_BYTES);
	if (n >= 0)
		n = io_write_all(STDERR_FILENO, text, (size_t)n);
	return n < 0 ? err_set(e, (int)-n, "--learn: write what was learned") : 0;
}
