/* SPDX-License-Identifier: MIT */
/*
 * end.c - come to an end in ways that are taken for each other: end HOW [WORDS]
 *
 *	exit CODE	signal N	by itself
 *	child MIB CODE	a child touches MIB MiB and may be killed for it; then exit CODE
 *	grow MIB	touch MIB MiB itself; exit 0
 *	many MIB N	N children touch MIB MiB each and keep them; exit 1 if one ends
 *	fork CODE	fork until it is refused, which it says; exit CODE
 *	full PATH CODE	write to a file until that is refused; exit CODE
 *	undo PATH CODE	the same, but the file is removed before the exit
 *	map PATH	write to a mapped file of 64 MiB that has no blocks yet
 *	spin		until something ends it
 *	where		print /proc/self/cgroup and the folder; exit 0
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)

static int touch(const char *mib)
{
	size_t length = strtoul(mib, NULL, 10) * MIB;
	char *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return 1;
	memset(bytes, 'x', length);
	return 0;
}

static void touch_in_child(const char *mib)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(touch(mib));
	(void)waitpid(pid, &status, 0);
	printf("child ended with %d\n", status);
}

static int touch_in_many(const char *mib, int count)
{
	int status;

	while (count-- > 0)
		if (fork() == 0) {
			(void)(touch(mib) + pause());
			_exit(0);
		}
	(void)wait(&status);
	return 1;
}

static void fork_until_refused(void)
{
	long made = 0;
	pid_t pid;

	while ((pid = fork()) > 0)
		made++;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	printf("made %ld: %s\n", made, strerror(errno));
}

static int write_until_refused(const char *path)
{
	static char chunk[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, chunk, sizeof(chunk)) > 0)
		;
	printf("write: %s\n", strerror(errno));
	return fd;
}

static int map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char *bytes;

	if (ftruncate(fd, 64 * MIB) < 0)
		return 3;
	bytes = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return 3;
	memset(bytes, 'x', 64 * MIB);
	return 0;
}

static int where(void)
{
	char text[4096];
	ssize_t n;
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

	n = read(fd, text, sizeof(text));
	if (n > 0)
		(void)fwrite(text, 1, (size_t)n, stdout);
	printf("%s\n", getcwd(text, sizeof(text)) ? text : "nowhere");
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "exit", *word = argc > 2 ? argv[2] : "0";
	int code = atoi(argc > 3 ? argv[3] : word);

	(void)setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(how, "signal") == 0)
		return raise(atoi(word));
	if (strcmp(how, "child") == 0)
		touch_in_child(word);
	if (strcmp(how, "grow") == 0)
		return touch(word);
	if (strcmp(how, "many") == 0)
		return touch_in_many(word, code);
	if (strcmp(how, "fork") == 0)
		fork_until_refused();
	if (strcmp(how, "full") == 0)
		(void)write_until_refused(word);
	if (strcmp(how, "undo") == 0)
		(void)(unlink(word) + close(write_until_refused(word)) + unlink(word));
	if (strcmp(how, "map") == 0)
		return map(word);
	while (strcmp(how, "spin") == 0)
		;
	if (strcmp(how, "where") == 0)
		return where();
	return code;
}
