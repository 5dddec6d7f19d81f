/* SPDX-License-Identifier: MIT */
/*
 * run_confine.c - the launcher of `run` becomes a watcher: see run_confine.h
 *
 * What stays open, beside stdin, stdout and stderr:
 *	the report, spill files, signalfd		opened by the caller's options
 *	control socket, gate, captured pipes, listener	of the jail
 *	/work and /tmp of the jail, as paths		to ask whether they are full
 *	files of the cgroup leaf			usage, and cgroup.kill
 *	init's pidfd, the keeper's socket		for the end
 */
#include <string.h>

#include "init/io.h"
#include "jail/launch/keeper.h"
#include "jail/walls/ids.h"
#include "jail/watch/confine.h"
#include "jail/watch/run_confine.h"

#include "filter_watcher.h"

int run_confine(struct run *run, struct err *e)
{
	static struct confinement told;
	const struct jail *j = &run->up.jail;
	const struct capture_stream *out = run->outcome.capture.stream;
	int keep[14 + CGROUP_HELD] = {
		run->report,
		run->signals,
		run->up.room.work,
		run->up.room.tmp,
		j->control,
		j->gate,
		j->pidfd,
		j->keeper->socket,
		out[0].outside,
		out[1].outside,
		out[0].spill,
		out[1].spill,
		run->up.gate.listener,
		/* where the program does not start, its files are removed */
		run->outcome.capture.folder,
	};
	struct confine c = {
		.keep = keep,
		.keep_count = COUNT(keep),
		.root = -1,
		.landlock_abi = j->landlock_abi,
		.filter = filter_watcher,
		.filter_count = COUNT(filter_watcher),
	};
	int r = ids_take_other(&j->ids, &c.id, e);

	memcpy(keep + 14, j->cgroup.held, sizeof(j->cgroup.held));
	if (r < 0)
		return r;
	/* of these nothing is used any more */
	io_close_fd(&run->up.jail.ids.slot_fd);
	io_close_fd(&run->up.jail.cgroup.base);
	io_close_fd(&run->up.jail.cgroup.leaf);
	io_close_fd(&run->up.jail.cgroup.inner);
	r = confine_self(&c, &told, e);
	if (r == 0)
		io_close_fd(&run->outcome.capture.folder);
	run->outcome.watcher = &told;
	return r;
}
