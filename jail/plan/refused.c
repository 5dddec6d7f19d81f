/* SPDX-License-Identifier: MIT */
/*
 * refused.c - calls that the allow list refuses, in words: see init/filter.h
 *
 * A call is a violation if no honest step makes it. Other refused calls fail with EPERM,
 * and only --learn hears of them. A call is barred, so that no policy may allow it, if it
 * needs a capability that no jail has, if no namespace divides what it changes, or if it
 * goes around a wall. A policy may allow the others by name, at the risk that the row
 * names. A call without a row is refused, too.
 * See syscalls(2), capabilities(7), namespaces(7), socket(2).
 */
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <linux/kd.h>
#include <linux/vt.h>

#include "init/filter.h"

#define MEMFD_EXEC 0x10    /* MFD_EXEC, Linux 6.3 */
#define PR_SCHED_CORE 62   /* Linux 5.14 */
#define PR_MEMORY_MERGE 67 /* PR_SET_MEMORY_MERGE, Linux 6.4 */
#ifndef AF_MCTP
#define AF_MCTP 45 /* Linux 5.15 */
#endif

#define ROW(name, is_violation, is_barred, why)                                          \
	{                                                                                \
		name, REFUSED_ALWAYS, 0, 0, NULL, is_violation, is_barred, why           \
	}
#define ARG(name, when, arg, value, is_barred, why)                                      \
	{                                                                                \
		name, when, arg, value, #value, true, is_barred, why                     \
	}
#define BARRED(name, why) ROW(name, true, true, why)
#define RISKY(name, why) ROW(name, true, false, why)
#define QUIET(name, why) ROW(name, false, false, why)
#define BARRED_QUIET(name, why) ROW(name, false, true, why)
#define NAMESPACE(flag)                                                                  \
	{                                                                                \
		"clone", REFUSED_BIT, 0, flag, #flag, true, true, enters                 \
	}
/* FAMILY, TERMINAL and PRCTL do not call ARG: #value would print the number there */
#define FAMILY(family, why)                                                              \
	{                                                                                \
		"socket", REFUSED_EQ, 0, family, #family, true, true, why                \
	}
#define TERMINAL(request, why)                                                           \
	{                                                                                \
		"ioctl", REFUSED_EQ, 1, request, #request, true, true, why               \
	}
#define PRCTL(option, is_violation, is_barred, why)                                      \
	{                                                                                \
		"prctl", REFUSED_EQ, 0, option, #option, is_violation, is_barred, why    \
	}

static const char another[] = "reads and changes other processes of the jail";
static const char mounts[] = "changes the tree; needs a capability that no jail has";
static const char enters[] =
	"new namespaces give capabilities within them, and with them most of the kernel's known holes";
static const char keyrings[] = "no namespace divides the kernel's keyrings";
static const char root_only[] =
	"changes the whole host; needs a capability that no jail has";
static const char uring[] = "its requests run where no filter sees them";
static const char handles[] = "opens files past all paths and mounts";
static const char old_family[] =
	"an old or rare protocol: kernel code that nobody looks at";
static const char protocols[] =
	"protocols other than TCP, UDP and ICMP, whose modules the host would load";
static const char host_wide[] = "no network namespace divides this family";
static const char sysv[] = "memory that outlives its process, outside of any tmpfs cap";
static const char set_id[] =
	"with free arguments it could leave a set-id file of the caller's on the host";
static const char priority[] = "takes time from other work of the host";
static const char unheard[] =
	"a filter of the program's own can refuse violations before they are told of: then neither report nor --on-violation hears of them";
static const char console[] = "changes the caller's console";
static const char merges[] =
	"shares pages of equal content with other programs of the host, whose content is then told by time";
static const char core_limit[] =
	"init may run under the program's own id, and RLIMIT_CORE keeps the host from handling core dumps";
static const char init_too[] =
	"init may run under the program's own id, and would be slow to end the jail";
static const char huge[] = "takes the host's huge pages, which --memory does not count";
static const char cached[] =
	"tells what another jail has read of the tree: its pages lie in the host's memory once, for all";
static const char inotify[] =
	"counts to the user who started the jail: one jail can take all of fs.inotify.max_user_instances and max_user_watches from the host's services";
static const char no_capability[] = "needs a capability that no jail has";

const struct refused_row refused_rows[] = {
	/* one process looking into another */
	RISKY("ptrace", another),
	RISKY("process_vm_readv", another),
	RISKY("process_vm_writev", another),
	RISKY("process_madvise", another),
	RISKY("process_mrelease", another),
	RISKY("pidfd_getfd", "takes open files from other processes of the jail"),
	RISKY("kcmp", "tells where kernel objects of other processes lie"),
	/* large kernel surface that no step needs */
	BARRED("bpf", "loads code into the kernel"),
	BARRED("perf_event_open", "measures the kernel and other processes"),
	RISKY("userfaultfd",
	      "stops the kernel at a moment of the program's choice, which exploits of races need"),
	BARRED("io_uring_setup", uring),
	BARRED("io_uring_enter", uring),
	BARRED("io_uring_register", uring),
	RISKY("vmsplice", "hands own pages to pipes; part of many exploits"),
	RISKY("modify_ldt", "changes segment descriptors; part of old exploits"),
	RISKY("remap_file_pages", "an old way to map pages out of order"),
	BARRED("lookup_dcookie", "names files by their address in the kernel"),
	BARRED("uselib", "maps a file as code"),
	/* keyrings */
	BARRED("keyctl", keyrings),
	BARRED("add_key", keyrings),
	BARRED("request_key", keyrings),
	/* the tree */
	BARRED("mount", mounts),
	BARRED("umount2", mounts),
	BARRED("pivot_root", mounts),
	BARRED("chroot", mounts),
	BARRED("open_tree", mounts),
	BARRED("open_tree_attr", mounts),
	BARRED("move_mount", mounts),
	BARRED("fsopen", mounts),
	BARRED("fsconfig", mounts),
	BARRED("fsmount", mounts),
	BARRED("fspick", mounts),
	BARRED("mount_setattr", mounts),
	QUIET("statmount", "reads mounts, as /proc/self/mountinfo does"),
	QUIET("listmount", "reads mounts, as /proc/self/mountinfo does"),
	/* namespaces */
	BARRED("unshare", enters),
	BARRED("setns", enters),
	NAMESPACE(CLONE_NEWUSER),
	NAMESPACE(CLONE_NEWNS),
	NAMESPACE(CLONE_NEWPID),
	NAMESPACE(CLONE_NEWNET),
	NAMESPACE(CLONE_NEWIPC),
	NAMESPACE(CLONE_NEWUTS),
	NAMESPACE(CLONE_NEWCGROUP),
	/* the host as a whole */
	BARRED("kexec_load", root_only),
	BARRED("kexec_file_load", root_only),
	BARRED("init_module", root_only),
	BARRED("finit_module", root_only),
	BARRED("delete_module", root_only),
	BARRED("swapon", root_only),
	BARRED("swapoff", root_only),
	BARRED("reboot", root_only),
	BARRED("settimeofday", root_only),
	BARRED("clock_settime", root_only),
	BARRED("clock_adjtime", root_only),
	BARRED("adjtimex", root_only),
	BARRED("quotactl", root_only),
	BARRED("quotactl_fd", root_only),
	BARRED("acct", root_only),
	BARRED("sethostname", root_only),
	BARRED("setdomainname", root_only),
	BARRED("ioperm", root_only),
	BARRED("iopl", root_only),
	BARRED("nfsservctl", root_only),
	BARRED("vhangup", root_only),
	BARRED("syslog", "reads the kernel's log, with addresses in it"),
	/* files by other ways than their path */
	BARRED("open_by_handle_at", handles),
	BARRED("name_to_handle_at", handles),
	BARRED("fanotify_init", handles),
	BARRED("fanotify_mark", handles),
	/* ids and capabilities */
	BARRED_QUIET("setuid", "there is no other id to become"),
	BARRED_QUIET("setgid", "there is no other id to become"),
	BARRED_QUIET("setreuid", "there is no other id to become"),
	BARRED_QUIET("setregid", "there is no other id to become"),
	BARRED_QUIET("setresuid", "there is no other id to become"),
	BARRED_QUIET("setresgid", "there is no other id to become"),
	BARRED_QUIET("setfsuid", "there is no other id to become"),
	BARRED_QUIET("setfsgid", "there is no other id to become"),
	BARRED_QUIET("setgroups",
		     "could give up a group to gain what the group is denied"),
	BARRED("capset", "there is no capability to raise"),
	BARRED("lsm_set_self_attr",
	       "changes its label of the host's security module, as its policy allows"),
	/* the caller's terminal, which may be stdin, stdout or stderr */
	TERMINAL(TIOCSTI, "types into the caller's terminal"),
	TERMINAL(TIOCLINUX, "pastes into the caller's console"),
	TERMINAL(TIOCSCTTY, "takes the caller's terminal"),
	TERMINAL(
		TIOCSETD,
		"loads another protocol on the caller's terminal; those drivers have been ways into the kernel"),
	TERMINAL(TIOCSPGRP, "takes the caller's terminal"),
	TERMINAL(TIOCNOTTY, "gives up the caller's terminal, for all of its session"),
	TERMINAL(TIOCCONS, "takes what the kernel prints on the console"),
	TERMINAL(TIOCVHANGUP, "hangs up the caller's terminal"),
	TERMINAL(TIOCEXCL, "shuts the caller's terminal to others"),
	TERMINAL(TIOCSLCKTRMIOS, "locks the modes of the caller's terminal"),
	TERMINAL(KDSKBENT, "maps keys of the caller's console to other characters"),
	TERMINAL(KDSKBSENT, "maps keys of the caller's console to strings"),
	TERMINAL(KDSETKEYCODE, "maps keys of the caller's console to other characters"),
	TERMINAL(KDSKBDIACRUC, console),
	TERMINAL(KDSKBMODE, console),
	TERMINAL(KDSETMODE, console),
	TERMINAL(KDFONTOP, console),
	TERMINAL(PIO_UNIMAP, console),
	TERMINAL(VT_SETMODE, console),
	TERMINAL(VT_ACTIVATE, console),
	/* attributes of the process that walls rely on */
	PRCTL(PR_CAP_AMBIENT, true, true, "there is no capability to raise"),
	PRCTL(PR_CAPBSET_DROP, true, true, no_capability),
	PRCTL(PR_SET_SECUREBITS, true, true, no_capability),
	PRCTL(PR_SET_KEEPCAPS, true, true, "there is no capability to keep"),
	PRCTL(PR_SET_PTRACER, false, false, "lets more processes of the jail trace it"),
	PRCTL(PR_SET_MM, false, false, "moves its own heap, arguments and environment"),
	PRCTL(PR_SET_SECCOMP, false, false, unheard),
	/* what side channels are built on */
	PRCTL(PR_SET_SPECULATION_CTRL, false, true,
	      "switches protections against speculation off"),
	PRCTL(PR_SCHED_CORE, false, true, "chooses whom it shares a CPU core with"),
	PRCTL(PR_MEMORY_MERGE, false, true, merges),
	{ "madvise", REFUSED_EQ, 2, MADV_MERGEABLE, "MADV_MERGEABLE", false, true,
	  merges },
	{ "madvise", REFUSED_EQ, 2, MADV_COLD, "MADV_COLD", false, true, cached },
	{ "madvise", REFUSED_EQ, 2, MADV_PAGEOUT, "MADV_PAGEOUT", false, true, cached },
	BARRED_QUIET("fadvise64", cached),
	/* F_OFD_SETLK, which the kernel lists without the one who holds it */
	BARRED_QUIET("fcntl", "its locks would be counted by nobody: see --file-locks"),
	BARRED_QUIET("preadv2", cached),
	BARRED_QUIET("pwritev2", cached),
	QUIET("mincore", cached),
	QUIET("cachestat", cached),
	/* execution domains */
	{ "personality", REFUSED_MIXED, 0, UINT32_MAX, NULL, true, false,
	  "makes the kernel behave as another or an older one" },
	ARG("personality", REFUSED_MIXED, 0, ADDR_NO_RANDOMIZE, false,
	    "switches address randomisation off for what the program starts"),
	ARG("personality", REFUSED_EQ, 0, PER_LINUX32, false,
	    "makes uname(2) say another machine"),
	ARG("personality", REFUSED_MIXED, 0, READ_IMPLIES_EXEC, true,
	    "makes data executable"),
	/* files without a name, to be executed */
	ARG("memfd_create", REFUSED_BIT, 1, MEMFD_EXEC, true,
	    "makes a program out of data"),
	{ "memfd_create", REFUSED_BIT, 1, MFD_HUGETLB, "MFD_HUGETLB", false, true, huge },
	RISKY("memfd_secret", "memory that even the kernel cannot look into"),
	/* more filters and Landlock rules: these can only take rights away */
	QUIET("seccomp", unheard),
	QUIET("landlock_create_ruleset", "can only take rights away"),
	QUIET("landlock_add_rule", "can only take rights away"),
	QUIET("landlock_restrict_self", "can only take rights away"),
	/* calls that honest steps make */
	QUIET("sync", "writes back every disk of the host: slows all its users"),
	QUIET("syncfs", "writes back a disk of the host: slows all its users"),
	QUIET("tee", "copies between pipes without counting"),
	QUIET("inotify_init", inotify),
	QUIET("inotify_init1", inotify),
	QUIET("mlockall", "locked pages cannot be reclaimed"),
	QUIET("sched_setscheduler", priority),
	QUIET("sched_setparam", priority),
	QUIET("sched_setattr", priority),
	QUIET("ioprio_set", priority),
	QUIET("ioprio_get", "reads own priority"),
	QUIET("mbind", "places memory on the host's nodes"),
	QUIET("set_mempolicy", "places memory on the host's nodes"),
	QUIET("migrate_pages", "moves memory between the host's nodes"),
	QUIET("move_pages", "moves memory between the host's nodes"),
	QUIET("io_setup", "old asynchronous input and output: more kernel surface"),
	QUIET("io_submit", "old asynchronous input and output: more kernel surface"),
	QUIET("shmget",
	      "memory that outlives its process, outside of any tmpfs cap; of huge pages, too, for the host's hugetlb_shm_group"),
	QUIET("shmat", sysv),
	QUIET("msgget", sysv),
	QUIET("semget", sysv),
	QUIET("mq_open", sysv),
	/* allowed with some arguments only, which no option could name */
	BARRED_QUIET("mmap", huge),
	BARRED_QUIET("setpriority", init_too),
	BARRED_QUIET("sched_setaffinity", init_too),
	BARRED_QUIET("clone3", "its flags lie in memory, where no filter sees them"),
	BARRED_QUIET("openat2", "its mode lies in memory, where no filter sees it"),
	BARRED_QUIET("open", set_id),
	BARRED_QUIET("openat", set_id),
	BARRED_QUIET("creat", set_id),
	BARRED_QUIET("mkdir", set_id),
	BARRED_QUIET("mkdirat", set_id),
	BARRED_QUIET("mknod", set_id),
	BARRED_QUIET("mknodat", set_id),
	BARRED_QUIET("chmod", set_id),
	BARRED_QUIET("fchmod", set_id),
	BARRED_QUIET("fchmodat", set_id),
	BARRED_QUIET("fchmodat2", set_id),
	BARRED_QUIET("socketpair",
		     "no family but AF_UNIX has pairs that a namespace divides"),
	BARRED_QUIET("prlimit64", core_limit),
	BARRED_QUIET("setrlimit", core_limit),
	/* socket families */
	ARG("socket", REFUSED_EQ, 0, AF_NETLINK, false,
	    "much kernel code, although of an empty network namespace alone"),
	{ "socket", REFUSED_EQ, 0, AF_INET, "AF_INET", false, false, protocols },
	{ "socket", REFUSED_EQ, 0, AF_INET6, "AF_INET6", false, false, protocols },
	FAMILY(AF_VSOCK, host_wide),
	FAMILY(AF_ALG, "the kernel's ciphers: much code, and no namespace divides it"),
	FAMILY(AF_PACKET, "raw frames; needs a capability that no jail has"),
	FAMILY(AF_XDP, "raw frames; needs a capability that no jail has"),
	FAMILY(AF_KEY, "keys of IPsec; needs a capability that no jail has"),
	FAMILY(AF_BLUETOOTH, host_wide),
	FAMILY(AF_NFC, host_wide),
	FAMILY(AF_QIPCRTR, host_wide),
	FAMILY(AF_IUCV, host_wide),
	FAMILY(AF_SMC, old_family),
	FAMILY(AF_CAN, old_family),
	FAMILY(AF_TIPC, old_family),
	FAMILY(AF_RDS, old_family),
	FAMILY(AF_KCM, old_family),
	FAMILY(AF_IB, old_family),
	FAMILY(AF_MPLS, old_family),
	FAMILY(AF_AX25, old_family),
	FAMILY(AF_IPX, old_family),
	FAMILY(AF_APPLETALK, old_family),
	FAMILY(AF_NETROM, old_family),
	FAMILY(AF_BRIDGE, old_family),
	FAMILY(AF_ATMPVC, old_family),
	FAMILY(AF_ATMSVC, old_family),
	FAMILY(AF_X25, old_family),
	FAMILY(AF_ROSE, old_family),
	FAMILY(AF_NETBEUI, old_family),
	FAMILY(AF_SECURITY, old_family),
	FAMILY(AF_ASH, old_family),
	FAMILY(AF_ECONET, old_family),
	FAMILY(AF_SNA, old_family),
	FAMILY(AF_IRDA, old_family),
	FAMILY(AF_PPPOX, old_family),
	FAMILY(AF_WANPIPE, old_family),
	FAMILY(AF_LLC, old_family),
	FAMILY(AF_ISDN, old_family),
	FAMILY(AF_PHONET, old_family),
	FAMILY(AF_IEEE802154, old_family),
	FAMILY(AF_CAIF, old_family),
	FAMILY(AF_RXRPC, old_family),
	FAMILY(AF_DECnet, old_family),
	FAMILY(AF_MCTP, host_wide),
};

const size_t refused_row_count = COUNT(refused_rows);

/* --lock-code: after the start of the program, no further memory becomes code. The
 * execve of that start is known by a key in a register that execve(2) does not read. */
const struct refused_row locked_rows[] = {
	{ "execve", REFUSED_KEY, 3, 0, NULL, true, true, "starts a program" },
	{ "execveat", REFUSED_ALWAYS, 0, 0, NULL, true, true, "starts a program" },
	{ "mmap", REFUSED_BIT, 2, PROT_EXEC, "PROT_EXEC", true, true, "maps code" },
	{ "mprotect", REFUSED_BIT, 2, PROT_EXEC, "PROT_EXEC", true, true,
	  "makes code of data" },
	{ "pkey_mprotect", REFUSED_BIT, 2, PROT_EXEC, "PROT_EXEC", true, true,
	  "makes code of data" },
	{ "shmat", REFUSED_ALWAYS, 0, 0, NULL, true, true, "could map code" },
	{ "ptrace", REFUSED_ALWAYS, 0, 0, NULL, true, true,
	  "writes over code, whatever protects its pages" },
	{ "userfaultfd", REFUSED_ALWAYS, 0, 0, NULL, true, true,
	  "chooses what appears in pages of code that are not yet there" },
};

const size_t locked_row_count = COUNT(locked_rows);
