/* SPDX-License-Identifier: MIT */
/*
 * replay.c - go through a fuzzer's corpus once, without libFuzzer
 *
 * usage: NAME FOLDER
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "init/io.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_BYTES_MAX (1 << 20)

static const char *current;

/* of the sanitizers; see sanitizer/common_interface_defs.h */
void __sanitizer_set_death_callback(void (*callback)(void));

static void say_which(void)
{
	(void)fprintf(stderr, "the input was %s\n", current);
}

static void on_abort(int sig)
{
	(void)sig;
	say_which();
}

static void replay(int folder, const char *name)
{
	/* of the exact size, so that one byte too far is seen */
	uint8_t *bytes = NULL;
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > INPUT_BYTES_MAX ||
	    !(bytes = malloc((size_t)st.st_size + 1)) ||
	    !(bytes = realloc(bytes, (size_t)st.st_size ? (size_t)st.st_size : 1)) ||
	    io_read_all(fd, bytes, (size_t)st.st_size) != st.st_size) {
		perror(name);
		exit(2);
	}
	(void)close(fd);
	current = name;
	(void)LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	free(bytes);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned int count = 0;

	if (!folder) {
		(void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	__sanitizer_set_death_callback(say_which);
	(void)signal(SIGABRT, on_abort);
	for (struct dirent *d; (d = readdir(folder));) {
		if (d->d_name[0] == '.')
			continue;
		replay(dirfd(folder), d->d_name);
		count++;
	}
	(void)closedir(folder);
	(void)printf("%s: %u inputs replayed\n", argv[1], count);
	return count == 0;
}
