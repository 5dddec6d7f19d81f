/* see or signal the program of another jail | PID and network namespaces, an id for each
 * jail | unseen ECONNREFUSED EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <dirent.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un name(const char *marker, socklen_t *length)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", marker);
	*length =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(marker));
	return at;
}

static int be_victim(const char *marker)
{
	socklen_t length;
	struct sockaddr_un at = name(marker, &length);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)alarm(20);
	if (bind(sock, (struct sockaddr *)&at, length) < 0 || listen(sock, 4) < 0)
		return 1;
	printf("ready\n");
	(void)fflush(stdout);
	(void)pause();
	return 0;
}

/* a process that is not us, with the marker among its words */
static pid_t find(const char *marker)
{
	DIR *proc = opendir("/proc");

	for (struct dirent *d; proc && (d = readdir(proc));) {
		char path[300], text[4096];
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);

		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (fd >= 0)
			(void)close(fd);
		if (pid > 0 && pid != getpid() && n > 0 &&
		    memmem(text, (size_t)n, "wait", 5) &&
		    memmem(text, (size_t)n, marker, strlen(marker)))
			return pid;
	}
	return 0;
}

/* argv: "wait" or "hunt", and a marker that both have */
int main(int argc, char **argv)
{
	socklen_t length;

	if (argc < 3)
		attack_lacks("a role and a marker");
	if (strcmp(argv[1], "wait") == 0)
		return be_victim(argv[2]);

	struct sockaddr_un at = name(argv[2], &length);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	door("its abstract socket", connect(sock, (struct sockaddr *)&at, length));

	pid_t victim = find(argv[2]);

	door_word("its folder in /proc", victim > 0, "unseen");
	if (victim > 1)
		door("SIGKILL", kill(victim, SIGKILL));
	return attack_end();
}
