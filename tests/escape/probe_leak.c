/* SPDX-License-Identifier: MIT */
/*
 * probe_leak.c - what a program should not learn of the host
 */
#include "tests/escape/scene.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>

static bool link_has(const char *path, const char *marker)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, marker) != NULL;
}

/* argv: a word of the host's paths, the root tree's and a bind's */
static void paths(char **argv)
{
	static const char *const files[] = {
		"/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats",
		"/proc/self/maps",      "/proc/self/smaps",  "/proc/self/cgroup",
	};
	static const char *const links[] = { "/proc/self/exe", "/proc/self/cwd",
					     "/proc/self/root", "/proc/self/fd/0" };
	const char *word = probe_word(argv, 0, "a word");
	char at[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		door_word(files[i], probe_file_has(files[i], word), "hidden");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		door_word(links[i], link_has(links[i], word), "hidden");
	door_word("getcwd", getcwd(at, sizeof(at)) && strstr(at, word), "hidden");
}

/* argv: NAME=VALUE */
static void environment(char **argv)
{
	const char *secret = probe_word(argv, 0, "a variable");
	extern char **environ;
	DIR *proc = opendir("/proc");
	bool found = false;

	for (char **at = environ; *at; at++)
		found = found || strstr(*at, secret);
	door_word("own environment", found, "hidden");
	found = false;
	for (struct dirent *d; proc && (d = readdir(proc));) {
		char path[300];

		(void)snprintf(path, sizeof(path), "/proc/%s/environ", d->d_name);
		found = found || (d->d_name[0] >= '1' && d->d_name[0] <= '9' &&
				  probe_file_has(path, secret));
	}
	if (proc)
		(void)closedir(proc);
	door_word("the environment of a process", found, "hidden");
}

/* argv: the host's name and domain name */
static void host_name(char **argv)
{
	const char *host = probe_word(argv, 0, "names");
	const char *domain = probe_word(argv, 1, "names");
	struct utsname name;

	if (uname(&name) < 0)
		probe_lacks("uname");
	door_word("host name", strcmp(name.nodename, host) == 0, "other-name");
	if (*domain)
		door_word("domain name", strcmp(name.domainname, domain) == 0,
			  "other-name");
	door_word("sysctl", probe_file_has("/proc/sys/kernel/hostname", host),
		  "other-name");
}

/* argv: the caller's uid on the host */
static void caller_id(char **argv)
{
	unsigned int caller = (unsigned int)probe_number(argv, 0, "an id");
	unsigned int inside, outside, count;
	char text[4096];
	bool found = false;

	if (probe_read("/proc/self/uid_map", text, sizeof(text)) > 0)
		for (char *line = text; line && *line; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3)
				found = found ||
					(caller >= outside && caller - outside < count);
		}
	door_word("the map of ids", found, "other-id");
	(void)snprintf(text, sizeof(text), "%u\n", caller);
	door_word("login", probe_file_has("/proc/self/loginuid", text) && caller,
		  "unset");
}

/* the row's data: files, NULL at the end; that they can be opened is enough */
static void look(char **argv)
{
	char text[256];

	(void)argv;
	for (const char *const *path = probe_self->data; *path; path++) {
		ssize_t n = probe_read(*path, text, sizeof(text));

		if (n == 0)
			errno = ENODATA;
		door(*path, n > 0 ? 0 : -1);
		door(probe_above(*path), open(probe_above(*path), O_RDONLY | O_NONBLOCK));
	}
}

/* argv: words of the host's own, that are looked for in files of the row */
static void words(char **argv)
{
	const char *word = probe_word(argv, 0, "a word of the host's");

	for (const char *const *path = probe_self->data; *path; path++)
		door_word(*path,
			  probe_file_has(*path, word) ||
				  probe_file_has(probe_above(*path), word),
			  "hidden");
}

static const char *const cgroup_files[] = { "/proc/self/cgroup", "/proc/self/mountinfo",
					    NULL };
static const char *const log_files[] = { "/dev/kmsg", "/proc/kmsg", "/var/log/kern.log",
					 "/sys/fs/pstore", NULL };
static const char *const kernel_files[] = {
	"/proc/kallsyms",  "/proc/modules",     "/proc/kcore",
	"/proc/config.gz", "/sys/kernel/notes", "/sys/kernel/vmcoreinfo",
	"/boot/config",    "/proc/vmallocinfo", NULL,
};
static const char *const dmi_files[] = {
	"/sys/class/dmi/id/product_name",
	"/sys/class/dmi/id/product_uuid",
	"/sys/firmware/dmi/tables/DMI",
	"/sys/devices/system/cpu/online",
	"/sys/hypervisor/uuid",
	"/sys/class/net/lo/ifindex",
	"/sys/block/vda/size",
	NULL,
};
static const char *const boot_files[] = { "/proc/sys/kernel/random/boot_id", NULL };
static const char *const machine_files[] = {
	"/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostname",
	"/etc/hosts",      "/etc/resolv.conf",         NULL,
};
static const char *const host_files[] = {
	"/proc/cmdline",
	"/proc/uptime",
	"/proc/loadavg",
	"/proc/meminfo",
	"/proc/cpuinfo",
	"/proc/stat",
	"/proc/version",
	"/proc/partitions",
	"/proc/diskstats",
	"/proc/interrupts",
	"/proc/slabinfo",
	"/proc/filesystems",
	"/proc/swaps",
	"/proc/sys/kernel/osrelease",
	NULL,
};
static const char *const net_files[] = {
	"/proc/self/net/unix",
	"/proc/self/net/tcp",
	"/proc/self/net/arp",
	"/proc/self/net/route",
	NULL,
};

/*
 * The tree's pages lie in the host's memory once, for all jails: who drops them, or sees
 * which of them are there, learns what another jail has read meanwhile.
 */
static void page_cache(char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned char there[1];
	char text[1];
	struct iovec one = { text, sizeof(text) };
	uint64_t range[2] = { 0, 0 }, counts[5];

	(void)argv;
	if (page == MAP_FAILED)
		probe_lacks("a file to map");
	door_reach("fadvise64", syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED));
	door_reach("fadvise64, by half of the number",
		   syscall(SYS_fadvise64, fd, 0, 0, 1L << 32 | POSIX_FADV_DONTNEED));
	door_reach("MADV_COLD", madvise(page, 4096, 20));
	door_reach("MADV_PAGEOUT", madvise(page, 4096, 21));
	door_reach("mincore", mincore(page, 4096, there));
	door_reach("RWF_NOWAIT", syscall(SYS_preadv2, fd, &one, 1, 0, 0, 0x08));
	door_reach("RWF_DONTCACHE", syscall(SYS_preadv2, fd, &one, 1, 0, 0, 0x80));
	door_reach("cachestat", syscall(451, fd, range, counts, 0));
}

/* the jail's own root has no room; any that is larger is a disk's */
static void disk_room(char **argv)
{
	struct statvfs root;

	(void)argv;
	if (statvfs("/", &root) < 0)
		probe_lacks("statvfs");
	door_word("room of /", root.f_blocks * root.f_frsize > 1 << 20, "hidden");
}

/* processes that are not of this jail: any but init's, ours, and our children's */
static void other_processes(char **argv)
{
	DIR *proc = opendir("/proc");
	int seen = 0;

	(void)argv;
	for (struct dirent *d; proc && (d = readdir(proc));) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		seen += pid > 0 && pid != getpid();
	}
	if (proc)
		(void)closedir(proc);
	door_word("a folder in /proc", seen > 0, "unseen");
	/* numbers tell even where folders are hidden */
	seen = 0;
	for (pid_t pid = 3; pid < 300; pid++)
		seen += pid != getpid() && (kill(pid, 0) == 0 || errno == EPERM);
	door_word("a number", seen > 0, "unseen");
}

#define ROW(name, text, walls, scene, act, data)                                         \
	{                                                                                \
		name, text, walls, scene, act, 0, data                                   \
	}

static const struct probe probes[] = {
	ROW("leak-paths", "learn paths of the host from /proc/self",
	    W(OVERLAY) | W(MOUNTS) | W(OLD_ROOT), &scene_paths, paths, NULL),
	ROW("leak-environment", "read the environment of the caller", W(ENVIRONMENT),
	    &scene_environment, environment, NULL),
	ROW("leak-host-name", "learn the name of the host", W(UTS), &scene_host_name,
	    host_name, NULL),
	ROW("leak-uid", "learn the caller's user id on the host", W(IDS) | W(USERS),
	    &scene_caller_id, caller_id, NULL),
	ROW("leak-cgroup", "learn the host's name of its cgroup", W(CGROUP_NS),
	    &scene_cgroup, words, cgroup_files),
	ROW("leak-dmesg", "read the kernel's log by its files", W(MOUNTS) | W(NODES),
	    &scene_as_root, look, log_files),
	ROW("leak-kernel", "learn the kernel's addresses, modules and configuration",
	    W(SUBSET) | W(MOUNTS), NULL, look, kernel_files),
	ROW("leak-dmi", "learn what machine it is from /sys", W(MOUNTS), NULL, look,
	    dmi_files),
	ROW("leak-boot-id", "learn the boot id", W(SUBSET), NULL, look, boot_files),
	ROW("leak-machine-id", "learn the machine id and network names", W(MOUNTS),
	    &scene_host_words, words, machine_files),
	ROW("leak-proc", "learn load, memory, disks and command line of the host",
	    W(SUBSET), NULL, look, host_files),
	ROW("leak-sockets", "learn the host's sockets from /proc/self/net", W(NET),
	    &scene_abstract, words, net_files),
	ROW("leak-page-cache", "see what another jail has read of the tree", W(SECCOMP),
	    NULL, page_cache, NULL),
	ROW("leak-disk", "learn how full the host's disk is", W(OVERLAY), NULL, disk_room,
	    NULL),
	ROW("leak-processes", "see processes that are not its own", W(PIDS) | W(HIDEPID),
	    NULL, other_processes, NULL),
};

AREA(leak, "information leaks", probes);
