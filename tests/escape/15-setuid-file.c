/* gain ids by a set-user-ID file of the root tree | nosuid, no_new_privs | same-id */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* this program is that file: owned by root, mode 04755 */
int main(void)
{
	door_word("effective user", geteuid() != getuid(), "same-id");
	return attack_end();
}
