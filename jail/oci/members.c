/* SPDX-License-Identifier: MIT */
/*
 * members.c - every member of config.json, and what becomes of it: see bundle.h
 *
 * A new member is a new row. README.md has this table for people.
 * Runtime specification: config.md, config-linux.md
 */
#include <stdlib.h>
#include <string.h>

#include "jail/oci/bundle.h"

static int take_version(struct bundle *b, const cJSON *value, struct err *e)
{
	(void)b;
	return cJSON_IsString(value) && strncmp(value->valuestring, "1.", 2) == 0
		       ? 0
		       : err_say(e, EINVAL, "only version 1 is known");
}

static int take_terminal(struct bundle *b, const cJSON *value, struct err *e)
{
	(void)e;
	b->terminal = cJSON_IsTrue(value);
	return 0;
}

static int take_words(const cJSON *value, struct words *w, const char *before,
		      struct err *e)
{
	const cJSON *word;

	cJSON_ArrayForEach(word, value)
	{
		if (!cJSON_IsString(word))
			return err_say(e, EINVAL, "it is no list of strings");
		words_add(w, "%s%s", before, word->valuestring);
	}
	return 0;
}

static int take_args(struct bundle *b, const cJSON *value, struct err *e)
{
	words_free(&b->args);
	return take_words(value, &b->args, "", e);
}

static int take_env(struct bundle *b, const cJSON *value, struct err *e)
{
	const cJSON *word;

	/* Engines tell a pod's by this alone, as its namespace has it. But a program may
	 * mean something else by it. */
	cJSON_ArrayForEach(word, value)
	{
		const char *text = cJSON_IsString(word) ? word->valuestring : "";
		char host[HOST_NAME_MAX + 1], more;

		if (!bundle_text(b->config, "hostname")[0] &&
		    sscanf(text, "HOSTNAME=%64[a-zA-Z0-9.-]%c", host, &more) == 1)
			words_put(&b->options, "hostname", "%s", host);
	}
	return take_words(value, &b->options, "--env=", e);
}

static int take_root(struct bundle *b, const cJSON *value, struct err *e)
{
	const char *given = cJSON_IsString(value) ? value->valuestring : "";
	char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s%s", given[0] == '/' ? "" : b->folder,
		       given[0] == '/' ? "" : "/", given);
	if (!given[0] || !realpath(path, b->rootfs))
		return err_set(e, given[0] ? errno : EINVAL, "'%s'", given);
	words_put(&b->options, "rootfs", "%s", b->rootfs);
	return 0;
}

/* what containerd and Podman list for a container that nobody gave any */
static const char *const capabilities[] = {
	"CAP_CHOWN",      "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER",
	"CAP_MKNOD",      "CAP_NET_RAW",      "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP",    "CAP_SETPCAP",      "CAP_KILL",   "CAP_NET_BIND_SERVICE",
	"CAP_SYS_CHROOT", "CAP_AUDIT_WRITE",  NULL,
};
static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
				       "/dev/random", "/dev/urandom", "/dev/tty",
				       NULL };
static const char *const kernel_folders[] = { "/proc/", "/sys/", NULL };
static const char *const none[] = { NULL };
/* Podman's default and those of containerd 2, to ping and to listen at low ports: a jail
 * does neither */
static const char *const sysctls[] = { "net.ipv4.ping_group_range",
				       "net.ipv4.ip_unprivileged_port_start", NULL };

/* those that a jail has whether they are listed or not, and those that must be listed */
static int take_namespaces(struct bundle *b, const cJSON *value, struct err *e)
{
	static const char *const known[] = { "pid",     "ipc",  "uts",    "mount",
					     "network", "user", "cgroup", NULL };
	const size_t needed = 5; /* the first of them */
	/* of a pod's, those in which a jail's own is less than what was asked for */
	static const char *const narrower[] = { "ipc", "uts", NULL };
	unsigned int listed = 0;
	const cJSON *row;

	words_put(&b->options, "net", "loopback");
	cJSON_ArrayForEach(row, value)
	{
		const char *name = bundle_text(row, "type");
		const char *path = bundle_text(row, "path");

		if (path[0] && strcmp(name, "network") == 0)
			words_put(&b->options, "net", "%s", path);
		else if (path[0] && !bundle_is_listed(name, narrower))
			return err_say(e, EPERM,
				       "%s with a path is refused: a jail makes its own",
				       name);
		if (!bundle_is_listed(name, known))
			return err_say(e, EPERM,
				       "'%s' is refused: a jail has no such one", name);
		for (size_t i = 0; i < needed; i++)
			listed |= (unsigned int)(strcmp(name, known[i]) == 0) << i;
	}
	for (size_t i = 0; i < needed; i++)
		if (!(listed >> i & 1))
			return err_say(
				e, EPERM,
				"%s is missing, so the host's is asked for, and refused: a jail has its own",
				known[i]);
	return 0;
}

/* of cgroup v2, what Kubernetes says of each container */
static int take_unified(struct bundle *b, const cJSON *row, struct err *e)
{
	if (strcmp(row->string, "memory.oom.group") != 0 || !cJSON_IsString(row))
		return err_say(e, EPERM, "%s is refused: say memory, cpu and pids",
			       row->string);
	words_put(&b->options, "oom-group", "%s",
		  strcmp(row->valuestring, "0") == 0 ? "no" : "yes");
	return 0;
}

static int take_seccomp(struct bundle *b, const cJSON *value, struct err *e)
{
	static const char *const weaker[] = { "SCMP_ACT_ALLOW", "SCMP_ACT_LOG", NULL };

	(void)b;
	if (bundle_text(value, "listenerPath")[0] ||
	    bundle_is_listed(bundle_text(value, "defaultAction"), weaker))
		return err_say(
			e, EPERM,
			"a profile that allows by default, or has a listener, is refused: it asks for less than a jail's own filter: use the engine's default, or none");
	return 0;
}

/* clang-format off */
#define TAKEN(path, take, why) { path, MEMBER_TAKEN, why, take, NULL }
#define EACH(path, take, why) { path, MEMBER_EACH, why, take, NULL }
#define OPTION(path, why) { path, MEMBER_OPTION, why, NULL, NULL }
#define IGNORED(path, why) { path, MEMBER_IGNORED, why, NULL, NULL }
#define REFUSED(path, why) { path, MEMBER_REFUSED, why, NULL, NULL }
#define ONLY(path, list, why) { path, MEMBER_ONLY, why, NULL, list }

const struct member members[] = {
	TAKEN("ociVersion", take_version, "must be 1.x"),
	IGNORED("annotations", "kept in the state, for the engine"),
	OPTION("hostname", "--hostname"),
	REFUSED("domainname", "a jail has no domain name"),
	REFUSED("hooks.prestart hooks.createRuntime hooks.createContainer hooks.startContainer hooks.poststart hooks.poststop", "a hook would run on the host while the jail is made: turn off what adds it (a device plugin, hooks.d)"),
	EACH("mounts", bundle_mount, "see the table of mounts"),
	REFUSED("windows solaris zos freebsd vm", "this is Linux, without a virtual machine"),
	TAKEN("root.path", take_root, "--rootfs"),
	IGNORED("root.readonly", "a root tree is read-only; the program may write to /tmp, /dev/shm, /work and writable binds"),
	TAKEN("process.terminal", take_terminal, "a terminal of its own, by --console-socket"),
	IGNORED("process.consoleSize", "the engine sets it by the terminal"),
	TAKEN("process.args", take_args, "the program"),
	TAKEN("process.env", take_env, "--env; HOSTNAME is --hostname, too, if it can be one and hostname is missing: in a pod"),
	OPTION("process.cwd", "--chdir"),
	REFUSED("process.commandLine", "this is Linux: use process.args"),
	IGNORED("process.user", "the program is uid and gid 1000 of the jail, and an id of its own on the host"),
	EACH("process.rlimits", bundle_rlimit, "RLIMIT_NOFILE is --files, RLIMIT_FSIZE --file-size, RLIMIT_CPU --cpu-time; RLIMIT_NPROC and RLIMIT_CORE are ignored, others refused"),
	ONLY("process.capabilities.bounding process.capabilities.effective process.capabilities.permitted process.capabilities.inheritable process.capabilities.ambient", capabilities, "it is beyond an engine's default, which is ignored, as a jail's program has none: leave out --privileged and --cap-add"),
	IGNORED("process.noNewPrivileges", "always so"),
	IGNORED("process.apparmorProfile process.selinuxLabel linux.mountLabel", "a jail has walls of its own"),
	IGNORED("process.oomScoreAdj", "a jail's processes have 1000: when the host lacks memory, they go first"),
	REFUSED("process.scheduler process.ioPriority process.execCPUAffinity", "a jail's processes are scheduled as all others"),
	TAKEN("linux.namespaces", take_namespaces, "each is the jail's own, and network --net loopback; a network with a path is entered (--net PATH), a path of ipc and uts ignored; another with a path, or the host's, is refused"),
	IGNORED("linux.uidMappings linux.gidMappings", "a jail has host ids of its own"),
	ONLY("linux.devices", devices, "a jail has null, zero, full, random, urandom and tty, and no other device"),
	REFUSED("linux.netDevices linux.resources.network", "a jail has no network device but lo"),
	IGNORED("linux.cgroupsPath", "a jail's leaf lies where stepjail makes all of them, see stepjail check"),
	ONLY("linux.sysctl", sysctls, "a jail has the kernel's own values; what Podman and containerd set by default, net.ipv4.ping_group_range and net.ipv4.ip_unprivileged_port_start, is ignored"),
	TAKEN("linux.seccomp", take_seccomp, "ignored, as a jail's own list is shorter; a profile that allows by default, or has a listener, is refused"),
	IGNORED("linux.rootfsPropagation", "a jail's mounts are private"),
	ONLY("linux.maskedPaths linux.readonlyPaths", kernel_folders, "a jail masks nothing of a root tree or bind: leave such a file out, or mount it with ro; of /proc it has process folders only, read-only, and no /sys"),
	REFUSED("linux.intelRdt linux.memoryPolicy linux.resources.cpu.mems", "a jail has no share of caches or nodes of its own"),
	REFUSED("linux.personality linux.timeOffsets", "a jail has that of Linux, and the host's clocks"),
	IGNORED("linux.resources.devices", "a jail has six harmless devices, and makes none"),
	TAKEN("linux.resources.memory.limit", bundle_limits, "--memory; without it the default of stepjail holds"),
	TAKEN("linux.resources.memory.swap", bundle_limits, "--swap, less the limit; without it, none"),
	IGNORED("linux.resources.memory.reservation", "--memory alone counts"),
	IGNORED("linux.resources.memory.kernel linux.resources.memory.kernelTCP linux.resources.memory.swappiness linux.resources.memory.useHierarchy linux.resources.memory.checkBeforeUpdate", "of cgroup v1"),
	REFUSED("linux.resources.memory.disableOOMKiller", "a jail that is out of memory ends: leave out --oom-kill-disable"),
	TAKEN("linux.resources.cpu.shares", bundle_limits, "--cpu-weight, from 1 to 10000"),
	TAKEN("linux.resources.cpu.quota", bundle_limits, "--cpus, divided by period; without it, unlimited"),
	IGNORED("linux.resources.cpu.period linux.resources.cpu.burst", "period is read with quota, which is the most that there is"),
	OPTION("linux.resources.cpu.cpus", "--cpuset"),
	REFUSED("linux.resources.cpu.idle linux.resources.cpu.realtimeRuntime linux.resources.cpu.realtimePeriod", "use shares"),
	TAKEN("linux.resources.pids.limit", bundle_limits, "--pids; without it the default of stepjail holds"),
	REFUSED("linux.resources.blockIO", "write io-max into /etc/stepjail/defaults"),
	EACH("linux.resources.unified", take_unified, "memory.oom.group is --oom-group; others are refused"),
	ONLY("linux.resources.hugepageLimits", none, "a jail can map no huge page: leave it out, or say 0"),
	REFUSED("linux.resources.rdma", "a jail has no such device"),
};
/* clang-format on */
const size_t member_count = COUNT(members);
