/* SPDX-License-Identifier: MIT */
/*
 * key.c - the API key: see key.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/secret.h"
#include "agent/key/key.h"
#include "init/io.h"

static void wipe(struct key *k)
{
	explicit_bzero(k, sizeof(*k));
}

/* a key goes into an HTTP header: what could end the header is refused */
static int check(struct key *k, const char *source, struct err *e)
{
	while (k->length && strchr(" \t\r\n", k->bytes[k->length - 1]))
		k->length--;
	k->bytes[k->length] = '\0';
	for (size_t i = 0; i < k->length; i++) {
		if (k->bytes[i] > ' ' && k->bytes[i] <= '~')
			continue;
		wipe(k);
		return err_say(
			e, EINVAL,
			"the key from %s holds a space or another byte that no key holds; give the key alone",
			source);
	}
	return 0;
}

static int load_file(struct key *k, const char *file, struct err *e)
{
	cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, errno, "--key-file: %s", file);

	ssize_t n = io_read_all(fd, k->bytes, KEY_MAX);

	if (n < 0 || n == KEY_MAX) {
		wipe(k);
		if (n < 0)
			return err_set(e, (int)-n, "--key-file: %s", file);
		return err_say(e, EFBIG, "--key-file: %s is too large to be a key", file);
	}
	k->length = (size_t)n;

	int r = check(k, file, e);

	if (r == 0 && !k->length)
		return err_say(e, EINVAL, "--key-file: %s is empty", file);
	return r;
}

int key_load(struct key *k, const char *file, const char *variable, struct err *e)
{
	const char *source = NULL;
	int r = 0;

	wipe(k);
	for (const char *const *name = secret_variables; *name && !file && !source;
	     name++) {
		const char *value = getenv(*name);
		size_t length = value ? strlen(value) : 0;

		if (!length || (name != secret_variables &&
				(!variable || strcmp(*name, variable) != 0)))
			continue;
		source = *name;
		if (length >= KEY_MAX)
			r = err_say(e, EFBIG, "%s is too long to be a key", source);
		else
			memcpy(k->bytes, value, k->length = length);
	}
	secret_forget_variables();
	if (file)
		return load_file(k, file, e);
	return r < 0 || !source ? r : check(k, source, e);
}

size_t key_redact(const struct key *k, char *bytes, size_t length, bool last)
{
	char *at = bytes;
	size_t begun = length < k->length ? length : k->length - 1;

	if (k->length < KEY_SHORTEST || !length)
		return 0;
	while ((at = memmem(at, length - (size_t)(at - bytes), k->bytes, k->length))) {
		memset(at, '*', k->length);
		at += k->length;
	}
	while (begun && memcmp(bytes + length - begun, k->bytes, begun) != 0)
		begun--;
	if (last && begun >= KEY_SHORTEST) /* fewer are what all keys of a provider
					      begin with */
		memset(bytes + length - begun, '*', begun);
	return last ? 0 : begun;
}

const char *key_header(struct key *k, const char *prefix)
{
	if (!k->length)
		return "";
	(void)snprintf(k->header, sizeof(k->header), "%s%s", prefix, k->bytes);
	return k->header;
}
