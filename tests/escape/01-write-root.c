/* write to the root tree | read-only overlay | EROFS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: the tree as this process sees it; it is owned by us or open to all */
int main(int argc, char **argv)
{
	struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	if (argc < 2 || chdir(argv[1]) < 0)
		attack_lacks("the tree");
	door("open for writing", open("etc/motd", O_WRONLY));
	door("truncate", truncate("etc/motd", 0));
	door("create", open("etc/new", O_WRONLY | O_CREAT, 0666));
	door("create in the root", open("new", O_WRONLY | O_CREAT, 0666));
	door("mkdir", mkdir("etc/folder", 0777));
	door("symlink", symlink("motd", "etc/link"));
	door("hard link", link("etc/motd", "etc/hard"));
	door("times", utimensat(AT_FDCWD, "etc/motd", now, 0));
	door("chmod", chmod("etc/motd", 0600));
	door("rename", rename("etc/motd", "etc/moved"));
	door("unlink", unlink("etc/moved") < 0 ? unlink("etc/motd") : 0);
	return attack_end();
}
