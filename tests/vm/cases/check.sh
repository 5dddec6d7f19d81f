# expects: check says ok with full v2; run refuses with 125 and one line for each lack
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# refuses WORD COMMAND... : status 125, nothing on stdout, one line on stderr with WORD
refuses()
{
	word=$1
	shift
	run "$@"
	is status $status 125
	is "bytes on stdout" "$(wc -c </tmp/out)" 0
	is "lines on stderr" "$(wc -l </tmp/err)" 1
	grep -qi -- "$word" /tmp/err || fail "stderr does not name $word"
}

run $stepjail check
is "status of check" $status 0
grep -q ^missing /tmp/out && fail "check has something missing"
run $stepjail check --json
is "status of check --json" $status 0

jail -- /bin/true
is status $status 0
is not_enforced "$(field /tmp/report not_enforced)" '[]'

echo 0 >/proc/sys/user/max_user_namespaces
refuses max_user_namespaces $stepjail run --rootfs /mini -- /bin/true
run $stepjail check
[ $status -ne 0 ] || fail "check is content without user namespaces"
grep -q '^missing *user namespaces.*max_user_namespaces' /tmp/out || fail "check names no remedy"
grep -q 'newer kernel' /tmp/out && fail "check blames the kernel for what a sysctl does"
# no option makes up for that one
refuses max_user_namespaces $stepjail run --allow-missing cgroup --rootfs /mini -- /bin/true
echo 1000 >/proc/sys/user/max_user_namespaces

for kind in net mnt pid ipc uts cgroup; do
	was=$(cat /proc/sys/user/max_${kind}_namespaces)
	echo 0 >/proc/sys/user/max_${kind}_namespaces
	# a network namespace of an earlier run would do
	refuses "max_.*_namespaces" $stepjail run --net-namespace fresh --rootfs /mini -- /bin/true
	echo "$was" >/proc/sys/user/max_${kind}_namespaces
done

umount $top
refuses cgroup $stepjail run --rootfs /mini -- /bin/true
run $stepjail check
[ $status -ne 0 ] || fail "check is content without cgroup v2"
mounts=$(count_mounts)
jail --allow-missing cgroup -- /bin/true
is status $status 0
has_all "$(field /tmp/report not_enforced)" memory.max memory.swap.max pids.max cpu.max
grep -qi cgroup /tmp/err || fail "stderr does not say that the cgroup is missing"
# and all that was asked for is told, with what stands in for it
jail --allow-missing cgroup --memory-high 32M --swap 1M --oom-group=yes --cpu-weight 50 \
	--cpuset 0 --io-max '/ rbps=1M' --io-max '8:0 wiops=9' -- /bin/true
is status $status 0
has_all "$(field /tmp/report not_enforced)" memory.max: memory.high: memory.swap.max: \
	memory.oom.group: pids.max: cpu.max: cpu.weight: cpuset.cpus: 'io.max / rbps=1M:' \
	'io.max 8:0 wiops=9:'
is "the leaf's limits" "$(field /tmp/report cgroup_limits)" null
nothing_left
