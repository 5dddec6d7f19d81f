/* SPDX-License-Identifier: MIT */
/*
 * test_jail_oci.c - members of config.json become options, or are refused by name
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/oci/bundle.h"
#include "jail/oci/container.h"
#include "tests/unit/suites.h"

#define README "jail/oci/README.md"

#define NAMESPACES                                                                       \
	"\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"      \
	"{\"type\":\"mount\"},{\"type\":\"network\"}]"
/* what every config needs, up to the end of its linux */
#define WHOLE                                                                            \
	"{\"root\":{\"path\":\"/\"},\"process\":{\"args\":[\"x\"]},\"linux\":{" NAMESPACES
#define LINUX "\"linux\":{"

/* @more: members of the config, or of its linux, with LINUX before them */
static int take(struct bundle *b, const char *more, struct err *e)
{
	size_t n = strncmp(more, LINUX, strlen(LINUX)) == 0 ? strlen(LINUX) : 0;
	char text[4096];

	(void)snprintf(text, sizeof(text), WHOLE "%s%s}",
		       n         ? ","
		       : more[0] ? "},"
				 : "}",
		       more + n);
	*b = (struct bundle){ .folder = "/bundle", .config = cJSON_Parse(text) };
	ck_assert_msg(b->config != NULL, "%s", text);
	return bundle_take(b, e);
}

static bool has(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->word[i], word) == 0)
			return true;
	return false;
}

static const struct {
	const char *members, *option;
} options[] = {
	{ "", "--wall-time=unlimited" },
	{ "", "--cpus=unlimited" },
	{ "", "--chdir=/" },
	{ "", "--net=loopback" },
	{ "", "--rootfs=/" },
	{ "\"hostname\":\"h\"", "--hostname=h" },
	{ "\"process\":{\"cwd\":\"/tmp\"}", "--chdir=/tmp" },
	{ "\"process\":{\"env\":[\"A=b c\",\"D=\"]}", "--env=A=b c" },
	{ "\"process\":{\"env\":[\"A=b c\",\"D=\"]}", "--env=D=" },
	{ "\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":64}]}",
	  "--files=64" },
	{ "\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":1}]}",
	  "--files=8" },
	{ "\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_FSIZE\",\"soft\":4096}]}",
	  "--file-size=4096" },
	{ "\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_CPU\",\"soft\":7}]}",
	  "--cpu-time=7" },
	{ "\"linux\":{\"resources\":{\"memory\":{\"limit\":67108864}}}",
	  "--memory=67108864" },
	{ "\"linux\":{\"resources\":{\"memory\":{\"limit\":1}}}", "--memory=4194304" },
	{ "\"linux\":{\"resources\":{\"memory\":{\"limit\":9223372036854771712}}}",
	  "--memory=1099511627776" },
	{ "\"linux\":{\"resources\":{\"memory\":{\"swap\":67108865,\"limit\":67108864}}}",
	  "--swap=1" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"quota\":50000,\"period\":100000}}}",
	  "--cpus=0.500" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"quota\":250000}}}", "--cpus=2.500" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"quota\":-1}}}", "--cpus=unlimited" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"shares\":2}}}", "--cpu-weight=1" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"shares\":1024}}}", "--cpu-weight=39" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"shares\":262144}}}",
	  "--cpu-weight=10000" },
	{ "\"linux\":{\"resources\":{\"cpu\":{\"cpus\":\"0-1\"}}}", "--cpuset=0-1" },
	{ "\"linux\":{\"resources\":{\"pids\":{\"limit\":2048}}}", "--pids=2048" },
	{ "\"mounts\":[{\"destination\":\"/a\",\"source\":\"/b\",\"type\":\"bind\"}]",
	  "--bind-rw=/b:/a" },
	{ "\"mounts\":[{\"destination\":\"/a\",\"source\":\"b\",\"options\":[\"rbind\","
	  "\"ro\"]}]",
	  "--bind=/bundle/b:/a" },
	{ "\"mounts\":[{\"destination\":\"/a\",\"source\":\"/b\",\"type\":\"bind\","
	  "\"options\":[\"noexec\"]}]",
	  "--bind-rw=/b:/a" },
	{ "\"mounts\":[{\"destination\":\"/etc/hosts\",\"source\":\"/h\",\"type\":"
	  "\"bind\"}]",
	  "--bind=/h:/etc/hosts" },
	{ "\"mounts\":[{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"options\":"
	  "[\"size=65536k\"]}]",
	  "--tmp-size=65536k" },
};

START_TEST(members_are_options)
{
	struct bundle b;
	struct err e = { 0 };

	ck_assert_msg(take(&b, options[_i].members, &e) == 0, "%s", e.text);
	ck_assert_msg(has(&b.options, options[_i].option), "%s", options[_i].members);
	ck_assert_uint_eq(b.args.count, 1);
	ck_assert_str_eq(b.args.word[0], "x");
	bundle_free(&b);
}
END_TEST

/* they ask for what a jail has, or for nothing */
static const char *const nothing[] = {
	"\"linux\":null,\"process\":{}",
	"\"hooks\":{\"prestart\":[],\"poststop\":[]}",
	"\"linux\":{\"resources\":{\"memory\":{\"disableOOMKiller\":false}}}",
	"\"linux\":{\"resources\":{\"memory\":{\"limit\":-1,\"swap\":-1}}}",
	"\"linux\":{\"resources\":{\"pids\":{\"limit\":-1}}}",
	"\"linux\":{\"sysctl\":{\"net.ipv4.ping_group_range\":\"0 0\"}}",
	"\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ERRNO\"}}",
	"\"linux\":{\"devices\":[{\"path\":\"/dev/null\"},{\"path\":\"/dev/tty\"}]}",
	"\"process\":{\"capabilities\":{\"bounding\":[\"CAP_CHOWN\",\"CAP_KILL\"]}}",
	"\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_NPROC\",\"soft\":9}]}",
	"\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_AS\",\"soft\":18446744073709551615}]}",
	"\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\"}]",
	"\"mounts\":[{\"destination\":\"/run\",\"type\":\"tmpfs\"}]",
	"\"com.example\":{\"privileged\":true}",
};

START_TEST(what_means_nothing_adds_no_option)
{
	struct bundle b, plain;
	struct err e = { 0 };

	ck_assert_int_eq(take(&plain, "", &e), 0);
	ck_assert_msg(take(&b, nothing[_i], &e) == 0, "%s: %s", nothing[_i], e.text);
	ck_assert_msg(b.options.count == plain.options.count, "%s", nothing[_i]);
	bundle_free(&b);
	bundle_free(&plain);
}
END_TEST

/* a value that is refused for each row that refuses all of them */
START_TEST(each_refused_member_is_named)
{
	const struct member *m = &members[_i];
	struct err e = { 0 };

	if (m->kind != MEMBER_REFUSED)
		return;
	for (const char *at = m->path; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " "), open = 0;
		char text[512] = "", path[200];
		struct bundle b;

		(void)snprintf(path, sizeof(path), "%.*s", (int)n, at);
		at += n;
		for (char *part = strtok(path, "."); part;
		     part = strtok(NULL, "."), open++)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
				       "%s\"%s\":", open ? "{" : "", part);
		(void)strcat(text, "true");
		while (open-- > 1)
			(void)strcat(text, "}");
		ck_assert_msg(take(&b, text, &e) == -EPERM, "%s", text);
		ck_assert_msg(strncmp(e.text, "config.json: ", 13) == 0 &&
				      strncmp(e.text + 13, at - n, n) == 0 &&
				      strstr(e.text, m->why),
			      "%s: %s", text, e.text);
		bundle_free(&b);
	}
}
END_TEST

/* the table for people is this one */
START_TEST(each_member_has_its_why)
{
	static char readme[1 << 16];
	const struct member *m = &members[_i];
	static const char *const kinds[] = {
		[MEMBER_TAKEN] = "taken",     [MEMBER_OPTION] = "taken",
		[MEMBER_EACH] = "taken",      [MEMBER_ONLY] = "in part",
		[MEMBER_IGNORED] = "ignored", [MEMBER_REFUSED] = "refused",
	};
	char row[1024] = "| ";

	ck_assert(m->why && m->why[0]);
	ck_assert((m->kind == MEMBER_TAKEN || m->kind == MEMBER_EACH) ==
		  (m->take != NULL));
	ck_assert((m->kind == MEMBER_ONLY) == (m->list != NULL));
	ck_assert_msg(m->kind != MEMBER_OPTION || strncmp(m->why, "--", 2) == 0, "%s",
		      m->path);
	for (const char *at = m->path; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		(void)snprintf(row + strlen(row), sizeof(row) - strlen(row), "`%.*s` ",
			       (int)n, at);
		at += n;
	}
	(void)snprintf(row + strlen(row), sizeof(row) - strlen(row), "| %s | %s |\n",
		       kinds[m->kind], m->why);
	ck_assert_int_gt(io_read_file_at(-100, README, readme, sizeof(readme)), 0);
	ck_assert_msg(strstr(readme, row) != NULL, "%s lacks: %s", README, row);
}
END_TEST

/* no member stands in two rows */
START_TEST(each_member_has_one_row)
{
	for (const struct member *m = members; m < members + member_count; m++)
		for (const char *at = m->path; *at; at += strspn(at, " ")) {
			size_t n = strcspn(at, " "), found = 0;

			for (const struct member *o = members; o < members + member_count;
			     o++)
				for (const char *p = o->path; *p; p += strspn(p, " ")) {
					size_t k = strcspn(p, " ");

					found += k == n && memcmp(p, at, n) == 0;
					p += k;
				}
			ck_assert_msg(found == 1, "%.*s: %zu", (int)n, at, found);
			at += n;
		}
}
END_TEST

START_TEST(a_later_option_replaces)
{
	struct words w = { 0 };

	words_put(&w, "size", "%d", 1);
	words_put(&w, "size-max", "%d", 2);
	words_put(&w, "a", "%s", "=");
	words_put(&w, "size", "%d", 3);
	ck_assert_uint_eq(w.count, 3);
	ck_assert_str_eq(w.word[0], "--size-max=2");
	ck_assert_str_eq(w.word[1], "--a==");
	ck_assert_str_eq(w.word[2], "--size=3");
	ck_assert_ptr_eq(w.word[3], NULL);
	words_free(&w);
}
END_TEST

START_TEST(a_process_is_one_process)
{
	struct process p = process_find(getpid()), other = p;

	ck_assert_uint_gt(p.start, 0);
	other.start++;

	int fd = process_hold(&p);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(process_hold(&other), -ESRCH);
	ck_assert(process_await(&other, 0));
	ck_assert(!process_await(&p, 0));
	ck_assert_uint_eq(process_find(0x7fffffff).start, 0);
}
END_TEST

Suite *jail_oci_suite(void)
{
	Suite *s = suite_create("jail/oci");
	TCase *t = tcase_create("members");

	tcase_add_loop_test(t, members_are_options, 0, (int)COUNT(options));
	tcase_add_loop_test(t, what_means_nothing_adds_no_option, 0, (int)COUNT(nothing));
	tcase_add_loop_test(t, each_refused_member_is_named, 0, (int)member_count);
	tcase_add_loop_test(t, each_member_has_its_why, 0, (int)member_count);
	tcase_add_test(t, each_member_has_one_row);
	tcase_add_test(t, a_later_option_replaces);
	tcase_add_test(t, a_process_is_one_process);
	suite_add_tcase(s, t);
	return s;
}
