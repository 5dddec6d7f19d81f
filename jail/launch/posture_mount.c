/* SPDX-License-Identifier: MIT */
/*
 * posture_mount.c - the mounts of the waiting program, as the kernel tells them: see
 * posture.h and, for /proc/PID/mountinfo, proc(5)
 *
 * They must be those of places_list(), each with its flags, and no other. None shows a
 * path of the host but a writable bind, and none is of a peer group, by which mounts of
 * the host would spread into the jail. What is shown under the program's id is.
 */
#include <string.h>

#include "init/io.h"
#include "jail/walls/places.h"
#include "jail/launch/posture.h"
#include "jail/base/sys.h"

/* a line, cut up in place */
struct seen {
	char *root;           /* what of its file system is shown */
	char *at;             /* path in the jail */
	char *flags;          /* of the mount */
	char *peer;           /* "-" where it has none */
	char *type, *options; /* of the file system */
};

static const struct {
	uint64_t attr;
	const char *flag, *lacks;
} flags[] = {
	{ MOUNT_ATTR_RDONLY, "ro", "is writable" },
	{ MOUNT_ATTR_NOSUID, "nosuid", "is not nosuid" },
	{ MOUNT_ATTR_NODEV, "nodev", "is not nodev" },
	{ MOUNT_ATTR_NOEXEC, "noexec", "is not noexec" },
};

/* \040 and the like stand for what would end a field or a line */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		unsigned int byte;

		if (*at == '\\' && sscanf(at + 1, "%3o", &byte) == 1) {
			*to++ = (char)byte;
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static bool parse(char *line, struct seen *s)
{
	char *fields[10];
	size_t n = 0;

	while (n < 10 && line)
		fields[n++] = strsep(&line, " ");
	if (n < 10)
		return false;
	*s = (struct seen){ fields[3], fields[4], fields[5],
			    fields[6], fields[7], fields[9] };
	decode(s->root);
	decode(s->at);
	return true;
}

/* what of it is not as planned, in words, or NULL */
static const char *differs(const struct seen *s, const struct place *place)
{
	for (size_t i = 0; i < COUNT(flags); i++)
		if ((place->attr & flags[i].attr) &&
		    !procfs_lists(s->flags, flags[i].flag, ","))
			return flags[i].lacks;
	if (strcmp(s->peer, "-") != 0)
		return "is shared with other namespaces";
	if (place->type && strcmp(s->type, place->type) != 0)
		return "is of another file system";
	if (place->options && !procfs_lists(s->options, place->options, ","))
		return "is of a file system with other options";
	/* a single name: a folder of the assembly, a device, or a file that is bound */
	if (!place->shows_path && strchr(s->root + 1, '/'))
		return "shows a path of the host";
	return NULL;
}

/* find the place that this mount is of, and strike it off the list. Return: its index */
static int strike(const struct seen *s, struct place *places, size_t count, struct err *e)
{
	const char *why = "was not planned";

	for (size_t i = 0; i < count; i++) {
		if (!places[i].at || strcmp(places[i].at, s->at) != 0)
			continue;
		why = differs(s, &places[i]);
		if (!why) {
			places[i].at = NULL;
			return (int)i;
		}
	}
	return err_say(e, EPERM,
		       "posture: the mount %.300s %s: the program was not started", s->at,
		       why);
}

/* Does the program own what was closed to it? */
static int check_mapped(const struct look *l, const char *at, struct err *e)
{
	cleanup_fd int root = openat(l->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		sys_openat2(root, at + 1, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, fd < 0 ? -fd : errno, "posture: look at %.300s", at);
	return st.st_uid == ids_program(&l->jail->ids)
		       ? 0
		       : err_say(e, EPERM,
				 "posture: %.300s belongs to uid %u in the jail, and not to the program: the program was not started",
				 at, st.st_uid);
}

int posture_mounts(const struct look *l, struct err *e)
{
	struct place places[PLACES_MAX];
	const struct plan *p = l->jail->plan;
	int count = (int)places_list(p, places), binds = count - (int)p->bind_count;
	const char *separator = "[";
	char *text = l->text;

	for (char *line; (line = strsep(&text, "\n")) && *line;) {
		struct seen s;

		if (!parse(line, &s))
			return err_say(e, EPERM,
				       "posture: mountinfo has a line of too few fields");

		int r = strike(&s, places, (size_t)count, e);
		bool mapped = r >= binds && !p->template &&
			      l->jail->sources->bind[r - binds].mapped;

		if (mapped)
			r = check_mapped(l, s.at, e);
		if (r < 0)
			return r;
		(void)fprintf(l->out, "%s", separator);
		json_after("{\"at\":", s.at, l->out);
		json_after(",\"type\":", s.type, l->out);
		json_after(",\"flags\":", s.flags, l->out);
		json_after(",\"root\":", s.root, l->out);
		(void)fprintf(l->out, "%s}", mapped ? ",\"idmapped\":true" : "");
		separator = ",";
	}
	for (int i = 0; i < count; i++)
		if (places[i].at)
			return err_say(
				e, EPERM,
				"posture: the mount %.300s is missing: the program was not started",
				places[i].at);
	(void)fprintf(l->out, "]");
	return 0;
}
