/* SPDX-License-Identifier: MIT */
/*
 * key.c - the API key: see key.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/secret.h"
#include "agent/key/key.h"
#include "init/io.h"
#include "init/owner.h"

/* a key goes into an HTTP header: what could end the header is refused */
static int check(struct key *k, const char *source, struct err *e)
{
	while (k->length && strchr(" \t\r\n", k->bytes[k->length - 1]))
		k->length--;
	k->bytes[k->length] = '\0';
	for (size_t i = 0; i < k->length; i++)
		if (k->bytes[i] <= ' ' || k->bytes[i] > '~')
			return err_say(
				e, EINVAL,
				"the key from %s holds a space or another byte that no key holds; give the key alone",
				source);
	return 0;
}

static int load_file(struct key *k, const char *file, struct err *e)
{
	cleanup_fd int fd = owner_secret(file, "--key-file: ", e);
	ssize_t n = fd < 0 ? fd : io_read_text(fd, k->bytes, KEY_MAX);

	if (fd < 0)
		return fd;
	if (n == -EFBIG)
		return err_say(e, EFBIG, "--key-file: %s is too large to be a key", file);
	if (n < 0)
		return err_set(e, (int)-n, "--key-file: %s", file);
	k->length = (size_t)n;

	int r = check(k, file, e);

	return r < 0 || k->length ? r
				  : err_say(e, EINVAL, "--key-file: %s is empty", file);
}

static int load_variable(struct key *k, const char *provider, struct err *e)
{
	for (const char *const *name = secret_variables; *name; name++) {
		const char *value = getenv(*name);
		bool ours = name == secret_variables ||
			    (provider && strcmp(*name, provider) == 0);

		if (!ours || !value || !*value)
			continue;
		k->length = strlen(value);
		if (k->length >= KEY_MAX)
			return err_say(e, EFBIG, "%s is too long to be a key", *name);
		memcpy(k->bytes, value, k->length);
		return check(k, *name, e);
	}
	return 0;
}

int key_load(struct key *k, const char *file, const char *variable, struct err *e)
{
	explicit_bzero(k, sizeof(*k));

	int r = file ? load_file(k, file, e) : load_variable(k, variable, e);

	secret_forget_variables();
	if (r < 0)
		explicit_bzero(k, sizeof(*k));
	return r;
}

size_t key_redact(const struct key *k, char *bytes, size_t length, bool last)
{
	char *at = bytes, *end = bytes + length;
	size_t begun = length < k->length ? length : k->length - 1;
	size_t part = KEY_PART(k->length);

	if (k->length < KEY_SHORTEST || !length)
		return 0;
	while (begun && memcmp(end - begun, k->bytes, begun) != 0)
		begun--;
	/* fewer are what all keys of a provider begin with */
	if (last && begun >= KEY_SHORTEST)
		memset(end - begun, '*', begun);
	begun = last ? 0 : begun;
	while ((at = memmem(at, (size_t)(end - at), k->bytes, part)) &&
	       at < end - begun) {
		size_t n = part;

		while (n < k->length && at + n < end && at[n] == k->bytes[n])
			n++;
		memset(at, '*', n);
		at += n;
	}
	return begun;
}

const char *key_header(struct key *k, const char *prefix)
{
	if (!k->length)
		return "";
	(void)snprintf(k->header, sizeof(k->header), "%s%s", prefix, k->bytes);
	return k->header;
}
