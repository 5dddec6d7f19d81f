# expects: the shipped Python runs in its jail, and a memory bomb in Python ends as "memory"
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core

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
