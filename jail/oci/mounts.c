/* SPDX-License-Identifier: MIT */
/*
 * mounts.c - "mounts" of config.json: see bundle.h
 *
 * A jail makes its own /proc, /dev and writable places; engines list theirs in every
 * config, and these rows say which of them stand for what a jail has anyway.
 */
#include <string.h>

#include "jail/oci/bundle.h"

enum mount_kind { MOUNT_LEFT, MOUNT_SIZED, MOUNT_SHOWN };

/* the first row that fits; NULL: any place */
static const struct mount_row {
	const char *at, *type;
	enum mount_kind kind;
	const char *value; /* an option's name, or why it is left out */
} rows[] = {
	{ "/dev/shm", "tmpfs", MOUNT_SIZED, "tmp-size" },
	{ "/tmp", "tmpfs", MOUNT_SIZED, "tmp-size" },
	{ "/work", "tmpfs", MOUNT_SIZED, "work-size" },
	{ "/dev/shm", "bind", MOUNT_LEFT, "a jail has its own /dev/shm" },
	{ "/dev", "tmpfs", MOUNT_LEFT, "a jail has its own /dev, of six devices" },
	{ "/run", "tmpfs", MOUNT_LEFT, "it stays as it is in the root tree, read-only" },
	{ "/run/lock", "tmpfs", MOUNT_LEFT, "it stays as it is in the root tree" },
	{ "/var/tmp", "tmpfs", MOUNT_LEFT, "it stays as it is in the root tree" },
	{ NULL, "proc", MOUNT_LEFT, "a jail has its own /proc, of process folders" },
	{ NULL, "sysfs", MOUNT_LEFT, "a jail shows nothing of the host's devices" },
	{ NULL, "cgroup", MOUNT_LEFT, "a jail does not see its limits' files" },
	{ NULL, "cgroup2", MOUNT_LEFT, "a jail does not see its limits' files" },
	{ NULL, "devpts", MOUNT_LEFT, "a jail makes no terminals" },
	{ NULL, "mqueue", MOUNT_LEFT, "a jail's calls for such queues are refused" },
	/* an engine's own files, which it lists as writable */
	{ "/etc/hosts", "bind", MOUNT_SHOWN, "bind" },
	{ "/etc/hostname", "bind", MOUNT_SHOWN, "bind" },
	{ "/etc/resolv.conf", "bind", MOUNT_SHOWN, "bind" },
	{ "/run/.containerenv", "bind", MOUNT_SHOWN, "bind" },
	{ "/run/secrets", "bind", MOUNT_SHOWN, "bind" },
	{ "/dev/termination-log", "bind", MOUNT_LEFT, "a jail has its own /dev" },
};

/* of a bind: what a jail keeps anyway, or what says nothing */
static const char *const bind_options[] = {
	"bind",     "rbind",   "ro",         "rw",         "rro",         "private",
	"rprivate", "slave",   "rslave",     "nosuid",     "nodev",       "exec",
	"relatime", "noatime", "norelatime", "nodiratime", "strictatime", NULL,
};

/* what comes behind a name that ends with "="; "" for another one that is there */
static const char *find_option(const cJSON *mount, const char *name)
{
	size_t n = strlen(name);
	const cJSON *option;

	cJSON_ArrayForEach(option, cJSON_GetObjectItemCaseSensitive(mount, "options"))
	{
		const char *text = cJSON_IsString(option) ? option->valuestring : "";

		if (strncmp(text, name, n) == 0 && (!text[n] || name[n - 1] == '='))
			return text + n;
	}
	return NULL;
}

static int take_bind(struct bundle *b, const cJSON *mount, bool shown, struct err *e)
{
	const char *source = bundle_text(mount, "source");
	const char *at = bundle_text(mount, "destination");
	const cJSON *option;
	bool writable = !shown && !find_option(mount, "ro") && !find_option(mount, "rro");

	cJSON_ArrayForEach(option, cJSON_GetObjectItemCaseSensitive(mount, "options"))
	{
		const char *name = cJSON_IsString(option) ? option->valuestring : "?";

		/* writable binds are noexec, read-only ones are not */
		if (!bundle_is_listed(name, bind_options) &&
		    !(writable && strcmp(name, "noexec") == 0))
			return err_say(e, EPERM,
				       "%s: the option '%s' is refused: leave it out", at,
				       name);
	}
	if (strchr(at, ':') || !source[0])
		return err_say(e, EINVAL,
			       "%s: a bind needs a source, and no ':' in its destination",
			       at);
	words_add(&b->options, "--bind%s=%s%s%s:%s", writable ? "-rw" : "",
		  source[0] == '/' ? "" : b->folder, source[0] == '/' ? "" : "/", source,
		  at);
	return 0;
}

int bundle_mount(struct bundle *b, const cJSON *mount, struct err *e)
{
	const char *at = bundle_text(mount, "destination");
	const char *type = find_option(mount, "bind") || find_option(mount, "rbind")
				   ? "bind"
				   : bundle_text(mount, "type");
	const char *size = find_option(mount, "size=");
	const struct mount_row *row = rows, *end = rows + COUNT(rows);

	while (row < end &&
	       ((row->at && strcmp(row->at, at) != 0) || strcmp(row->type, type) != 0))
		row++;
	if (row < end && row->kind != MOUNT_SHOWN) {
		bundle_note(b, at, row->value);
		if (row->kind == MOUNT_SIZED && size)
			words_put(&b->options, row->value, "%s", size);
		return 0;
	}
	if (strcmp(type, "bind") == 0)
		return take_bind(b, mount, row < end, e);
	return err_say(
		e, EPERM,
		"%s: the type '%s' is refused there: a jail has a tmpfs at /tmp, /dev/shm and /work, and folders of the host as binds",
		at, type);
}
