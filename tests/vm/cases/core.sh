# expects: the shipped Python runs in its jail, and a memory bomb in Python ends as "memory";
#   here with the addresses and filters that a host has, and other guests do without
# vm: --append sysctl.kernel.randomize_va_space=2 --append sysctl.net.core.bpf_jit_enable=1
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core
is "randomize_va_space" "$(cat /proc/sys/kernel/randomize_va_space)" 2
is "bpf_jit_enable" "$(cat /proc/sys/net/core/bpf_jit_enable)" 1

python()
{
	rm -f /tmp/report
	run $stepjail run --rootfs core --report /tmp/report "$@"
}

python --memory 128M -- /bin/python3 -c 'print(6*7)'
is status $status 0
is answer "$(cat /tmp/out)" 42
is verdict "$(field /tmp/report verdict)" completed
has_all "$(field /tmp/report cgroup_path)" /stepjail/
is setgroups "$(field /tmp/report setgroups)" deny

python --memory 64M -- /bin/python3 -I -S -c 'hold = [b"x" * (1 << 20) for i in range(512)]; print("survived")'
is status $status 137
is verdict "$(field /tmp/report verdict)" memory
is "bytes on stdout" "$(wc -c </tmp/out)" 0
nothing_left
