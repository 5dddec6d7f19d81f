# expects: every limit is in the leaf, read back into the report, and nothing else will do
# vm: --swap 64M --timeout 90
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# told KEY : of the report's cgroup object
told()
{
	field /tmp/report "$1"
}

jail -- /bin/true
is status $status 0
for row in memory.max=536870912 memory.high=max memory.swap.max=0 memory.oom.group=0 \
	pids.max=65 'cpu.max=100000 100000' cpu.weight=100 cpuset.cpus=null io.max=null; do
	is "${row%%=*}" "$(told "${row%%=*}")" "${row#*=}"
done

# memory is kept in whole pages
jail --memory 67108865 --memory-high 33554433 --swap 16777217 --oom-group=yes --pids 7 \
	--cpus unlimited --cpu-weight 9999 --cpuset 0 -- /bin/true
is status $status 0
for row in memory.max=67108864 memory.high=33554432 memory.swap.max=16777216 \
	memory.oom.group=1 pids.max=8 'cpu.max=max 100000' cpu.weight=9999 cpuset.cpus=0 \
	cpuset.cpus.effective=0; do
	is "${row%%=*}" "$(told "${row%%=*}")" "${row#*=}"
done

# the report does not make it up: the same in the leaf, while it runs
$stepjail run --rootfs /mini --memory-high 32M --cpu-weight 7 --oom-group=yes \
	--cpuset 0 -- /bin/true 2000 &
launcher=$!
until_true 5 has_leaf || fail "no leaf"
until_true 5 grep -q 0 "$(leaf)/cpuset.cpus" || fail "no cpuset"
is memory.high "$(cat "$(leaf)"/memory.high)" $((32 << 20))
is cpu.weight "$(cat "$(leaf)"/cpu.weight)" 7
is memory.oom.group "$(cat "$(leaf)"/memory.oom.group)" 1
is cpuset.cpus "$(cat "$(leaf)"/cpuset.cpus)" 0
wait $launcher

# swap, where it is allowed, takes what memory cannot
jail --memory 24M -- /bin/end grow 40
is "verdict without swap" "$(field /tmp/report verdict)" memory
jail --memory 24M --swap 48M -- /bin/end grow 40
is "verdict with swap" "$(field /tmp/report verdict)" completed

# a CPU that the host has not
run $stepjail run --rootfs /mini --cpuset 1 -- /bin/true
is status $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -q -e '--cpuset 1: this host has CPUs 0' /tmp/err || fail "stderr does not name the CPUs"

# somebody else writes to the leaf before the program starts: it does not start
while :; do
	for file in "$top"/stepjail/run-*/memory.max; do
		echo 77M >"$file"
	done
done 2>/dev/null &
meddler=$!
jail -- /bin/end exit 0
kill $meddler
is status $status 125
is verdict "$(field /tmp/report verdict)" launcher-error
grep -q "memory.max reads '80740352' where '536870912' was planned" /tmp/err ||
	fail "stderr does not say what was read and what was planned"
is wall_ms "$(field /tmp/report wall_ms)" null
is "limits that were not as planned" "$(told cgroup_limits)" null
# and no option makes up for that
while :; do
	for file in "$top"/stepjail/run-*/pids.max; do
		echo 5 >"$file"
	done
done 2>/dev/null &
meddler=$!
jail --allow-missing cgroup -- /bin/end exit 0
kill $meddler
is "status, cgroup may be missing" $status 125
nothing_left
