/* SPDX-License-Identifier: MIT */
/*
 * probe_kernel.c - large or dangerous parts of the kernel, by the doors they have
 *
 * What counts is whether the part's own code can be reached: any answer but EPERM and
 * ENOSYS is one of that code, and where a fault of it is once found, reaching it is the
 * precondition. All arguments are such that nothing happens where the call is allowed.
 */
#include "tests/escape/scene.h"

#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

struct call {
	const char *name;
	long nr;
	unsigned long args[6];
};

#define BAD ((unsigned long)-1)

/* the row's data: calls, NULL at the end */
static void reach(char **argv)
{
	const struct call *c = probe_self->data;
	bool there = false;

	(void)argv;
	for (; c->name; c++) {
		const unsigned long *a = c->args;
		long r = syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);

		there = there || r >= 0 || errno != ENOSYS;
		door_reach(c->name, r);
		if (r > 2)
			(void)close((int)r);
	}
	if (!there)
		probe_lacks("these calls in this kernel");
}

static char text[256];
static struct perf_event_attr clock_event = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(clock_event),
	.config = PERF_COUNT_SW_TASK_CLOCK,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};
static union bpf_attr object;
static uint64_t ring[15]; /* struct io_uring_params: 120 bytes */

static const struct call keys[] = {
	/* a session keyring of our own first: outside, nothing stays behind */
	{ "join a session keyring", SYS_keyctl, { KEYCTL_JOIN_SESSION_KEYRING, 0 } },
	{ "read the user keyring",
	  SYS_keyctl,
	  { KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_USER_KEYRING, 0 } },
	{ "add_key", SYS_add_key, { 0, 0, 0, 0, 0 } },
	{ "request_key", SYS_request_key, { 0, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call userfault[] = {
	{ "user mode", SYS_userfaultfd, { O_CLOEXEC | 1 } },
	{ "all faults", SYS_userfaultfd, { O_CLOEXEC } },
	{ NULL, 0, { 0 } },
};
static const struct call uring[] = {
	{ "io_uring_setup", 425, { 4, (unsigned long)(uintptr_t)ring } },
	{ "io_uring_enter", 426, { BAD, 1, 0, 0, 0, 0 } },
	{ "io_uring_register", 427, { BAD, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call aio[] = {
	{ "io_setup", SYS_io_setup, { 0, 0 } },
	{ "io_submit", SYS_io_submit, { 0, 1, 0 } },
	{ "io_pgetevents", 333, { 0, 0, 0, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call modules[] = {
	{ "init_module", SYS_init_module, { 0, 0, 0 } },
	{ "finit_module", SYS_finit_module, { BAD, 0, 0 } },
	{ "delete_module", SYS_delete_module, { 0, O_NONBLOCK } },
	{ NULL, 0, { 0 } },
};
static const struct call power[] = {
	{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
	{ "kexec_load", SYS_kexec_load, { 0, 17, 0, BAD } },
	{ "kexec_file_load", SYS_kexec_file_load, { BAD, BAD, 0, 0, BAD } },
	{ NULL, 0, { 0 } },
};
static const struct call swapping[] = {
	{ "swapon", SYS_swapon, { 0, BAD } },
	{ "swapoff", SYS_swapoff, { 0 } },
	{ "acct", SYS_acct, { BAD } },
	{ NULL, 0, { 0 } },
};
static const struct call quota[] = {
	{ "quotactl", SYS_quotactl, { BAD, BAD, 0, 0 } },
	{ "quotactl_fd", 443, { BAD, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call clocks[] = {
	{ "settimeofday", SYS_settimeofday, { 0, 0 } },
	{ "clock_settime", SYS_clock_settime, { 0, 0 } },
	{ "adjtimex", SYS_adjtimex, { 0 } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call watches[] = {
	{ "fanotify_init", SYS_fanotify_init, { 0x200, O_RDONLY } },
	{ "fanotify_mark", SYS_fanotify_mark, { BAD, 0, 0, 0, 0 } },
	{ "lookup_dcookie", 212, { 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call inotify[] = {
#ifdef SYS_inotify_init
	{ "inotify_init", SYS_inotify_init, { 0 } },
#endif
	{ "inotify_init1", SYS_inotify_init1, { O_CLOEXEC } },
	{ NULL, 0, { 0 } },
};
/* Without a reservation they are given where the host has no huge page free, too. The
 * size is in the bits from 26 on: 2 MiB, 1 GiB. */
#define HUGE MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB
static const struct call huge[] = {
	{ "mmap", SYS_mmap, { 0, 2UL << 20, PROT_READ, HUGE, BAD } },
	{ "mmap 2 MiB", SYS_mmap, { 0, 2UL << 20, PROT_READ, HUGE | 21 << 26, BAD } },
	{ "mmap 1 GiB", SYS_mmap, { 0, 1UL << 30, PROT_READ, HUGE | 30 << 26, BAD } },
	{ "memfd_create",
	  SYS_memfd_create,
	  { (unsigned long)(uintptr_t) "huge", MFD_HUGETLB } },
	{ "memfd_create 1 GiB",
	  SYS_memfd_create,
	  { (unsigned long)(uintptr_t) "huge", MFD_HUGETLB | 30UL << 26 } },
	{ "shmget", SYS_shmget, { IPC_PRIVATE, 0, SHM_HUGETLB } },
	{ NULL, 0, { 0 } },
};
static const struct call numa[] = {
	{ "mbind", SYS_mbind, { 1, 0, 0, 0, 0, 0 } },
	{ "set_mempolicy", SYS_set_mempolicy, { 99, 0, 0 } },
	{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 99 } },
	{ "migrate_pages", SYS_migrate_pages, { 0, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call pages[] = {
	{ "vmsplice", SYS_vmsplice, { BAD, 0, 0, 0 } },
	{ "tee", SYS_tee, { BAD, BAD, 1, 0 } },
	{ "remap_file_pages", SYS_remap_file_pages, { 0, 0, 1, 0, 0 } },
	{ "memfd_secret", 447, { 0 } },
	{ "process_mrelease", 448, { BAD, 0 } },
	{ "cachestat", 451, { BAD, 0, 0, 0 } },
	{ "map_shadow_stack", 453, { 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call mountless[] = {
	{ "statmount", 457, { 0, 0, 0, 0 } },
	{ "listmount", 458, { 0, 0, 0, 0 } },
	{ "open_tree_attr", 467, { BAD, 0, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call lsm[] = {
	{ "lsm_get_self_attr", 459, { 0, 0, 0, 0 } },
	{ "lsm_set_self_attr", 460, { 0, 0, 0, 0 } },
	{ "lsm_list_modules", 461, { 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call sandboxes[] = {
	{ "seccomp", SYS_seccomp, { 1, 99, 0 } },
	{ "landlock_create_ruleset", 444, { 0, 0, 0 } },
	{ "landlock_restrict_self", 446, { BAD, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call names[] = {
	{ "sethostname", SYS_sethostname, { 0, BAD } },
	{ "setdomainname", SYS_setdomainname, { 0, BAD } },
	{ NULL, 0, { 0 } },
};
static const struct call disks[] = {
	{ "sync", SYS_sync, { 0 } },
	{ "syncfs", SYS_syncfs, { 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call queues[] = {
	{ "shmget", SYS_shmget, { IPC_PRIVATE, 0, 0 } },
	{ "msgget", SYS_msgget, { 1, 0 } },
	{ "semget", SYS_semget, { IPC_PRIVATE, 0, 0 } },
	{ "mq_open", SYS_mq_open, { 0, 0, 0, 0 } },
	{ NULL, 0, { 0 } },
};
static const struct call old[] = {
	{ "uselib", 134, { BAD } },   { "sysfs", 139, { 3 } }, { "_sysctl", 156, { 0 } },
	{ "nfsservctl", 180, { 0 } }, { NULL, 0, { 0 } },
};
static const struct call perf[] = {
	{ "count its own clock",
	  SYS_perf_event_open,
	  { (unsigned long)(uintptr_t)&clock_event, 0, BAD, BAD, 0 } },
	{ NULL, 0, { 0 } },
};

static void reach_bpf(char **argv)
{
	(void)argv;
	/* where making a map takes a capability, this one still gets into bpf's own code:
	 * it has been reached when it complains of the path, which is none of bpf's */
	object.pathname = (uint64_t)(uintptr_t) "/proc/self/nothing";
	door_reach("get an object",
		   syscall(SYS_bpf, BPF_OBJ_GET, &object, sizeof(object)));
	memset(&object, 0, sizeof(object));
	object.map_type = BPF_MAP_TYPE_ARRAY;
	object.key_size = object.value_size = 4;
	object.max_entries = 1;
	door_reach("make a map",
		   syscall(SYS_bpf, BPF_MAP_CREATE, &object, sizeof(object)));
}

/* files by number, past all paths: where a folder's rights or mounts do not count */
static void handle(char **argv)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char text[128];
	} h = { .bytes = sizeof(h.text) };
	int mount_id = 0;

	(void)argv;
	door("name_to_handle_at",
	     syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &h, &mount_id, 0));
	door_reach("open_by_handle_at",
		   syscall(SYS_open_by_handle_at, open("/", O_RDONLY), &h, O_RDONLY));
}

/* argv: the number of a segment of the host's, and the word in it */
static void host_segment(char **argv)
{
	int id = (int)probe_number(argv, 0, "a segment");
	const char *word = probe_word(argv, 1, "its word");
	const char *at = shmat(id, NULL, SHM_RDONLY);
	bool got = at != (const char *)-1;

	door("attach it", got ? 0 : -1);
	if (got)
		door_word("its word", strcmp(at, word) == 0, "another");
}

/* an execution domain that weakens what is started next */
static void domain(char **argv)
{
	(void)argv;
	door("READ_IMPLIES_EXEC", syscall(SYS_personality, 0x0400000));
	door("no randomised addresses", syscall(SYS_personality, 0x0040000));
	door("addresses from 0", syscall(SYS_personality, 0x0100000));
}

static void log_of_kernel(char **argv)
{
	(void)argv;
	door_reach("size", syscall(SYS_syslog, 10, NULL, 0));
	door_reach("read all", syscall(SYS_syslog, 3, text, sizeof(text)));
	door_reach("unread", syscall(SYS_syslog, 9, NULL, 0));
}

/* All eventfds of the host are one inode: who closes one walks through these locks. That
 * they do not touch keeps them apart. argv: how many are too many */
static void file_locks(char **argv)
{
	long count = probe_number(argv, 0, "a number"), made = 0;
	int fd = (int)syscall(SYS_eventfd2, 0, 0);

	for (; made < count; made++) {
		const struct flock one = { .l_type = F_RDLCK,
					   .l_start = 2 * made,
					   .l_len = 1 };

		if (fcntl(fd, F_SETLK, &one) < 0)
			break;
	}
	/* a look every 50 ms has time to see them */
	if (made == count)
		(void)usleep(1000000);
	door("file locks", made == count ? 0 : -1);
}

#define ROW(name, what, scene, data)                                                     \
	{                                                                                \
		name, what, W(SECCOMP), scene, reach, CONTROL, data                      \
	}

static const struct probe probes[] = {
	ROW("keyctl", "the kernel's keyrings, which no namespace divides", NULL, keys),
	{ "bpf", "bpf: load programs, make maps", W(SECCOMP), NULL, reach_bpf, CONTROL,
	  NULL },
	ROW("perf", "performance events", NULL, perf),
	ROW("userfaultfd", "userfaultfd: hold the kernel inside a copy", NULL, userfault),
	ROW("io-uring", "io_uring, whose requests no filter sees", NULL, uring),
	ROW("aio", "asynchronous input and output", NULL, aio),
	ROW("modules", "load or remove kernel modules", &scene_as_root, modules),
	ROW("reboot", "reboot or start another kernel", &scene_as_root, power),
	ROW("swap", "swap space, process accounting", &scene_as_root, swapping),
	ROW("quota", "disk quotas", NULL, quota),
	ROW("clock", "set the host's clock", NULL, clocks),
	ROW("fanotify", "watch whole file systems by fanotify", NULL, watches),
	ROW("inotify", "use up what the host's user has of inotify", NULL, inotify),
	ROW("huge-pages", "take the host's huge pages, which --memory does not count",
	    NULL, huge),
	ROW("numa", "move pages between nodes", NULL, numa),
	ROW("pages", "vmsplice, tee, remap_file_pages, secret memory", NULL, pages),
	ROW("statmount", "list all mounts by number", NULL, mountless),
	ROW("lsm", "attributes of security modules", NULL, lsm),
	ROW("filters", "load filters of one's own: seccomp, Landlock", NULL, sandboxes),
	ROW("set-names", "set host and domain name", &scene_namespaces, names),
	ROW("sync", "flush the disks of the whole host", NULL, disks),
	ROW("sysv-ipc", "System V and POSIX queues, which outlive the program", NULL,
	    queues),
	{ "sysv-host", "read the shared memory of the host's processes",
	  W(SECCOMP) | W(IPC), &scene_segment, host_segment, 0, NULL },
	ROW("old-calls", "calls that nothing uses any more", NULL, old),
	{ "file-handle", "open files by handle, past all paths", W(SECCOMP), NULL, handle,
	  0, NULL },
	{ "personality", "weaken the execution domain", W(SECCOMP), NULL, domain, 0,
	  NULL },
	{ "file-locks",
	  "hold file locks without end, on an inode that the whole host shares", W(WATCH),
	  &scene_file_locks, file_locks, LIMITED, NULL },
	{ "dmesg", "read the kernel's log by syslog", W(SECCOMP), &scene_as_root,
	  log_of_kernel, 0, NULL },
};

AREA(kernel, "kernel entry points", probes);
