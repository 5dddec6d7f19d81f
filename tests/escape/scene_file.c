/* SPDX-License-Identifier: MIT */
/*
 * scene_file.c - scenes of probes about files, folders and mounts: see scene.h
 */
#include "tests/escape/scene.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

static void make_link(const struct run *r, const char *to, const char *name)
{
	(void)symlink(to, run_path(r, name));
}

/* the option that shows a folder of the scene in the jail */
static void show(struct run *r, const char *option, const char *name)
{
	run_option(r, option, "%s:" SHOWN_PATH, run_path(r, name));
}

const struct scene scene_namespaces = { .wrap = IN_NAMESPACES };

static void namespaces_for_user(struct run *r)
{
	(void)r;
	if (geteuid() != 0)
		outside_enter(IN_NAMESPACES);
}

/* bare as root; an ordinary user needs namespaces to have any of it outside */
const struct scene scene_as_root = { .outside = namespaces_for_user };

static void secret(struct run *r)
{
	run_file(r, "secret", "a secret of the host\n");
	run_word(r, "%s", run_path(r, "secret"));
}
const struct scene scene_secret = { .set_up = secret };

static void folder_stdin(struct run *r)
{
	run_file(r, "secret", "a secret of the host\n");
	run_word(r, "%s", run_path(r, "secret") + 1);
	r->input = r->fd[0] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
const struct scene scene_folder_stdin = { .set_up = folder_stdin };

static void path_stdin(struct run *r)
{
	folder_stdin(r);
	(void)close(r->fd[0]);
	r->input = r->fd[0] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}
const struct scene scene_path_stdin = { .set_up = path_stdin };

static void memory_stdin(struct run *r)
{
	int fd = memfd_create("given", MFD_CLOEXEC);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r->input = r->fd[0] = open(path, O_RDONLY | O_CLOEXEC);
	(void)close(fd);
}
const struct scene scene_memory_stdin = { .set_up = memory_stdin };

/* outside: behind a chroot alone, with the probe in the tree */
static void chroot_set_up(struct run *r)
{
	secret(r);
	run_folder(r, "tree");
	run_folder(r, "tree/work");
	run_copy_self(r, "tree" PROBE_PATH, 0755);
	r->program = run_where(r, NULL, PROBE_PATH);
}

static void chroot_outside(struct run *r)
{
	if (chroot(run_path(r, "tree")) < 0 || chdir("/") < 0)
		_exit(LACKS);
}
const struct scene scene_chroot = { .wrap = IN_MOUNTS,
				    .set_up = chroot_set_up,
				    .outside = chroot_outside };

/* outside, the probe is let loose on a small tree */
static void tree(struct run *r)
{
	const char *place = r->probe->data ? r->probe->data : "/";

	run_folder(r, "tree");
	run_folder(r, "tree/etc");
	run_file(r, "tree/etc/motd", "text\n");
	run_file(r, "tree/null", "");
	run_word(r, "%s", run_where(r, place, run_path(r, "tree")));
}
const struct scene scene_tree = { .set_up = tree };

static void host_paths(struct run *r)
{
	run_folder(r, "host");
	run_file(r, "host/secret", "a secret of the host\n");
	run_word(r, "%s", run_path(r, "host"));
	run_word(r, "%s", run_path(r, "host/secret"));
}
const struct scene scene_host_paths = { .set_up = host_paths };

static void writable(struct run *r)
{
	static const char *const places[] = { "/work", "/tmp", "/dev/shm" };

	for (size_t i = 0; r->inside && i < 3; i++)
		run_word(r, "%s", places[i]);
	if (!r->inside)
		run_word(r, "%s", r->folder);
}
const struct scene scene_writable = { .set_up = writable };

static void user_outside(struct run *r)
{
	run_word(r, "%s", run_where(r, "/work", r->folder));
}
const struct scene scene_user_outside = { .set_up = user_outside };

static void shown(struct run *r)
{
	run_folder(r, "shown");
	run_file(r, "shown/data", "data\n");
	run_file(r, "beside", "a file beside it\n");
	show(r, "--bind", "shown");
	run_word(r, "%s", run_where(r, SHOWN_PATH, run_path(r, "shown")));
	run_word(r, "beside");
}
const struct scene scene_shown = { .set_up = shown };

static void shown_link(struct run *r)
{
	run_folder(r, "shown");
	run_file(r, "secret", "a secret of the host\n");
	make_link(r, run_path(r, "secret"), "shown/absolute");
	make_link(r, "../secret", "shown/relative");
	show(r, "--bind", "shown");
	run_word(r, "%s",
		 run_where(r, SHOWN_PATH "/absolute", run_path(r, "shown/absolute")));
	run_word(r, "%s",
		 run_where(r, SHOWN_PATH "/relative", run_path(r, "shown/relative")));
}
const struct scene scene_shown_link = { .set_up = shown_link };

static void given_data(struct run *r)
{
	run_folder(r, "shown");
	run_file(r, "shown/data", "data\n");
	show(r, "--bind", "shown");
	run_word(r, "%s", run_where(r, SHOWN_PATH "/data", run_path(r, "shown/data")));
}
const struct scene scene_given_data = { .set_up = given_data };

/* outside: a plain bind mount, as other jails make them */
static void paths(struct run *r)
{
	run_folder(r, "shown");
	run_folder(r, "point");
	show(r, "--bind", "shown");
	run_word(r, "%s", r->marker);
}

static void paths_outside(struct run *r)
{
	outside_bind(run_path(r, "shown"), run_path(r, "point"));
}
const struct scene scene_paths = { .wrap = IN_MOUNTS,
				   .set_up = paths,
				   .outside = paths_outside };

static void open_bind(struct run *r)
{
	run_folder(r, "open");
	run_file(r, "given", "data\n");
	show(r, "--bind-rw", "open");
	run_word(r, "%s", run_where(r, SHOWN_PATH, run_path(r, "open")));
	r->input = r->fd[0] = open(run_path(r, "given"), O_RDONLY | O_CLOEXEC);
}
const struct scene scene_open_bind = { .set_up = open_bind };

/* a destination that leads elsewhere: in the jail, over a place that is the jail's own;
 * outside, mount(2) follows it */
static void bend(struct run *r, const char *destination)
{
	run_folder(r, "shown");
	run_folder(r, "source");
	run_folder(r, "dev");
	run_folder(r, "dev/shm");
	run_file(r, "source/token", "");
	make_link(r, "../dev", "shown/bent");
	show(r, "--bind", "shown");
	run_option(r, "--bind", "%s:%s", run_path(r, "source"), destination);
	run_word(r, "%s", run_where(r, "/dev/shm/token", run_path(r, "dev/shm/token")));
}

static void bent_bind(struct run *r)
{
	bend(r, SHOWN_PATH "/bent/shm");
}

static void bent_outside(struct run *r)
{
	outside_bind(run_path(r, "source"), run_path(r, "shown/bent/shm"));
}
const struct scene scene_bent_bind = { .wrap = IN_MOUNTS,
				       .set_up = bent_bind,
				       .outside = bent_outside };

static void dotdot_bind(struct run *r)
{
	bend(r, SHOWN_PATH "/../dev/shm");
}

static void dotdot_outside(struct run *r)
{
	outside_bind(run_path(r, "source"), run_path(r, "shown/../dev/shm"));
}
const struct scene scene_dotdot_bind = { .wrap = IN_MOUNTS,
					 .set_up = dotdot_bind,
					 .outside = dotdot_outside };

/* what only root can make, on a file system that would honour it */
static bool can_make(struct run *r, unsigned long flag, const char *what)
{
	struct statvfs fs;

	if (geteuid() != 0)
		r->missing = what;
	else if (statvfs("/tmp", &fs) < 0 || (fs.f_flag & flag))
		r->missing = "a /tmp that is not mounted nosuid or nodev";
	return !r->missing;
}

static void setuid_file(struct run *r)
{
	if (!can_make(r, ST_NOSUID, "root, to make a set-user-ID file of root's"))
		return;
	run_folder(r, "shown");
	run_copy_self(r, "shown/setid", 06755);
	show(r, "--bind", "shown");
	r->program = run_where(r, SHOWN_PATH "/setid", run_path(r, "shown/setid"));
}

/* an ordinary user starts it */
static void setuid_outside(struct run *r)
{
	(void)r;
	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		_exit(LACKS);
}
const struct scene scene_setuid_file = { .set_up = setuid_file,
					 .outside = setuid_outside };

static void node(struct run *r)
{
	if (!can_make(r, ST_NODEV, "root, to make a device node"))
		return;
	run_folder(r, "shown");
	if (mknod(run_path(r, "shown/node"), S_IFCHR | 0666, makedev(1, 3)) < 0)
		r->missing = "a device node in /tmp";
	show(r, "--bind", "shown");
	run_word(r, "%s", run_where(r, SHOWN_PATH "/node", run_path(r, "shown/node")));
}
const struct scene scene_node = { .set_up = node };

/* a copy of the probe, open to all: nobody's own is at stake */
static void executable(struct run *r)
{
	run_folder(r, "shown");
	run_copy_self(r, "shown/exe", 0777);
	show(r, "--bind", "shown");
	r->program = run_where(r, SHOWN_PATH "/exe", run_path(r, "shown/exe"));
	run_word(r, "%s", run_where(r, PROBE_PATH, r->self));
}
const struct scene scene_executable = { .set_up = executable };

static void given_file(struct run *r)
{
	run_file(r, "given", "data\n");
	r->input = r->fd[0] = open(run_path(r, "given"), O_RDONLY | O_CLOEXEC);
}
const struct scene scene_given_file = { .set_up = given_file };

/* stderr is a pipe in which something of the caller's waits for its reader */
static void given_pipe(struct run *r)
{
	if (pipe2(r->fd, O_CLOEXEC) < 0 ||
	    write(r->fd[1], r->marker, strlen(r->marker)) < 0)
		r->missing = "a pipe";
	run_word(r, "%s", r->marker);
}

static void given_pipe_child(struct run *r)
{
	(void)dup2(r->fd[1], 2);
}
const struct scene scene_given_pipe = { .set_up = given_pipe, .child = given_pipe_child };

#define FIRST_LEAK 60

/* the caller leaves a file and the host's root open, and not to be closed at exec */
static void leak(const char *path, int number)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)dup2(fd, number);
}

static void leaked(struct run *r)
{
	run_file(r, "secret", "a secret of the host\n");
	run_word(r, "%d", FIRST_LEAK);
	run_word(r, "%d", FIRST_LEAK + 1);
}

static void leaked_child(struct run *r)
{
	leak(run_path(r, "secret"), FIRST_LEAK);
	leak("/", FIRST_LEAK + 1);
}
const struct scene scene_leaked = { .set_up = leaked, .child = leaked_child };

static void leak_folder(struct run *r)
{
	leak(r->folder, FIRST_LEAK);
}

static void leaked_chdir(struct run *r)
{
	run_file(r, "secret", "a secret of the host\n");
	run_option(r, "--chdir", "/proc/self/fd/%d", FIRST_LEAK);
	run_word(r, "secret");
}
const struct scene scene_leaked_chdir = { .set_up = leaked_chdir, .child = leak_folder };

static void leaked_exec(struct run *r)
{
	char target[64];

	run_folder(r, "shown");
	run_copy_self(r, "exe", 0755);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d/exe", FIRST_LEAK);
	make_link(r, target, "shown/leap");
	show(r, "--bind", "shown");
	r->program = run_where(r, SHOWN_PATH "/leap", run_path(r, "shown/leap"));
}
const struct scene scene_leaked_exec = { .set_up = leaked_exec, .child = leak_folder };
