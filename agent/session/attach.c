/* SPDX-License-Identifier: MIT */
/*
 * attach.c - the stream to a `stepjail serve` that a stepjail-mcp keeps warm: see
 * attach.h
 *
 * A line goes there with the options, and one comes back: empty, or why not
 * (agent/python/stepjail_mcp/attach.py). It has no byte behind it, because frames come
 * when they are asked for.
 */
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "agent/base/json.h"
#include "agent/session/attach.h"
#include "init/io.h"

#define PATIENCE_S 10

static int connect_to(const char *path, struct err *e)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (strlen(path) >= sizeof(at.sun_path))
		return err_say(e, ENAMETOOLONG, "--server: the path is too long");
	memcpy(at.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return err_set(
			e, errno,
			"--server: start stepjail-mcp --listen %s, or leave it out",
			path);
	if (geteuid() != 0 && peer.uid != 0 && peer.uid != geteuid())
		return err_say(e, EPERM, "--server: who listens at %s is user %u", path,
			       peer.uid);
	return io_steal_fd(&fd);
}

int attach_open(const char *path, char *const *options, struct err *e)
{
	cleanup_json cJSON *request = cJSON_CreateObject();
	cJSON *words = cJSON_AddArrayToObject(request, "stepjail/attach");
	cleanup_text struct text line = { 0 };
	cleanup_fd int fd = connect_to(path, e);
	char said[ERR_TEXT_MAX] = { 0 };
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	for (; *options; options++)
		(void)cJSON_AddItemToArray(words, cJSON_CreateString(*options));
	json_print(request, &line);
	text_puts(&line, "\n");
	if (send(fd, line.bytes, line.length, MSG_NOSIGNAL) != (ssize_t)line.length)
		return err_set(e, errno, "--server: ask %s", path);
	while (have < sizeof(said) - 1 && !strchr(said, '\n') &&
	       (n = recv(fd, said + have, sizeof(said) - 1 - have, 0)) > 0)
		have += (size_t)n;
	if (strcmp(said, "\n") == 0)
		return io_steal_fd(&fd);
	said[strcspn(said, "\n")] = '\0';
	return err_say(e, EPERM, "--server: %s",
		       *said ? said : "it is no stepjail-mcp, or has just ended");
}
