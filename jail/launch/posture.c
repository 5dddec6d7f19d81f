/* SPDX-License-Identifier: MIT */
/*
 * posture.c - the walls around the waiting program, as the kernel tells them: see
 * posture.h
 *
 * The program's own process is looked at before its exec, so the program starts with what
 * is read here. What no stage after session changes is read as soon as that one is behind
 * it, while the other walls go up; the rest while it waits at the gate, all of its stages
 * behind it. All of it is compared with the plan, and not with what the launcher did. The
 * kernel does not tell whom Landlock confines, so the process itself tries: see
 * landlock_try(). See proc(5), namespaces(7).
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/walls/landlock.h"
#include "jail/launch/posture.h"

/* of a posture: for each bind, and for all else */
#define TEXT_BYTES(look) ((2 + (look)->jail->plan->bind_count) * (12U << 10))

int posture_refuse(const char *what, const char *told, const char *planned, struct err *e)
{
	int r = err_say(
		e, EPERM,
		"posture: %s reads '%.160s' where '%.160s' was planned: the program was not started",
		what, told, planned);

	for (char *at = e->text; (at = strchr(at, '\n'));)
		*at = ',';
	return r;
}

/* is each namespace new? Its name, "net:[4026531840]", is then not the launcher's.
 * stat(2) would tell the same number, and make an inode for it first. */
static int look_namespaces(const struct look *l, struct err *e)
{
	enum { NET = 3 };
	static const char *const kinds[] = { "user", "mnt", "pid",    [NET] = "net",
					     "ipc",  "uts", "cgroup", "time" };
	const struct lease *lease = &l->jail->lease;
	/* the launcher's own: one that leases launches once, and is read behind that */
	static char own[COUNT(kinds)][48];
	const struct plan *p = l->jail->plan;
	/* a template has the launcher's cgroup namespace: see launch.c */
	size_t count = p->template ? 6 : p->clock_start ? 8 : 7;
	cleanup_fd int dir = *own[count - 1] ? -1 : procfs_open(getpid());

	for (size_t i = 0; i < count; i++) {
		char file[16], jail[48] = "", *host = own[i];
		const char *number = jail + strlen(kinds[i]) + 2;
		unsigned long in, out;

		(void)snprintf(file, sizeof(file), "ns/%s", kinds[i]);
		if (readlinkat(l->dir, file, jail, sizeof(jail) - 1) < 0 ||
		    (!*host && readlinkat(dir, file, host, sizeof(own[i]) - 1) < 0))
			return err_set(e, errno, "posture: look at /proc/%d/%s",
				       l->ready->program, file);
		if (strcmp(jail, host) == 0)
			return err_say(
				e, EPERM,
				"posture: the %s namespace is the launcher's own: the program was not started",
				kinds[i]);
		in = strtoul(number, NULL, 10);
		out = strtoul(host + (number - jail), NULL, 10);
		/* the launcher has been in the lease, too */
		if (i == NET && lease->inside &&
		    (in != lease->inside || out != lease->first))
			return posture_refuse("net", jail, "the one that was entered", e);
		(void)fprintf(l->out, "%s\"%s\":{\"jail\":%lu,\"host\":%lu}",
			      i ? "," : "{", kinds[i], in, out);
	}
	(void)fprintf(l->out, "}");
	return 0;
}

/* is this fd open after exec? -errno if that cannot be read */
static int stays_open(int fds, const char *fd)
{
	char text[1024];
	const char *flags;
	ssize_t n = procfs_read_at(fds, fd, text, sizeof(text));

	if (n < 0)
		return (int)n;
	flags = procfs_find(text, "flags:");
	return flags ? !(strtoul(flags, NULL, 8) & O_CLOEXEC) : -ENODATA;
}

/* stdin, stdout and stderr stay open, and exec closes all others. A warm program executes
 * nothing, so the gate must be its only other fd. */
static int look_fds(const struct look *l, struct err *e)
{
	cleanup_folder DIR *list =
		folder_list(procfs_open_at(l->dir, "fdinfo", O_RDONLY | O_DIRECTORY));
	unsigned int stdio = 0, others = 0;
	const char *fd;

	while (list && (fd = folder_next(list))) {
		if (strtoul(fd, NULL, 10) <= 2) {
			stdio++;
			continue;
		}

		int r = stays_open(dirfd(list), fd);

		if (r < 0)
			return err_set(e, -r, "posture: read /proc/%d/fdinfo/%s",
				       l->ready->program, fd);
		others++;
		if (r > 0 || (l->jail->warm && others > 1))
			return err_say(
				e, EPERM,
				"posture: fd %s would stay open: the program was not started",
				fd);
	}
	if (!list || errno || stdio != 3)
		return err_set(e, !list || errno ? errno : ENOENT,
			       "posture: list /proc/%d/fdinfo", l->ready->program);
	(void)fprintf(l->out, "\"0-2\"");
	return 0;
}

void posture_print_landlock(int abi, FILE *out)
{
	if (abi)
		(void)fprintf(out, "{\"abi\":%d,\"tried\":\"EACCES\"}", abi);
	else
		(void)fputs("null", out);
}

static int look_landlock(const struct look *l, struct err *e)
{
	int abi = l->jail->landlock_abi;

	if (l->ready->landlock != (uint32_t)abi)
		return err_say(
			e, EPERM,
			"posture: Landlock is in force with ABI %u, and this kernel has %d: the program was not started",
			l->ready->landlock, abi);
	posture_print_landlock(abi, l->out);
	return 0;
}

/* what only some plans ask for */
enum { CPU = 1, DOMAIN = 2, CLOCKS = 4 };

static unsigned int asked(const struct plan *p)
{
	return (p->deterministic == ANSWER_YES ? CPU : 0) |
	       (p->aslr == ASLR_NO ? DOMAIN : 0) | (p->clock_start ? CLOCKS : 0);
}

/* what is read back, in the report's order */
static const struct {
	const char *name; /* in the report */
	const char *file; /* of /proc/PID, NULL for none, or more than one */
	bool early;       /* no stage after session can change it */
	bool template;    /* a template has it, too */
	int (*look)(const struct look *l, struct err *e);
	unsigned int asked; /* one of these, or 0: of every plan */
} rows[] = {
	{ "namespaces", NULL, true, true, look_namespaces, 0 },
	{ "uid_map", "uid_map", true, true, posture_map, 0 },
	{ "gid_map", "gid_map", true, true, posture_map, 0 },
	{ "setgroups", "setgroups", true, true, posture_map, 0 },
	{ "mounts", "mountinfo", true, true, posture_mounts, 0 },
	{ "cgroup_path", "cgroup", true, true, posture_cgroup, 0 },
	{ "network", NULL, true, true, posture_network, 0 },
	{ "process", "status", false, true, posture_status, 0 },
	{ "rlimits", "limits", false, false, posture_rlimits, 0 },
	{ "open_fds", NULL, false, true, look_fds, 0 },
	{ "landlock", NULL, false, false, look_landlock, 0 },
	{ "cpu", "status", false, false, posture_cpu, CPU },
	{ "personality", "personality", false, true, posture_domain, DOMAIN },
	{ "clock_offsets", "timens_offsets", false, false, posture_clocks, CLOCKS },
};

static int look_at_rows(struct look *l, bool early, struct err *e)
{
	/* mountinfo, with all the binds that a plan can have */
	static char text[1 << 20];

	l->text = text;
	for (size_t i = 0; i < COUNT(rows); i++) {
		ssize_t n = 0;
		int r;

		if (rows[i].early != early ||
		    (l->jail->plan->template && !rows[i].template) ||
		    (rows[i].asked & ~asked(l->jail->plan)))
			continue;
		l->name = rows[i].name;
		text[0] = '\0';
		if (rows[i].file)
			n = procfs_read_at(l->dir, rows[i].file, text, sizeof(text));
		if (n < 0)
			return err_set(e, (int)-n, "posture: read /proc/%d/%s",
				       l->ready->program, rows[i].file);
		(void)fprintf(l->out, ",\"%s\":", l->name);
		r = rows[i].look(l, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* what no stage after session changes */
static int look_early(struct posture *p, const struct jail *jail,
		      const struct gate_ready *ready, struct err *e)
{
	p->look = (struct look){ .jail = jail, .ready = ready };
	p->look.dir = procfs_open(ready->program);
	if (p->look.dir < 0)
		return err_set(e, -p->look.dir, "posture: open /proc/%d", ready->program);
	p->look.out = json_open(&p->json, TEXT_BYTES(&p->look));
	if (!p->look.out)
		return err_set(e, errno, "posture: allocate");
	return look_at_rows(&p->look, true, e);
}

int posture_early(const struct jail *jail, const struct gate_ready *ready,
		  struct posture *p, struct err *e)
{
	int r = p->look.ready || !ready->have ? 0 : look_early(p, jail, ready, e);

	if (r == 0 || r == -EPERM)
		return r;
	/* if the process ended because a stage failed, the frame FAIL tells why */
	posture_end(p);
	p->failed = *e;
	return 0;
}

int posture_read(const struct jail *jail, const struct gate_ready *ready,
		 struct posture *p, struct err *e)
{
	struct look *l = &p->look;
	int r = -p->failed.errnum;

	if (r < 0)
		*e = p->failed;
	else if (!l->ready)
		r = look_early(p, jail, ready, e);
	if (r == 0)
		r = look_at_rows(l, false, e);
	if (r == 0) {
		r = json_close(l->out, p->json, TEXT_BYTES(l)) < 0
			    ? err_set(e, ENOSPC, "posture: print it")
			    : 0;
		l->out = NULL;
		io_close_fd(&l->dir);
	}
	if (r < 0)
		posture_end(p);
	return r;
}

void posture_end(struct posture *p)
{
	if (p->look.out)
		(void)fclose(p->look.out);
	/* 0: nothing was looked at */
	if (p->look.dir > 0)
		io_close_fd(&p->look.dir);
	free(p->json);
	*p = (struct posture){ 0 };
}
