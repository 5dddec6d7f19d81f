/* SPDX-License-Identifier: MIT */
/*
 * bundle.c - read a bundle, and walk its members: see bundle.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/oci/bundle.h"

#define CONFIG_BYTES (4U << 20)
#define PATH_PARTS 200

void bundle_note(const struct bundle *b, const char *part, const char *became)
{
	if (b->notes)
		(void)fprintf(b->notes, "%s: %s\n", part, became);
}

const char *bundle_text(const cJSON *object, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

bool bundle_is_listed(const char *word, const char *const *list)
{
	for (; *list; list++) {
		size_t n = strlen(*list);

		/* with the NUL, unless it is a folder */
		if (strncmp(*list, word, n + ((*list)[n - 1] != '/')) == 0)
			return true;
	}
	return false;
}

/* null, false, 0 or empty */
static bool is_nothing(const cJSON *value)
{
	return !value->child && !cJSON_IsTrue(value) &&
	       !(cJSON_IsNumber(value) && fpclassify(value->valuedouble) != FP_ZERO) &&
	       !(cJSON_IsString(value) && value->valuestring[0]);
}

/* strings of a list, paths of a list of objects that ask for more than a limit of 0, or
 * names of an object's members */
static int take_only(const cJSON *value, const struct member *m, struct err *e)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, value)
	{
		const char *name = item->string           ? item->string
				   : cJSON_IsString(item) ? item->valuestring
							  : bundle_text(item, "path");
		const cJSON *limit = cJSON_GetObjectItemCaseSensitive(item, "limit");

		if ((!limit || !is_nothing(limit)) && !bundle_is_listed(name, m->list))
			return err_say(e, EPERM, "%s is refused: %s",
				       name[0] ? name : "it", m->why);
	}
	return 0;
}

static int take(struct bundle *b, const cJSON *value, const struct member *m,
		struct err *e)
{
	const cJSON *item;
	int r = 0;

	switch (m->kind) {
	case MEMBER_TAKEN:
		return m->take(b, value, e);
	case MEMBER_EACH:
		cJSON_ArrayForEach(item, value)
		{
			if (r == 0)
				r = m->take(b, item, e);
		}
		return r;
	case MEMBER_ONLY:
		return take_only(value, m, e);
	case MEMBER_REFUSED:
		return err_say(e, EPERM, "it is refused: %s", m->why);
	case MEMBER_OPTION:
		if (!cJSON_IsString(value))
			return err_say(e, EINVAL, "it is no string");
		words_put(&b->options, m->why + 2, "%s", value->valuestring);
		break;
	case MEMBER_IGNORED:
		break;
	}
	return 0;
}

/* @object: are there rows of members of it? */
static const struct member *find_member(const char *path, bool object)
{
	size_t n = strlen(path);

	for (const struct member *m = members; m < members + member_count; m++)
		for (const char *at = m->path; at; at = strchr(at, ' ')) {
			at += *at == ' ';
			if (strncmp(at, path, n) == 0 &&
			    (object ? at[n] == '.' : at[n] == '\0' || at[n] == ' '))
				return m;
		}
	return NULL;
}

static int walk(struct bundle *b, const cJSON *object, const char *above, struct err *e)
{
	const cJSON *value;
	int r = 0;

	cJSON_ArrayForEach(value, object)
	{
		const struct member *m;
		char path[PATH_PARTS];

		/* none that is cut here is a member's */
		(void)snprintf(path, sizeof(path), "%s%s%s", above, above[0] ? "." : "",
			       value->string);
		m = find_member(path, false);
		if (is_nothing(value))
			continue;
		if (!m && cJSON_IsObject(value) && find_member(path, true)) {
			r = walk(b, value, path, e);
		} else if (m) {
			bundle_note(b, path, m->why);
			r = take(b, value, m, e);
			r = r < 0 ? err_within(e, "config.json: %s: ", path) : 0;
		} else {
			bundle_note(b, path, "not of the specification: ignored");
		}
		if (r < 0)
			break;
	}
	return r;
}

/* nothing of the host is asked for by leaving something out */
static int check_complete(const struct bundle *b, struct err *e)
{
	const cJSON *part = cJSON_GetObjectItemCaseSensitive(b->config, "linux");

	if (!cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(part, "namespaces")))
		return err_say(
			e, EPERM,
			"config.json: linux.namespaces is missing, so those of the host are asked for: a jail has its own");
	if (!b->args.count || !b->rootfs[0])
		return err_say(e, EINVAL, "config.json: %s is missing or empty",
			       b->rootfs[0] ? "process.args" : "root.path");
	return 0;
}

int bundle_take(struct bundle *b, struct err *e)
{
	int r;

	/* unless the config says otherwise; an engine ends its containers itself */
	words_put(&b->options, "wall-time", "unlimited");
	words_put(&b->options, "cpus", "unlimited");
	words_put(&b->options, "chdir", "/");
	words_put(&b->options, "quiet", "yes");
	r = walk(b, b->config, "", e);
	return r < 0 ? r : check_complete(b, e);
}

static int read_object(const char *path, cJSON **object, struct err *e)
{
	cleanup_free char *text = words_allocate(CONFIG_BYTES);
	ssize_t n = io_read_file_at(AT_FDCWD, path, text, CONFIG_BYTES);

	if (n < 0)
		return err_set(e, (int)-n, "read %s", path);
	*object = cJSON_ParseWithOpts(text, NULL, true);
	if (!cJSON_IsObject(*object))
		return err_say(e, EBADMSG, "%s is no JSON object", path);
	/* where a string would end at it, and hide its rest */
	if (strstr(text, "\\u0000") || strlen(text) != (size_t)n)
		return err_say(e, EBADMSG, "%s holds a NUL", path);
	return 0;
}

int bundle_read(struct bundle *b, const char *dir, struct err *e)
{
	char path[PATH_MAX + 16];
	int r;

	if (!realpath(dir ? dir : ".", b->folder))
		return err_set(e, errno, "--bundle %s", dir ? dir : ".");
	(void)snprintf(path, sizeof(path), "%s/config.json", b->folder);
	r = read_object(path, &b->config, e);
	return r < 0 ? r : bundle_take(b, e);
}

int bundle_process(struct bundle *b, const char *path, struct err *e)
{
	cJSON *process = NULL;
	int r = read_object(path, &process, e);

	b->config = cJSON_CreateObject();
	(void)cJSON_AddItemToObject(b->config, "process", process);
	if (r == 0)
		r = walk(b, b->config, "", e);
	return r == 0 && !b->args.count
		       ? err_say(e, EINVAL, "%s: args is missing or empty", path)
		       : r;
}

void bundle_free(struct bundle *b)
{
	words_free(&b->options);
	words_free(&b->args);
	cJSON_Delete(b->config);
	b->config = NULL;
}
