/* SPDX-License-Identifier: MIT */
/*
 * test_jail_posture.c - walls as the kernel tells them, with one thing wrong at a time
 *
 * The texts are what a kernel tells of a jail that is as planned; each row of changes[]
 * makes one of them tell something else. That real walls are missed is tested with whole
 * jails, each of which lacks one: tests/integration/test_posture.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "jail/walls/mount.h"
#include "jail/walls/places.h"
#include "jail/watch/report.h"
#include "jail/base/procfs.h"
#include "jail/walls/rlimit.h"
#include "jail/base/sys.h"
#include "tests/unit/suites.h"

#define PROGRAM 4711
#define TEXT_MAX 16384

static struct plan plan;
static struct jail jail;
static const struct sources sources;
static char status[2048], limits[4096];

static const char uid_map[] = "         0 1879048192          1\n"
			      "      1000 1879048193          1\n";
static const char gid_map[] = "         0 1879048194          1\n"
			      "      1000 1879048195          1\n";
static const char setgroups[] = "deny\n";
static const char cgroup[] = "1:name=systemd:/user\n0::/stepjail/run-1\n";
static const char mountinfo[] = UNIT_MOUNTS
	"21 10 0:71 / /proc ro,nosuid,nodev,noexec,relatime - proc none "
	"rw,hidepid=invisible,subset=pid\n"
	"22 10 0:72 / /data\\040and\\134more ro,nosuid,nodev,relatime - overlay none ro\n"
	"23 10 8:1 /home/me/out /out rw,nosuid,nodev,noexec,relatime - ext4 /dev/sda1 "
	"rw\n"
	"24 18 0:73 /f.csv /work/f.csv ro,nosuid,nodev,relatime - overlay none ro\n"
	"25 18 0:74 / /work rw,nosuid,nodev,noexec,relatime - xfs /dev/sdb1 rw\n";

unsigned long unit_filters(void)
{
	char text[8192];
	const char *at;

	ck_assert_int_gt(procfs_read(getpid(), "status", text, sizeof(text)), 0);
	at = procfs_find(text, "Seccomp_filters:");
	return at ? strtoul(at, NULL, 10) : 0;
}

static void make_limits(void)
{
	size_t n = (size_t)snprintf(limits, sizeof(limits),
				    "Limit                     Soft Limit\n");

	for (size_t i = 0; i < rlimit_count; i++) {
		struct rlimit_row row;

		if (rlimit_plan(i, &plan, true, false, false, &row))
			n += (size_t)snprintf(limits + n, sizeof(limits) - n,
					      "%-25s %-20" PRIu64 " %-20" PRIu64
					      " things    \n",
					      row.line, row.value, row.value);
	}
}

static void make_jail(void)
{
	struct err e;

	unit_lives_on();
	plan_init(&plan);
	plan.limit[LIMIT_FILES] = 20;
	plan.limit[LIMIT_CPU_MS] = 1500;
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/data and\\more", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/home/me/out:/out", true, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/f.csv:/work/f.csv", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/srv:/work", true, &e), 0);
	jail = (struct jail){
		.plan = &plan,
		.sources = &sources,
		.limited = true,
		.cgroup = { .name = "run-1" },
		.ids = { true, -1, 1879048192, 1879048194, 0, 1000 },
	};
	(void)snprintf(status, sizeof(status),
		       "Name:\tstepjail\n"
		       "Uid:\t1879048193\t1879048193\t1879048193\t1879048193\n"
		       "Gid:\t1879048195\t1879048195\t1879048195\t1879048195\n"
		       "Groups:\t \n"
		       "NStgid:\t4711\t2\nNSpid:\t4711\t2\nNSpgid:\t4711\t2\n"
		       "NSsid:\t4711\t2\n"
		       "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
		       "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
		       "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
		       "Seccomp_filters:\t%lu\n",
		       unit_filters() + 1);
	make_limits();
}

typedef int look_fn(const struct look *l, struct err *e);

enum { STATUS, UIDS, GIDS, SETGROUPS, LIMITS, CGROUP, MOUNTS };

static const struct file {
	look_fn *look;
	const char *name, *text;
} files[] = {
	[STATUS] = { posture_status, "process", status },
	[UIDS] = { posture_map, "uid_map", uid_map },
	[GIDS] = { posture_map, "gid_map", gid_map },
	[SETGROUPS] = { posture_map, "setgroups", setgroups },
	[LIMITS] = { posture_rlimits, "rlimits", limits },
	[CGROUP] = { posture_cgroup, "cgroup", cgroup },
	[MOUNTS] = { posture_mounts, "mounts", mountinfo },
};

/* what of the text shall be another one, and what must then be said */
static const struct change {
	int file;
	const char *from, *to, *says;
} changes[] = {
	{ STATUS, "CapInh:\t00", "CapInh:\t10", "cap_inheritable reads '10" },
	{ STATUS, "CapPrm:\t0000000000000000", "CapPrm:\t0000000000000001",
	  "cap_permitted" },
	{ STATUS, "CapEff:\t00", "CapEff:\t01", "cap_effective" },
	{ STATUS, "CapBnd:\t00", "CapBnd:\t01", "cap_bounding" },
	{ STATUS, "CapAmb:\t00", "CapAmb:\t01", "cap_ambient" },
	{ STATUS, "NoNewPrivs:\t1", "NoNewPrivs:\t0", "no_new_privs reads '0'" },
	{ STATUS, "Seccomp:\t2", "Seccomp:\t0", "seccomp_mode reads '0'" },
	{ STATUS, "Seccomp_filters:\t", "Seccomp_filters:\t1", "seccomp_filters" },
	{ STATUS, "Uid:\t1879048193\t1879048193", "Uid:\t1879048193\t0",
	  "host_uids reads '1879048193 0 1879048193" },
	{ STATUS, "\t1879048195\n", "\t0\n", "host_gids" },
	{ STATUS, "Groups:\t", "Groups:\t27", "host_groups reads '27'" },
	{ STATUS, "NSpid:\t4711\t2", "NSpid:\t4711\t3", "pid reads '4711 3'" },
	{ STATUS, "NSpid:\t4711\t2", "NSpid:\t4711", "pid reads '4711'" },
	{ STATUS, "NSpid:\t", "NSpid:\t9\t", "pid reads '9 4711 2'" },
	{ STATUS, "NSsid:\t4711\t2", "NSsid:\t4000\t0", "session reads" },
	{ STATUS, "Seccomp:", "Seckomp:", "does not tell Seccomp:" },
	{ STATUS, "CapBnd:", "xCapBnd:", "does not tell CapBnd:" },
	{ UIDS, "1879048192          1", "0 4294967295", "uid_map reads '0 0 42" },
	{ UIDS, "1\n      1000", "2\n      1000", "uid_map reads" },
	{ UIDS, "3          1\n", "3          1\n 5 5 1\n", "uid_map reads" },
	{ UIDS, "      1000 1879048193          1\n", "", "uid_map reads" },
	{ UIDS, uid_map, "", "uid_map reads ''" },
	{ GIDS, "1879048195", "1879048193", "gid_map reads" },
	{ SETGROUPS, "deny", "allow", "setgroups reads 'allow'" },
	{ SETGROUPS, "deny\n", "", "setgroups reads ''" },
	{ LIMITS, "Max open files            20 ", "Max open files   unlimited ",
	  "RLIMIT_NOFILE reads" },
	{ LIMITS, "Max open files            20                   20 ",
	  "Max open files            20                   21 ", "RLIMIT_NOFILE reads" },
	{ LIMITS, "Max open files            20                   20 ",
	  "Max open files            20                   unlimited ",
	  "RLIMIT_NOFILE reads" },
	{ LIMITS, "Max open", "Max shut", "RLIMIT_NOFILE reads '' where '20 20' was" },
	{ LIMITS, "Max cpu time              3 ", "Max cpu time              4 ",
	  "RLIMIT_CPU reads" },
	{ LIMITS, "Max core file size        1 ", "Max core file size        x ",
	  "RLIMIT_CORE reads" },
	{ CGROUP, "run-1", "run-2", "cgroup reads '/stepjail/run-2'" },
	{ CGROUP, "/run-1", "/xrun-1", "cgroup reads" },
	{ CGROUP, "0::", "0:", "cgroup reads ''" },
	{ MOUNTS, " / / ro", " / / rw", "the mount / is writable" },
	{ MOUNTS, " / / ro,nosuid", " / / ro", "the mount / is not nosuid" },
	{ MOUNTS, " / / ro,nosuid,nodev", " / / ro,nosuid", "the mount / is not nodev" },
	{ MOUNTS, "/dev/null ro", "/dev/null rw", "/dev/null is writable" },
	{ MOUNTS, "/dev/tty ro,nosuid,noexec", "/dev/tty ro,nosuid",
	  "/dev/tty is not noexec" },
	{ MOUNTS, "/work rw,nosuid,nodev,noexec", "/work rw,nosuid,nodev",
	  "/work is not noexec" },
	{ MOUNTS, "/tmp rw,nosuid,nodev", "/tmp rw,nosuid,nodevice",
	  "/tmp is not nodev" },
	{ MOUNTS, "/dev/shm rw,nosuid", "/dev/shm rw,xnosuid", "/dev/shm is not nosuid" },
	{ MOUNTS, "/proc ro", "/proc rw", "/proc is writable" },
	{ MOUNTS, "hidepid=invisible,subset=pid", "hidepid=invisible",
	  "/proc is of a file system with other options" },
	{ MOUNTS, "hidepid=invisible,subset=pid", "subset=pid",
	  "/proc is of a file system with other options" },
	{ MOUNTS, "/tmp /tmp rw,nosuid,nodev,noexec,relatime -",
	  "/tmp /tmp rw,nosuid,nodev,noexec,relatime shared:5 -",
	  "/tmp is shared with other namespaces" },
	{ MOUNTS, "- proc none", "- tmpfs none", "/proc is of another file" },
	{ MOUNTS, "0:72 /", "8:1 /home/me/a", "shows a path of the host" },
	{ MOUNTS, "/f.csv /work", "/me/f.csv /work", "shows a path of the host" },
	{ MOUNTS, "0:6 /null", "0:6 /dev/null", "shows a path of the host" },
	{ MOUNTS, "/out rw,nosuid", "/out rw", "/out is not nosuid" },
	{ MOUNTS, "me/out /out", "me/out /outer", "/outer was not planned" },
	{ MOUNTS, "\\040and", "_and", "_and\\more was not planned" },
	{ MOUNTS, "10 9 0:65", "8 7 8:1 / /oldroot rw - ext4 /dev/sda1 rw\n10 9 0:65",
	  "/oldroot was not planned" },
	{ MOUNTS, "11 10 0:43", "10 9 0:65 / / ro,nosuid,nodev - overlay none ro\n11 10",
	  "the mount / was not planned" },
	{ MOUNTS,
	  "18 10 0:69 / /work rw,nosuid,nodev,noexec,relatime - tmpfs none rw,size=1k\n",
	  "", "/work is missing" },
	{ MOUNTS,
	  "17 11 0:6 /tty /dev/tty ro,nosuid,noexec,relatime - devtmpfs udev rw\n", "",
	  "/dev/tty is missing" },
	{ MOUNTS, mountinfo, "", "the mount / is missing" },
	{ MOUNTS, "10 9 0:65 / / ro,nosuid,nodev,relatime - overlay none ro,lowerdir=r:e",
	  "10 9 0:65", "mountinfo has a line of too few fields" },
};

/* a look at @text; what was written, as an object, or NULL */
static int look_at(int file, const char *text, cJSON **json, struct err *e)
{
	char copy[TEXT_MAX], *out = NULL;
	size_t size = 0;
	const struct gate_ready ready = { .program = PROGRAM };
	struct look l = { .jail = &jail, .ready = &ready };

	l.out = open_memstream(&out, &size);
	l.name = files[file].name;
	l.text = copy;
	(void)snprintf(copy, sizeof(copy), "%s", text);
	(void)fputs("{\"x\":", l.out);

	int r = files[file].look(&l, e);

	(void)fputc('}', l.out);
	ck_assert_int_eq(fclose(l.out), 0);
	*json = cJSON_ParseWithOpts(out, NULL, 1);
	ck_assert_msg(r < 0 || cJSON_IsObject(*json), "%s", out);
	free(out);
	return r;
}

START_TEST(what_is_as_planned_is_told)
{
	cJSON *json;
	struct err e = { 0 };

	make_jail();
	for (size_t i = 0; i < COUNT(files); i++) {
		ck_assert_msg(look_at((int)i, files[i].text, &json, &e) == 0, "%s",
			      e.text);
		ck_assert_int_ge(cJSON_GetArraySize(json), 1);
		cJSON_Delete(json);
	}
	ck_assert_int_eq(look_at(MOUNTS, mountinfo, &json, &e), 0);

	const cJSON *bind = cJSON_GetArrayItem(json->child, 12);

	ck_assert_int_eq(cJSON_GetArraySize(json->child), 16);
	ck_assert_str_eq(cJSON_GetObjectItem(bind, "at")->valuestring, "/data and\\more");
	cJSON_Delete(json);
	ck_assert_int_eq(look_at(UIDS, uid_map, &json, &e), 0);
	ck_assert_str_eq(json->child->valuestring, "0 1879048192 1\n1000 1879048193 1");
	cJSON_Delete(json);
	ck_assert_int_eq(look_at(LIMITS, limits, &json, &e), 0);
	ck_assert_double_eq(
		cJSON_GetObjectItem(json->child, "RLIMIT_NOFILE")->valuedouble, 20);
	cJSON_Delete(json);
}
END_TEST

START_TEST(what_is_otherwise_is_refused)
{
	const struct change *c = &changes[_i];
	char text[TEXT_MAX];
	const char *whole = files[c->file].text, *at;
	cJSON *json;
	struct err e = { 0 };

	make_jail();
	at = strstr(whole, c->from);
	ck_assert_msg(at != NULL, "no '%s' in it", c->from);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, c->to,
		       at + strlen(c->from));
	ck_assert_int_eq(look_at(c->file, text, &json, &e), -EPERM);
	ck_assert_msg(strstr(e.text, c->says) != NULL, "%s", e.text);
	cJSON_Delete(json);
}
END_TEST

/* what a plan leaves open is told, whatever it is */
START_TEST(what_is_not_planned_is_not_demanded)
{
	cJSON *json;
	struct err e = { 0 };

	make_jail();
	jail.limited = false;
	ck_assert_int_eq(look_at(CGROUP, "0::/user.slice\n", &json, &e), 0);
	ck_assert_str_eq(json->child->valuestring, "/user.slice");
	cJSON_Delete(json);
	ck_assert_int_eq(look_at(CGROUP, "1:cpu:/\n", &json, &e), 0);
	ck_assert(cJSON_IsNull(json->child));
	cJSON_Delete(json);

	/* an ordinary user keeps the groups; and one id is all there is to map */
	char *groups = strstr(status, "Groups:\t ");

	memcpy(groups, "Groups:\t7", 9);
	jail.ids = (struct ids){ false, -1, 1879048193, 1879048195, 1000, 1000, false };
	ck_assert_msg(look_at(STATUS, status, &json, &e) == 0, "%s", e.text);
	ck_assert_str_eq(cJSON_GetObjectItem(json->child, "host_groups")->valuestring,
			 "7");
	cJSON_Delete(json);
	ck_assert_int_eq(look_at(UIDS, "      1000 1879048193          1\n", &json, &e),
			 0);
	cJSON_Delete(json);
	ck_assert_int_eq(look_at(UIDS, uid_map, &json, &e), -EPERM);
	cJSON_Delete(json);
	/* without /proc, one more mount is one too many */
	plan.proc = PROC_NONE;
	ck_assert_int_eq(look_at(MOUNTS, mountinfo, &json, &e), -EPERM);
	ck_assert_ptr_nonnull(strstr(e.text, "the mount /proc was not planned"));
	cJSON_Delete(json);
}
END_TEST

/* the rules that the table of mounts follows, whatever rows it has */
START_TEST(every_mount_is_flagged)
{
	static struct place places[PLACES_MAX];
	static const char *const writable[] = { "/work", "/tmp", "/dev/shm" };
	unsigned int nodes = 0, written = 0;
	size_t n;

	plan_init(&plan);
	n = places_list(&plan, places);
	ck_assert_uint_ge(n, 12);
	for (size_t i = 0; i < n; i++) {
		const struct place *p = &places[i];
		bool node = strncmp(p->at, "/dev/", 5) == 0 && !p->type, may = false;

		for (size_t k = 0; k < COUNT(writable); k++)
			may = may || strcmp(writable[k], p->at) == 0;
		ck_assert_msg(p->attr & MOUNT_ATTR_NOSUID, "%s", p->at);
		ck_assert_msg(node == !(p->attr & MOUNT_ATTR_NODEV), "%s", p->at);
		ck_assert_msg(may == !(p->attr & MOUNT_ATTR_RDONLY), "%s", p->at);
		/* the tree alone holds what is executed */
		ck_assert_msg((strcmp(p->at, "/") == 0) == !(p->attr & MOUNT_ATTR_NOEXEC),
			      "%s", p->at);
		ck_assert_msg(!p->shows_path, "%s", p->at);
		nodes += node;
		written += may;
	}
	ck_assert_uint_eq(nodes, 6);
	ck_assert_uint_eq(written, COUNT(writable));
}
END_TEST

/* what /proc does not tell is not known, and not made up */
START_TEST(nobody_has_no_posture)
{
	const struct gate_ready nobody = { .have = 1, .program = 0x3fffffff };
	struct posture p = { 0 };
	char text[16] = "";
	struct err e = { 0 };
	FILE *out;

	make_jail();
	jail.pid = 0x3fffffff;
	ck_assert_int_eq(posture_early(&jail, &nobody, &p, &e), 0);
	ck_assert_int_eq(posture_read(&jail, &nobody, &p, &e), -ENOENT);
	ck_assert_ptr_null(p.json);
	out = fmemopen(text, sizeof(text), "w");
	report_posture(&p, &jail, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, "null");
}
END_TEST

/* This process is in none of the jail's namespaces. That is seen as soon as it is known
 * who it is, and not before. */
START_TEST(the_launcher_itself_is_no_jail)
{
	struct gate_ready self = { .program = getpid(), .fd[GATE_NETLINK] = -1 };
	struct posture p = { 0 }, late = { 0 };
	struct err e = { 0 };

	make_jail();
	ck_assert_int_eq(posture_early(&jail, &self, &p, &e), 0);
	self.have = 1;
	ck_assert_int_eq(posture_early(&jail, &self, &p, &e), -EPERM);
	ck_assert_ptr_nonnull(strstr(e.text, "the user namespace is the launcher's own"));
	ck_assert_int_eq(posture_read(&jail, &self, &late, &e), -EPERM);
	ck_assert_ptr_null(late.json);
	posture_end(&p);
}
END_TEST

Suite *jail_posture_suite(void)
{
	Suite *s = suite_create("jail posture");
	TCase *c = tcase_create("posture");

	tcase_add_test(c, what_is_as_planned_is_told);
	tcase_add_loop_test(c, what_is_otherwise_is_refused, 0, (int)COUNT(changes));
	tcase_add_test(c, what_is_not_planned_is_not_demanded);
	tcase_add_test(c, every_mount_is_flagged);
	tcase_add_test(c, nobody_has_no_posture);
	tcase_add_test(c, the_launcher_itself_is_no_jail);
	suite_add_tcase(s, c);
	return s;
}
