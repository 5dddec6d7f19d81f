# expects: a memory bomb ends as "memory", nothing else is killed, nothing is swapped
# vm: --swap 64M
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

oom_kills()
{
	keyed /proc/vmstat oom_kill
}

swapped()
{
	awk '/^SwapTotal/ { t = $2 } /^SwapFree/ { print t - $2 }' /proc/meminfo
}

some_swapped()
{
	[ "$(swapped)" -gt 8192 ]
}

# without the limit the same bomb does no harm: the limit is what ends it
jail --memory 512M -- /bin/memory 96
is status $status 0
is verdict "$(field /tmp/report verdict)" completed
is "last line" "$(tail -n 1 /tmp/out)" survived

# and the guest does swap, where nothing forbids it: a limited cgroup made by hand
echo "+memory" >$top/cgroup.subtree_control
mkdir $top/byhand
echo 32M >$top/byhand/memory.max
sh -c 'echo $$ >'$top'/byhand/cgroup.procs; exec /mini/bin/memory 48 500' &
until_true 20 some_swapped || fail "the control cannot fail: nothing was swapped"
wait $!
echo "  swap works"

# a bystander that would look better to the kernel's killer than a 64 MiB jail does
/mini/bin/memory 96 1000000 >/dev/null &
bystander=$!
before=$(oom_kills)
swapped_before=$(swapped)

jail --memory 64M -- /bin/memory 256
is status $status 137
is verdict "$(field /tmp/report verdict)" memory
is signal "$(field /tmp/report signal)" 9
is oom_kills "$(field /tmp/report oom_kills)" $(($(oom_kills) - before))
within oom_kills "$(field /tmp/report oom_kills)" 1 3
within memory_peak_bytes "$(field /tmp/report memory_peak_bytes)" $((48 << 20)) $((64 << 20))
is not_enforced "$(field /tmp/report not_enforced)" '[]'
dmesg | grep -q 'constraint=CONSTRAINT_MEMCG.*/stepjail/run-' || fail "the kernel names another cgroup"
kill -0 $bystander || fail "the bystander was killed"
within "KiB swapped" "$(swapped)" 0 "$swapped_before"

# what the kernel was told, while it runs
$stepjail run --rootfs /mini --memory 64M -- /bin/true 2000 &
launcher=$!
until_true 5 has_leaf || fail "no leaf"
is memory.max "$(cat "$(leaf)"/memory.max)" $((64 << 20))
is memory.swap.max "$(cat "$(leaf)"/memory.swap.max)" 0
wait $launcher
kill $bystander
wait $bystander
nothing_left
