/* SPDX-License-Identifier: MIT */
/*
 * test_jail_tree.c - the digest of a root tree, and each way in which one is not its list
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/base/tree.h"
#include "jail/watch/report.h"
#include "tests/unit/suites.h"

/* '-' is before '/', so a folder's things do not follow it at once */
static const char list[] =
	"dir 0755 - bin\n"
	"dir 0700 - bin-x\n"
	"link - ../bin/tool bin-x/name\n"
	"file 0555 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad "
	"bin/tool\n"
	"file 0644 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 "
	"empty\n";

static struct tree_at root;
static struct tree tree;
static struct err e;
static char path[PATH_MAX];

static const char *in(const char *name)
{
	return unit_path(root.path, name);
}

static void find_root(const char *where)
{
	struct stat st;

	ck_assert_int_eq(stat(where, &st), 0);
	root = (struct tree_at){ .path = where, .dev = st.st_dev, .ino = st.st_ino };
}

static void make_tree(void)
{
	e = (struct err){ 0 };
	(void)snprintf(path, sizeof(path), "%s", unit_folder());
	find_root(path);
	ck_assert_int_eq(mkdir(in("bin"), 0755) + mkdir(in("bin-x"), 0700), 0);
	(void)unit_file(path, "bin/tool", "abc", 3);
	(void)unit_file(path, "empty", "", 0);
	ck_assert_int_eq(chmod(in("bin/tool"), 0555) + chmod(in("empty"), 0644), 0);
	ck_assert_int_eq(symlink("../bin/tool", in("bin-x/name")), 0);
}

/* beside the tree; "" is the list, ".sum" its digest */
static void put_list(const char *suffix, const char *text)
{
	char name[PATH_MAX + 16];

	(void)snprintf(name, sizeof(name), "%s.sha256%s", root.path, suffix);
	(void)unit_file("/", name + 1, text, strlen(text));
}

static const char *list_digest(void)
{
	static char hex[SHA256_HEX];

	return sha256_text(list, strlen(list), hex);
}

static void ck_differs(const char *says)
{
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), -EBADMSG);
	ck_assert_msg(strstr(e.text, says) != NULL, "%s", e.text);
	ck_assert_msg(strstr(e.text, root.path) != NULL, "%s", e.text);
}

START_TEST(a_tree_without_a_list_has_the_digest_of_its_list)
{
	make_tree();
	ck_assert_int_eq(tree_digest(&root, false, &tree, &e), 0);
	ck_assert_int_eq(tree.state, TREE_UNKNOWN);
	ck_assert_msg(tree_digest(&root, true, &tree, &e) == 0, "%s", e.text);
	ck_assert_int_eq(tree.state, TREE_LISTED);
	ck_assert_str_eq(tree.sha256, list_digest());
}
END_TEST

START_TEST(a_list_is_claimed_and_can_be_verified)
{
	static const char claim[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef  x\n";
	char own[SHA256_HEX + 8];

	make_tree();
	put_list("", list);
	ck_assert_int_eq(tree_digest(&root, false, &tree, &e), 0);
	ck_assert_int_eq(tree.state, TREE_CLAIMED);
	ck_assert_str_eq(tree.sha256, list_digest());
	/* the digest in a file of its own spares that */
	put_list(".sum", claim);
	ck_assert_int_eq(tree_digest(&root, false, &tree, &e), 0);
	ck_assert_int_eq(tree.state, TREE_CLAIMED);
	ck_assert_int_eq(strncmp(tree.sha256, claim, 64), 0);
	/* but is not believed when somebody asks, and nothing is walked then */
	root.ino++;
	ck_differs("not the list that");
	root.ino--;
	(void)snprintf(own, sizeof(own), "%s  x\n", list_digest());
	put_list(".sum", own);
	ck_assert_msg(tree_digest(&root, true, &tree, &e) == 0, "%s", e.text);
	ck_assert_int_eq(tree.state, TREE_VERIFIED);
	ck_assert_str_eq(tree.sha256, list_digest());
	/* and nonsense is not one */
	put_list(".sum", "0123 core.sha256\n");
	ck_assert_int_eq(tree_digest(&root, false, &tree, &e), 0);
	ck_assert_str_eq(tree.sha256, list_digest());
}
END_TEST

START_TEST(each_difference_is_named)
{
	make_tree();
	put_list("", list);
	ck_assert_int_eq(chmod(in("bin/tool"), 0755), 0);
	ck_differs("'file 0755 ba7816bf");
	ck_assert_int_eq(unlink(in("bin/tool")), 0);
	(void)unit_file(path, "bin/tool", "abd", 3);
	ck_assert_int_eq(chmod(in("bin/tool"), 0555), 0);
	ck_differs("bin/tool'");
	ck_assert_int_eq(unlink(in("bin/tool")), 0);
	(void)unit_file(path, "bin/tool", "abc", 3);
	ck_assert_int_eq(chmod(in("bin/tool"), 0555), 0);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), 0);

	ck_assert_int_eq(chmod(in("bin-x"), 0755), 0);
	ck_differs("'dir 0755 - bin-x' and not 'dir 0700 - bin-x'");
	ck_assert_int_eq(chmod(in("bin-x"), 0700), 0);

	ck_assert_int_eq(unlink(in("bin-x/name")), 0);
	ck_differs("lacks bin-x/name,");
	ck_assert_int_eq(symlink("../bin/toll", in("bin-x/name")), 0);
	ck_differs("'link - ../bin/toll bin-x/name'");
	ck_assert_int_eq(unlink(in("bin-x/name")), 0);
	ck_assert_int_eq(mkdir(in("bin-x/name"), 0755), 0);
	ck_differs("'dir 0755 - bin-x/name'");
	ck_assert_int_eq(rmdir(in("bin-x/name")), 0);
	ck_assert_int_eq(symlink("../bin/tool", in("bin-x/name")), 0);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), 0);

	/* one more, in the middle and at the end; one less, at the end */
	(void)unit_file(path, "bin/more", "", 0);
	ck_differs("has bin/more,");
	ck_assert_int_eq(unlink(in("bin/more")), 0);
	(void)unit_file(path, "last", "", 0);
	ck_differs("has last,");
	ck_assert_int_eq(unlink(in("last")), 0);
	ck_assert_int_eq(unlink(in("empty")), 0);
	ck_differs("lacks empty,");
}
END_TEST

START_TEST(a_list_must_be_whole)
{
	char text[sizeof(list) + 64];

	make_tree();
	put_list("", "");
	ck_differs("has bin,");
	/* two things in another order, a line twice, no newline at the end */
	(void)snprintf(text, sizeof(text), "%sdir 0755 - bin\n", list);
	put_list("", text);
	ck_differs("lacks bin,");
	/* however little is missing, and whatever is beside it */
	for (int cut = 0; cut < (int)strlen(list); cut++) {
		(void)snprintf(text, sizeof(text), "%.*s", cut, list);
		put_list("", text);
		ck_differs(cut && text[cut - 1] != '\n' ? "cut off in a line" : "has ");
	}
	put_list("", list);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), 0);
}
END_TEST

/* the list and the tree were both cut, in the same place */
START_TEST(the_lists_digest_tells_of_what_both_lack)
{
	char text[SHA256_HEX + 8], name[PATH_MAX + 16];

	make_tree();
	(void)snprintf(text, sizeof(text), "%s  x\n", list_digest());
	put_list(".sum", text);
	put_list("", "dir 0755 - bin\n");
	ck_differs("not the list that");
	(void)snprintf(name, sizeof(name), "%s.sha256", root.path);
	ck_assert_int_eq(unlink(name), 0);
	ck_differs("is missing");
	put_list("", list);
	ck_assert_msg(tree_digest(&root, true, &tree, &e) == 0, "%s", e.text);
}
END_TEST

START_TEST(what_no_list_can_hold_is_an_error)
{
	make_tree();
	ck_assert_int_eq(mkfifo(in("fifo"), 0600), 0);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "/fifo"));
	ck_assert_int_eq(unlink(in("fifo")), 0);
	/* nor a name that looks like two things: it is none of the list's lines */
	put_list("", list);
	(void)unit_file(path, "z\ndir 0755 - zz", "", 0);
	ck_differs("has z\\012dir\\0400755\\040-\\040zz,");
}
END_TEST

static void ck_names(const char *folder, const char *link, const char *target)
{
	e = (struct err){ 0 };
	(void)snprintf(path, sizeof(path), "%s", unit_folder());
	find_root(path);
	ck_assert_int_eq(mkdir(in(folder), 0755), 0);
	ck_assert_int_eq(symlink(target, in(link)), 0);
	ck_assert_msg(tree_digest(&root, true, &tree, &e) == 0, "%s", e.text);
}

/* where a line or its fields end must not be for a name to say */
START_TEST(no_two_trees_have_one_digest)
{
	static const struct {
		const char *folder, *link, *target;
	} rows[] = {
		{ "a", "z", "x y" },     { "a", "y z", "x" },
		{ "a", "z", "x\\040y" }, { "a", "y\\z", "x" },
		{ "a", "zz", "x" },      { "a\nlink - x zz", "b", "y" },
		{ "a\\012b", "c", "d" }, { "a\nb", "c", "d" },
		{ "a\tb", "c", "d" },
	};
	char digests[COUNT(rows)][SHA256_HEX];

	for (size_t i = 0; i < COUNT(rows); i++) {
		ck_names(rows[i].folder, rows[i].link, rows[i].target);
		memcpy(digests[i], tree.sha256, SHA256_HEX);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(digests[i], digests[k]);
	}
	/* one folder, as two things of another tree */
	ck_names("a\nlink - y b", "c", "d");

	char one[SHA256_HEX];

	memcpy(one, tree.sha256, SHA256_HEX);
	ck_names("a", "b", "y");
	ck_assert_int_eq(symlink("d", in("c")), 0);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), 0);
	ck_assert_str_ne(one, tree.sha256);
}
END_TEST

/* as rootfs/trees/tree.py writes them */
START_TEST(blanks_and_backslashes_are_octal)
{
	ck_names("a b", "c\\d", "e\tf\n");
	put_list("", "dir 0755 - a\\040b\nlink - e\\011f\\012 c\\134d\n");
	ck_assert_msg(tree_digest(&root, true, &tree, &e) == 0, "%s", e.text);
	ck_assert_int_eq(tree.state, TREE_VERIFIED);
}
END_TEST

/* all signals are blocked when the launcher looks: what waits for a writer waits for
 * ever */
START_TEST(a_list_is_a_file)
{
	static const char *const suffixes[] = { ".sum", "" };
	char name[PATH_MAX + 16];

	make_tree();
	for (size_t i = 0; i < COUNT(suffixes); i++) {
		(void)snprintf(name, sizeof(name), "%s.sha256%s", root.path, suffixes[i]);
		ck_assert_int_eq(mkfifo(name, 0600), 0);
		for (int check = 0; check < 2; check++) {
			int r = tree_digest(&root, check, &tree, &e);

			ck_assert_int_eq(r, i == 0 ? 0 : -EINVAL);
			if (r < 0)
				ck_assert_ptr_nonnull(strstr(e.text, "is no file"));
		}
		if (i == 0)
			ck_assert_str_eq(tree.sha256, list_digest());
	}
}
END_TEST

START_TEST(another_tree_in_its_place_is_noticed)
{
	make_tree();
	root.ino++;
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), -ESTALE);
	find_root(path);
	ck_assert_int_eq(tree_digest(&root, true, &tree, &e), 0);
}
END_TEST

static void cover(void *arg)
{
	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mount("none", arg, "tmpfs", 0, NULL) == 0);
	MUST(tree_digest(&root, true, &tree, &e) == -EXDEV);
	MUST(strstr(e.text, "bin, where something is mounted") != NULL);
}

START_TEST(no_mount_is_entered)
{
	make_tree();
	unit_child(cover, (void *)(uintptr_t)in("bin"));
}
END_TEST

START_TEST(the_report_says_how_it_is_known)
{
	static const struct {
		enum tree_state state;
		const char *json;
	} rows[] = {
		{ TREE_UNKNOWN, "\"root_sha256\":null,\"root_verified\":null" },
		{ TREE_CLAIMED, "\"root_sha256\":\"00ff\",\"root_verified\":false" },
		{ TREE_VERIFIED, "\"root_sha256\":\"00ff\",\"root_verified\":true" },
		{ TREE_LISTED, "\"root_sha256\":\"00ff\",\"root_verified\":null" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct tree t = { rows[i].state, "00ff" };
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		report_tree(&t, out);
		ck_assert_int_eq(fclose(out), 0);
		ck_assert_str_eq(text, rows[i].json);
	}
}
END_TEST

Suite *jail_tree_suite(void)
{
	Suite *s = suite_create("jail tree");
	TCase *c = tcase_create("tree");

	tcase_add_test(c, a_tree_without_a_list_has_the_digest_of_its_list);
	tcase_add_test(c, a_list_is_claimed_and_can_be_verified);
	tcase_add_test(c, each_difference_is_named);
	tcase_add_test(c, a_list_must_be_whole);
	tcase_add_test(c, the_lists_digest_tells_of_what_both_lack);
	tcase_add_test(c, what_no_list_can_hold_is_an_error);
	tcase_add_test(c, no_two_trees_have_one_digest);
	tcase_add_test(c, blanks_and_backslashes_are_octal);
	tcase_add_test(c, a_list_is_a_file);
	tcase_add_test(c, another_tree_in_its_place_is_noticed);
	tcase_add_test(c, no_mount_is_entered);
	tcase_add_test(c, the_report_says_how_it_is_known);
	suite_add_tcase(s, c);
	return s;
}
