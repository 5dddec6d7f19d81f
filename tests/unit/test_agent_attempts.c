/* SPDX-License-Identifier: MIT */
/*
 * test_agent_attempts.c - what code that took the agent over may try: a table
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "tests/unit/test_agent_attempts.h"

static void be_errno(int r)
{
	_exit(r < 0 ? errno : 0);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

/* ---- the attempts: errno, or 0 */

static void *nothing(void *arg)
{
	return arg;
}

static void thread(void)
{
	pthread_t t;
	int r = pthread_create(&t, NULL, nothing, NULL);

	_exit(r ? r : pthread_join(t, NULL));
}

static void new_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	be_errno(pid);
}

static void fast_open(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(place.ports[1]) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	be_errno(fd < 0 ? fd
			: (int)sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
				      (struct sockaddr *)&to, sizeof(to)));
}

static void read_memory(void)
{
	char a[8] = "there", b[8] = "";
	struct iovec from = { a, 8 }, to = { b, 8 };

	be_errno((int)process_vm_readv(getpid(), &to, 1, &from, 1, 0));
}

static void executable(void)
{
	be_errno(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0) == MAP_FAILED
			 ? -1
			 : 0);
}

static void made_executable(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	be_errno(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static void execute(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };

	(void)execve("/bin/true", argv, argv + 1);
	be_errno(-1);
}

/* to the first listener, by a socket that is there */
static struct sockaddr_in first(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(place.ports[0]),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void connect_open(void)
{
	struct sockaddr_in to = first();

	be_errno(connect(place.tcp, (struct sockaddr *)&to, sizeof(to)));
}

static void send_to_address(void)
{
	struct sockaddr_in to = first();

	be_errno((int)sendto(place.udp, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
}

static void bind_open(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	be_errno(bind(place.udp, (struct sockaddr *)&at, sizeof(at)));
}

static void pass_on(void)
{
	struct iovec iov = { (char[]){ 'x' }, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	be_errno((int)sendmsg(place.pair[0], &m, 0));
}

static void neighbour(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	be_errno(open(path, O_RDONLY));
}

/* a folder of /proc is as good as a pidfd */
static void signal_by_folder(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)getppid());
	fd = open(path, O_RDONLY | O_DIRECTORY);
	be_errno(fd < 0 ? fd : pidfd_send_signal(fd, 0, NULL, 0));
}

#ifdef __x86_64__
/* i386's entry: its getpid */
static void int80(void)
{
	long nr = 20;

	__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
	_exit(0);
}
#endif

/* and back again, for the next attempt */
static void name_mine(void)
{
	int r = renameat2(AT_FDCWD, place.mine, AT_FDCWD, place.fresh, RENAME_NOREPLACE);

	be_errno(r < 0 ? r
		       : renameat2(AT_FDCWD, place.fresh, AT_FDCWD, place.mine,
				   RENAME_NOREPLACE));
}

#define TRY(name, expression)                                                            \
	static void name(void)                                                           \
	{                                                                                \
		be_errno((int)(expression));                                             \
	}
TRY(sequenced, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, (int[2]){ 0 }))
TRY(datagrams, socketpair(AF_UNIX, SOCK_DGRAM, 0, (int[2]){ 0 }))
TRY(streams, socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }))

TRY(read_mine, open(place.mine, O_RDONLY))
TRY(read_other, open("/etc/passwd", O_RDONLY))
TRY(list_root, open("/", O_RDONLY | O_DIRECTORY))
TRY(write_mine, open(place.mine, O_WRONLY))
TRY(append_mine, open(place.mine, O_WRONLY | O_APPEND))
TRY(cut_by_reading, open(place.mine, O_RDONLY | O_TRUNC))
TRY(list_other, open(place.other, O_RDONLY | O_DIRECTORY))
TRY(make_fresh, open(place.fresh, O_WRONLY | O_CREAT | O_EXCL, 0600))
TRY(make_over, open(place.fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600))
TRY(make_elsewhere, open(place.elsewhere, O_WRONLY | O_CREAT | O_EXCL, 0600))
TRY(make_unnamed, open(place.folder, O_WRONLY | O_TMPFILE, 0600))
TRY(remove_mine, unlink(place.mine))
TRY(move_mine, rename(place.mine, place.fresh))
TRY(name_over, renameat2(AT_FDCWD, place.mine, AT_FDCWD, place.mine, 0))
TRY(name_away,
    renameat2(AT_FDCWD, place.mine, AT_FDCWD, place.elsewhere, RENAME_NOREPLACE))
TRY(name_theirs,
    renameat2(AT_FDCWD, place.theirs, AT_FDCWD, place.fresh, RENAME_NOREPLACE))
TRY(unlink_mine, unlinkat(AT_FDCWD, place.mine, 0))
TRY(unlink_theirs, unlinkat(AT_FDCWD, place.theirs, 0))
TRY(unlink_folder, unlinkat(AT_FDCWD, unit_folder(), AT_REMOVEDIR))
TRY(show_mine, fchmod(open(place.mine, O_RDONLY), 0644))
TRY(open_mine, chmod(place.mine, 0777))
TRY(cut_mine, truncate(place.mine, 0))
TRY(link_mine, symlink("/", place.fresh))
TRY(folder, mkdir(place.fresh, 0700))
TRY(folder_at, mkdirat(AT_FDCWD, place.fresh, 0700))
TRY(folder_elsewhere, mkdirat(AT_FDCWD, place.elsewhere, 0700))
TRY(enter, open(place.folder, O_PATH | O_DIRECTORY | O_NOFOLLOW))
TRY(enter_link, open(place.folder, O_PATH | O_DIRECTORY))
TRY(reach_first, connect_to(place.ports[0]))
TRY(reach_second, connect_to(place.ports[1]))
TRY(listen_tcp, listen_anywhere(&(uint16_t){ 0 }))
TRY(inet, socket(AF_INET, SOCK_STREAM, 0))
TRY(inet6, socket(AF_INET6, SOCK_STREAM, 0))
TRY(unix_datagram, socket(AF_UNIX, SOCK_DGRAM, 0))
TRY(listen_open, listen(place.tcp, 1))
TRY(send_open, send(place.pair[0], "x", 1, 0))
TRY(signal_by_pidfd, pidfd_send_signal(place.pidfd, 0, NULL, 0))
TRY(new_pipe, pipe2((int[2]){ 0 }, O_CLOEXEC))
TRY(unix_stream, socket(AF_UNIX, SOCK_STREAM, 0))
TRY(udp, socket(AF_INET, SOCK_DGRAM, 0))
TRY(netlink, socket(AF_NETLINK, SOCK_RAW, 0))
TRY(lite, socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE))
TRY(multipath, socket(AF_INET, SOCK_STREAM, 262))
TRY(kernel_log, socket(AF_NETLINK, SOCK_RAW, 9))
TRY(ask_parent, kill(getppid(), 0))
TRY(ask_group, kill(0, 0))
TRY(own_signals, fcntl(0, F_SETOWN, getppid()))
TRY(hide_mine, fchmod(open(place.mine, O_RDONLY), 0))
TRY(find_parent, pidfd_open(getppid(), 0))
TRY(trace, ptrace(PTRACE_TRACEME, 0, NULL, NULL))
TRY(namespace, unshare(CLONE_FS))
TRY(who, syscall(SYS_personality, 0xffffffff))
TRY(mount_it, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL))
TRY(bpf, syscall(SYS_bpf, 99, NULL, 0))
TRY(uring, syscall(SYS_io_uring_setup, 0, NULL))
TRY(key, syscall(SYS_keyctl, 99, 0, 0, 0, 0))
TRY(fault, syscall(SYS_userfaultfd, 99))
TRY(perf, syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0))
TRY(steal, syscall(SYS_pidfd_getfd, -1, 0, 0))
TRY(module, syscall(SYS_finit_module, -1, "", 0))
TRY(user, syscall(SYS_setresuid, -1, -1, -1))
TRY(x32, syscall(0x40000000L | SYS_getpid))
TRY(type_keys, ioctl(0, TIOCSTI, ""))
TRY(dump_again, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
TRY(core_again, syscall(SYS_prlimit64, 0, 4, &(uint64_t[2]){ 0, 0 }, NULL))

const struct attempt attempts[] = {
#define ROW(act, ...)                                                                    \
	{                                                                                \
		act, #act, __VA_ARGS__                                                   \
	}
	/* what is to work does */
	ROW(read_mine, EVERY, 0, 0),
	ROW(make_fresh, EVERY, 0, 0),
	ROW(list_other, EVERY, 0, 0),
	ROW(reach_first, NET, 0, 0),
	ROW(streams, NET, 0, 0),
	ROW(send_open, MAIN, 0, 0),
	ROW(send_open, NET, 0, 0),
	ROW(signal_by_pidfd, MAIN, 0, 0),
	ROW(new_pipe, MAIN, EPERM, 0),
	ROW(pass_on, MAIN, EPERM, 0),
	ROW(thread, EVERY, 0, 0),
	ROW(udp, EVERY, 0, 0),
	ROW(netlink, EVERY, 0, 0),
	ROW(make_fresh, KEEP, 0, 0),
	ROW(name_mine, KEEP, 0, 0),

	ROW(read_mine, 0, EPERM, 0),
	ROW(read_other, 0, EPERM, 0),
	ROW(read_other, EVERY, EACCES, LANDLOCK),
	ROW(list_root, NET, EACCES, LANDLOCK),
	ROW(neighbour, EVERY, EACCES, LANDLOCK),
	ROW(read_other, HOST, 0, 0),
	ROW(neighbour, HOST, EACCES, LANDLOCK),
	ROW(signal_by_folder, HOST, EACCES, LANDLOCK),
	ROW(write_mine, EVERY, EPERM, 0),
	ROW(cut_by_reading, EVERY, EPERM, 0),
	ROW(append_mine, EVERY, EPERM, 0),
	ROW(make_fresh, NET, EPERM, 0),
	ROW(make_over, EVERY, EPERM, 0),
	ROW(make_elsewhere, EVERY, EACCES, LANDLOCK),
	ROW(make_elsewhere, HOST, EACCES, LANDLOCK),
	ROW(make_unnamed, EVERY, EPERM, 0),
	ROW(remove_mine, EVERY, EPERM, 0),
	ROW(move_mine, EVERY, EPERM, 0),
	ROW(name_mine, EVERY, EPERM, 0),
	ROW(name_over, KEEP, EPERM, 0),
	ROW(name_away, KEEP, EACCES, LANDLOCK),
	ROW(name_theirs, KEEP, EACCES, LANDLOCK),
	ROW(unlink_mine, EVERY, EPERM, 0),
	ROW(unlink_theirs, KEEP, EACCES, LANDLOCK),
	ROW(unlink_folder, KEEP, EPERM, 0),
	ROW(write_mine, KEEP, EPERM, 0),
	ROW(make_elsewhere, KEEP, EACCES, LANDLOCK),
	ROW(show_mine, EVERY, EPERM, 0),
	ROW(show_mine, KEEP, EPERM, 0),
	ROW(hide_mine, KEEP, EPERM, 0),
	ROW(open_mine, EVERY, EPERM, 0),
	ROW(cut_mine, EVERY, EPERM, 0),
	ROW(link_mine, EVERY, EPERM, 0),
	ROW(folder, EVERY, EPERM, 0),
	ROW(folder_at, EVERY, EPERM, 0),

	/* files and folders for --out, and nothing else there or elsewhere */
	ROW(make_fresh, CONFINE_COLLECT, 0, 0),
	ROW(folder_at, CONFINE_COLLECT, 0, 0),
	ROW(enter, CONFINE_COLLECT, 0, 0),
	ROW(enter_link, CONFINE_COLLECT, EPERM, 0),
	ROW(make_elsewhere, CONFINE_COLLECT, EACCES, LANDLOCK),
	ROW(folder_elsewhere, CONFINE_COLLECT, EACCES, LANDLOCK),
	ROW(read_mine, CONFINE_COLLECT, EPERM, 0),
	ROW(make_over, CONFINE_COLLECT, EPERM, 0),
	ROW(remove_mine, CONFINE_COLLECT, EPERM, 0),
	ROW(move_mine, CONFINE_COLLECT, EPERM, 0),
	ROW(link_mine, CONFINE_COLLECT, EPERM, 0),

	/* the main process: no socket of any kind, and no use of one that is there */
	ROW(inet, MAIN, EPERM, 0),
	ROW(inet6, MAIN, EPERM, OTHER),
	ROW(udp, MAIN, EPERM, 0),
	ROW(netlink, MAIN, EPERM, 0),
	ROW(unix_stream, MAIN, EPERM, 0),
	ROW(unix_datagram, MAIN, EPERM, 0),
	ROW(streams, MAIN, EPERM, 0),
	ROW(datagrams, MAIN, EPERM, 0),
	ROW(sequenced, MAIN, EPERM, 0),
	ROW(connect_open, MAIN, EPERM, 0),
	ROW(send_to_address, MAIN, EPERM, 0),
	ROW(bind_open, MAIN, EPERM, 0),
	ROW(listen_open, MAIN, EPERM, 0),
	ROW(uring, MAIN, DEADLY, OTHER),
	ROW(thread, MAIN, EPERM, 0),
	ROW(new_process, MAIN, EPERM, 0),
	ROW(find_parent, MAIN, EPERM, 0),
	ROW(neighbour, MAIN, EACCES, LANDLOCK),

	/* the model client: no signal, and nothing for the broker */
	ROW(signal_by_pidfd, CONFINE_CLIENT, EPERM, 0),
	ROW(pass_on, CONFINE_CLIENT, EPERM, 0),
	ROW(ask_parent, CONFINE_CLIENT, EPERM, 0),
	ROW(new_process, CONFINE_CLIENT, EPERM, 0),
	ROW(make_fresh, CONFINE_CLIENT, EPERM, 0),
	ROW(reach_second, CONFINE_CLIENT, EACCES, PORTS),
	ROW(neighbour, CONFINE_CLIENT, EACCES, LANDLOCK),
	ROW(streams, 0, EPERM, 0),

	ROW(reach_first, 0, EPERM, 0),
	ROW(reach_second, NET, EACCES, PORTS),
	ROW(fast_open, EVERY, EPERM, 0),
	ROW(listen_tcp, NET, EPERM, 0),
	ROW(listen_tcp, EVERY, EACCES, PORTS),
	ROW(unix_stream, EVERY, EPERM, 0),
	ROW(datagrams, EVERY, EPERM, 0),
	ROW(udp, NET, EPERM, 0),
	ROW(netlink, NET, EPERM, 0),
	ROW(lite, EVERY, EPERM, OTHER),
	ROW(multipath, EVERY, EPERM, OTHER),
	ROW(kernel_log, EVERY, EPERM, 0),

	ROW(thread, NET, EPERM, 0),
	ROW(new_process, EVERY, EPERM, 0),
	ROW(execute, EVERY, DEADLY, 0),
	ROW(executable, EVERY, EPERM, 0),
	ROW(made_executable, EVERY, EPERM, 0),
	ROW(trace, EVERY, DEADLY, 0),
	ROW(read_memory, EVERY, DEADLY, 0),
	ROW(ask_parent, EVERY, EPERM, 0),
	ROW(ask_group, EVERY, EPERM, 0),
	ROW(own_signals, EVERY, EPERM, 0),
	ROW(hide_mine, EVERY, EPERM, 0),
	ROW(find_parent, EVERY, EPERM, 0),
	ROW(namespace, EVERY, DEADLY, 0),
	ROW(who, EVERY, DEADLY, 0),
	ROW(mount_it, EVERY, DEADLY, OTHER),
	ROW(bpf, EVERY, DEADLY, OTHER),
	ROW(uring, EVERY, DEADLY, OTHER),
	ROW(key, EVERY, DEADLY, OTHER),
	ROW(fault, EVERY, DEADLY, OTHER),
	ROW(perf, EVERY, DEADLY, OTHER),
	ROW(steal, EVERY, DEADLY, OTHER),
	ROW(module, EVERY, DEADLY, OTHER),
	ROW(user, EVERY, DEADLY, 0),
#ifdef __x86_64__
	ROW(x32, EVERY, DEADLY, OTHER),
	ROW(int80, EVERY, DEADLY, OTHER),
#endif
	ROW(type_keys, EVERY, EPERM, OTHER),
	ROW(dump_again, EVERY, EPERM, 0),
	ROW(core_again, EVERY, EPERM, 0),
};

const size_t attempt_count = COUNT(attempts);
