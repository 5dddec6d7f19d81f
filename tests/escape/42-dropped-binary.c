/* run a program dropped into a writable place | noexec | EACCES EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mman.h>

static int drop(const char *path)
{
	static char text[1 << 20];
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	if (in < 0 || out < 0)
		return -1;
	while ((n = read(in, text, sizeof(text))) > 0)
		if (write(out, text, (size_t)n) != n)
			return -1;
	(void)close(in);
	return close(out);
}

static int start(char *path)
{
	char *const argv[] = { path, NULL }, *const env[] = { NULL };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execve(path, argv, env);
		_exit(errno);
	}
	(void)waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno == 0 ? 0 : -1;
}

/* argv: folders; without any, we are the one that was dropped */
int main(int argc, char **argv)
{
	if (argc < 2)
		return 0;
	for (int i = 1; i < argc; i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/dropped", argv[i]);
		if (drop(path) < 0)
			attack_lacks("a folder to drop a program into");
		door(argv[i], start(path));

		int fd = open(path, O_RDONLY);
		void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		door("map its code", code == MAP_FAILED ? -1 : 0);
		(void)unlink(path);
	}
	return attack_end();
}
