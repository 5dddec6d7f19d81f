/* SPDX-License-Identifier: MIT */
/*
 * frames.c - any bytes from a hostile init, up to the verdict and the report
 *
 * The launcher's loop reads them from its control socket; then it gathers, judges and
 * writes its report, which must be JSON with a verdict, whatever was said. The walls'
 * read-back is answered here: there is no program to look at.
 * The first byte says what else is so: bit 0 a leaf, bits 2 and 3 what came through the
 * gate, bit 4 --allow-missing=audit, bit 5 a listener that has something to tell, bit 6 a
 * posture that is refused.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/plan/option.h"
#include "jail/walls/gate.h"
#include "jail/watch/report.h"
#include "jail/watch/run_loop.h"
#include "tests/fuzz/fuzz.h"

enum gate_says { SAYS_NOTHING, SAYS_READY, SAYS_LISTENER, SAYS_END };

static bool refuses;

/* linked with --wrap=posture_read */
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e)
{
	static char nothing[] = "";

	(void)jail;
	HOLDS(ready->program == getpid() && ready->landlock == 7);
	p->json = refuses ? NULL : nothing;
	return refuses ? err_say(e, EPERM, "posture: a wall is missing") : 0;
}

/* READY as it is sent, with an eventfd as the listener, which answers nothing */
static void say(int inside, enum gate_says what, bool tells)
{
	cleanup_fd int listener = eventfd(tells, EFD_CLOEXEC);
	struct err e;

	HOLDS(listener >= 0);
	if (what == SAYS_NOTHING || what == SAYS_END)
		return;
	/* its end of file, that it need not wait for GO */
	HOLDS(shutdown(inside, SHUT_RD) == 0);
	HOLDS(gate_hand_over(inside, GATE_NETLINK, &(int){ eventfd(0, EFD_CLOEXEC) },
			     &e) == 0);
	HOLDS(gate_hand_over(inside, GATE_LISTENER,
			     what == SAYS_READY ? &(int){ -1 } : &listener, &e) == 0);
	HOLDS(gate_wait(inside, 7, &e) == -EPIPE);
}

static void check_report(const struct run *run, const struct judgement *j)
{
	static char text[65536];
	int fd = fuzz_file("", 0);
	struct err e;
	ssize_t n;

	HOLDS(report_write(fd, &run->up.jail, &run->outcome, j, &e) == 0);
	n = pread(fd, text, sizeof(text), 0);
	HOLDS(n > 0 && (size_t)n < sizeof(text) && text[n - 1] == '\n');
	(void)close(fd);

	cJSON *whole = cJSON_ParseWithLength(text, (size_t)n);
	const char *verdict =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(whole, "verdict"));
	bool known = false;

	HOLDS(verdict);
	for (int i = 0; i < VERDICT_COUNT; i++)
		known = known || strcmp(verdict_names[i], verdict) == 0;
	HOLDS(known);
	for (ssize_t i = 0; i + 1 < n; i++)
		HOLDS(text[i] >= ' ' && text[i] < 0x7f);
	cJSON_Delete(whole);
}

static void check_judgement(const struct run *run, const struct judgement *j)
{
	HOLDS(j->status >= 0 && j->status <= 255);
	HOLDS(j->exit_code >= -1 && j->exit_code <= 255);
	HOLDS(j->signal >= 0 && j->signal < 128);
	/* no start without the walls' read-back, and ears for violations or leave to have
	 * none */
	if (run->outcome.started)
		HOLDS(run->outcome.posture.json && !run->up.jail.limited &&
		      (run->outcome.listened ||
		       (run->up.jail.plan->allow_missing & PART_AUDIT)));
	/* no success without the gate, and an end that was told */
	if (j->verdict == VERDICT_COMPLETED)
		HOLDS(run->outcome.started && run->outcome.have_exit && j->status == 0);
	if (j->verdict != VERDICT_LAUNCHER_ERROR)
		HOLDS(run->outcome.started && j->error.errnum == 0);
	else
		fuzz_error(&j->error, -j->error.errnum);
	if (!run->outcome.started)
		HOLDS(j->status == STATUS_FAILED);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char *const none[] = { NULL };
	static struct plan plan;
	static struct keeper keeper;
	static struct run run;
	struct judgement j;
	struct err e;
	int ends[2], gate[2], r;

	keeper = (struct keeper){ .socket = -1 }; /* nobody to ask for samples */
	/* it must all fit into the socket at once: nobody else reads it */
	if (size < 1 || size > 150000 ||
	    (!plan.rootfs && option_parse(&plan, none, &e) < 0))
		return 0;
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	HOLDS(gate_make(&gate[0], &gate[1], &e) == 0);
	refuses = bytes[0] & 64;
	plan.allow_missing = bytes[0] & 16 ? PART_AUDIT : 0;
	say(gate[1], (enum gate_says)(bytes[0] >> 2 & 3), bytes[0] & 32);
	if ((bytes[0] >> 2 & 3) == SAYS_END)
		io_close_fd(&gate[1]);
	run = RUN_NONE;
	run.up.jail.keeper = &keeper;
	run.up.jail.plan = &plan;
	run.up.jail.limited = bytes[0] & 1;
	run.up.jail.control = ends[0];
	run.up.jail.gate = gate[0];
	run.up.jail.pid = getpid();
	run.signals = eventfd(0, EFD_CLOEXEC);
	HOLDS(size == 1 || send(ends[1], bytes + 1, size - 1,
				MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size - 1);
	(void)close(ends[1]);
	r = startup_wait(&run.up, run.signals, &run.outcome.cancel_signal, &e);
	HOLDS(r < 0 || (r == 1 && run.up.complete));
	if (r > 0)
		r = run_loop_run(&run, &e);
	HOLDS(r == 0 || !run.outcome.started);
	if (r < 0)
		j = (struct judgement){ .verdict = VERDICT_LAUNCHER_ERROR,
					.exit_code = -1,
					.status = STATUS_FAILED,
					.error = e };
	else
		outcome_judge(&run.outcome, &plan, &j);
	check_judgement(&run, &j);
	check_report(&run, &j);
	io_close_fd(&run.up.jail.control);
	tmpfs_usage_close(&run.up.tmpfs);
	io_close_fd(&run.up.jail.gate);
	gate_close(&run.up.gate);
	io_close_fd(&run.outcome.refused.fd);
	io_close_fd(&gate[1]);
	(void)close(run.signals);
	return 0;
}
