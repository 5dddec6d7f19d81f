/* SPDX-License-Identifier: MIT */
/*
 * attach.c - the stream to a `stepjail serve` that a stepjail-mcp keeps warm: see attach.h
 *
 * A line goes there, and a line comes back (agent/python/stepjail_mcp/attach.py). It has
 * no byte behind it, because frames come when they are asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/session/attach.h"
#include "init/io.h"

#define PATIENCE_S 60
#define ANSWER_BYTES 4096

static int connect_to(const char *path, struct err *e)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (strlen(path) >= sizeof(at.sun_path))
		return err_say(e, ENAMETOOLONG, "--server %s: the path is too long",
			       path);
	memcpy(at.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return err_set(
			e, errno,
			"--server %s: start stepjail-mcp --listen %s, or leave it out",
			path, path);
	if (geteuid() != 0 && peer.uid != 0 && peer.uid != geteuid())
		return err_say(e, EPERM,
			       "--server %s: user %u listens there, who is not this user",
			       path, peer.uid);
	return io_steal_fd(&fd);
}

/* a request of method stepjail/attach, as one line */
static void write_request(char *const *options, struct text *line)
{
	cleanup_json cJSON *request = cJSON_CreateObject();
	cJSON *params, *words;

	json_add(request, "jsonrpc", "2.0");
	json_add(request, "id", 1);
	json_add(request, "method", "stepjail/attach");
	params = cJSON_AddObjectToObject(request, "params");
	words = cJSON_AddArrayToObject(params, "options");
	for (; *options; options++)
		(void)cJSON_AddItemToArray(words, cJSON_CreateString(*options));
	json_print(request, line);
	text_puts(line, "\n");
}

int attach_open(const char *path, char *const *options, struct err *e)
{
	cleanup_fd int fd = connect_to(path, e);
	cleanup_text struct text line = { 0 };
	char bytes[ANSWER_BYTES];
	size_t have = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	write_request(options, &line);
	if (send(fd, line.bytes, line.length, MSG_NOSIGNAL) != (ssize_t)line.length)
		return err_set(e, errno, "--server %s: ask it", path);
	while (have < sizeof(bytes) && (have == 0 || bytes[have - 1] != '\n') &&
	       (n = recv(fd, bytes + have, sizeof(bytes) - have, 0)) > 0)
		have += (size_t)n;

	cleanup_json cJSON *answer = json_parse(bytes, have);
	const char *why = json_text(json_get(answer, "error"), "message");

	if (json_get(answer, "result") && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
		return io_steal_fd(&fd);
	return err_say(e, EPERM, "--server %s: %s", path,
		       *why ? why : "it is no stepjail-mcp, or has just ended");
}
