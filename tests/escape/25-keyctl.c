/* use the kernel keyrings, which no namespace divides | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/keyctl.h>

int main(void)
{
	/* a session keyring of our own first: outside, nothing stays behind */
	door("join a session keyring",
	     syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
	door("read the user keyring",
	     syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0));
	door("add_key", syscall(SYS_add_key, "user", "stepjail-escape", "x", 1UL,
				KEY_SPEC_PROCESS_KEYRING));
	door("request_key", syscall(SYS_request_key, "user", "stepjail-escape", NULL, 0));
	return attack_end();
}
