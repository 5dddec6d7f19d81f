/* SPDX-License-Identifier: MIT */
/*
 * facts.c - what the client is told of a jail when it opens: see spawned_print_facts()
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/base/json.h"
#include "jail/base/sys.h"
#include "jail/serve/spawner/spawned.h"
#include "jail/watch/report.h"

int spawned_print_facts(const struct spawned *j)
{
	const struct jail *jail = &j->run.jail;
	cleanup_free char *text = NULL;
	cleanup_fd int fd = memfd_create("facts", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FILE *out = json_open(&text, WIRE_PAYLOAD_MAX);
	ssize_t n = -1;

	if (out) {
		(void)fprintf(out, "\"host_uid\":%u,\"warm\":%s,\"why_cold\":",
			      ids_program(&jail->ids), jail->warm ? "true" : "false");
		json_after("", jail->warm ? NULL : j->spawner->pool.why, out);
		(void)fputs(",\"not_enforced\":", out);
		report_not_enforced(out, jail, &j->run.outcome);
		(void)fputs(",\"posture\":", out);
		report_posture(&j->run.outcome.posture, jail, out);
		n = json_close(out, text, WIRE_PAYLOAD_MAX);
	}
	if (n < 0 || io_write_all(fd, text, (size_t)n) < 0 || sys_seal(fd) < 0)
		return -1;
	return io_steal_fd(&fd);
}
