/* bpf(2) | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/bpf.h>

int main(void)
{
	union bpf_attr map = { 0 }, get = { 0 };

	map.map_type = BPF_MAP_TYPE_ARRAY;
	map.key_size = 4;
	map.value_size = 4;
	map.max_entries = 1;
	door("make a map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));

	/* where that takes a capability, this one still gets into bpf's own code: it has
	 * been reached when it complains of the path, which is none of bpf's */
	get.pathname = (uint64_t)(uintptr_t) "/proc/self/nothing";
	long r = syscall(SYS_bpf, BPF_OBJ_GET, &get, sizeof(get));

	door("get an object", r < 0 && errno == EPERM ? -1 : 0);
	return attack_end();
}
