# expects: without the memory controller run refuses with 125 and names it
# vm: --append cgroup_disable=memory
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

grep -qw memory $top/cgroup.controllers && fail "the guest still has it"
run $stepjail run --rootfs /mini -- /bin/true
is status $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -q memory /tmp/err || fail "stderr does not name memory"
run $stepjail check
[ $status -ne 0 ] || fail "check is content without it"
grep -q 'memory' /tmp/out || fail "check does not name memory"
