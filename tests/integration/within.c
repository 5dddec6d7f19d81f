/* SPDX-License-Identifier: MIT */
/*
 * within.c - run a command as some host would: in front of stepjail, in tests
 *
 * usage: within [WORD...] -- COMMAND
 *   nnp			no_new_privs
 *   bounding			an empty bounding set
 *   closed			no stdin, stdout or stderr
 *   gone			in a folder that was removed
 *   nproc=N nofile=N fsize=N	a resource limit, hard and soft
 *   CALL=eperm CALL=enosys	a seccomp filter that refuses that system call
 *   listener			a seccomp filter with a user-notification listener
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define ROWS(x) (sizeof(x) / sizeof((x)[0]))

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{ "clone3", 435 },
	{ "pidfd_send_signal", 424 },
	{ "open_tree", 428 },
	{ "move_mount", 429 },
	{ "fsopen", 430 },
	{ "fsconfig", 431 },
	{ "fsmount", 432 },
	{ "close_range", 436 },
	{ "openat2", 437 },
	{ "mount_setattr", 442 },
	{ "landlock_create_ruleset", 444 },
	{ "mount", SYS_mount },
	{ "pivot_root", SYS_pivot_root },
	{ "prctl", SYS_prctl },
	{ "seccomp", SYS_seccomp },
	{ "sethostname", SYS_sethostname },
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(99);
}

static int load(unsigned int call, unsigned int action, unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ROWS(code), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");

	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	must(fd >= 0, "seccomp");
	return (int)fd;
}

static void refuse(const char *word)
{
	const char *sign = strchr(word, '=');

	for (size_t i = 0; sign && i < ROWS(calls); i++) {
		size_t n = strlen(calls[i].name);
		unsigned int err = strcmp(sign, "=eperm") == 0 ? EPERM : ENOSYS;

		if ((size_t)(sign - word) != n || memcmp(word, calls[i].name, n) != 0)
			continue;
		(void)load(calls[i].number, SECCOMP_RET_ERRNO | err, 0);
		return;
	}
	(void)fprintf(stderr, "within: '%s' is not known\n", word);
	exit(99);
}

/* the listener is held by this process, so that it stays one; the child goes on */
static void listen_to_child(void)
{
	int status;

	(void)load(SYS_acct, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);

	pid_t child = fork();

	must(child >= 0, "fork");
	if (child == 0)
		return;
	must(waitpid(child, &status, 0) == child, "waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void limit(int resource, const char *value)
{
	rlim_t n = strtoul(value, NULL, 10);

	must(setrlimit((__rlimit_resource_t)resource, &(struct rlimit){ n, n }) == 0,
	     "setrlimit");
}

static void leave_folder(void)
{
	char path[] = "/tmp/stepjail-gone-XXXXXX";

	must(mkdtemp(path) && chdir(path) == 0 && rmdir(path) == 0, "gone");
}

static void apply(const char *word)
{
	if (strcmp(word, "nnp") == 0)
		must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "nnp");
	else if (strcmp(word, "bounding") == 0)
		for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0;)
			cap++;
	else if (strcmp(word, "closed") == 0)
		for (int fd = 0; fd <= 2; fd++)
			(void)close(fd);
	else if (strcmp(word, "gone") == 0)
		leave_folder();
	else if (strcmp(word, "listener") == 0)
		listen_to_child();
	else if (strncmp(word, "nproc=", 6) == 0)
		limit(RLIMIT_NPROC, word + 6);
	else if (strncmp(word, "nofile=", 7) == 0)
		limit(RLIMIT_NOFILE, word + 7);
	else if (strncmp(word, "fsize=", 6) == 0)
		limit(RLIMIT_FSIZE, word + 6);
	else
		refuse(word);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		apply(argv[i]);
	if (i + 1 >= argc)
		return 99;
	(void)execv(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 99;
}
