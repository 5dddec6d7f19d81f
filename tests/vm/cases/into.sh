# expects: the child was born in its leaf (CLONE_INTO_CGROUP), never moved there
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# The launcher alone in a cgroup A. A child that is forked and then moved makes A's peak
# one higher than what A holds while the child runs elsewhere; a child that was born
# elsewhere does not. Read from pids.peak, or where the kernel lacks it from a second run
# with A's pids.max at exactly what A held: a fork in A would then be refused.
echo "+pids +memory +cpu" >$top/cgroup.subtree_control
mkdir $top/A $top/B

steady()
{
	sed -n 's/^/  A holds /p' $top/A/pids.current
	held=$(cat $top/A/pids.current)
}

# the control: a shell in A that forks, moves the child to B, and stays
sh -c 'echo $$ >'$top'/A/cgroup.procs
	sh -c "echo \$\$ >'$top'/B/cgroup.procs; exec sleep 2" & wait' &
moved=$!
arrived()
{
	[ -n "$(cat $top/B/cgroup.procs)" ]
}
until_true 5 arrived || fail "the control did not start"
steady
if [ -e $top/A/pids.peak ]; then
	[ "$(cat $top/A/pids.peak)" -gt "$held" ] || fail "the control cannot fail: fork and move unseen"
fi
wait $moved
echo "$held" >$top/A/pids.max
sh -c 'echo $$ >'$top'/A/cgroup.procs
	sh -c "echo \$\$ >'$top'/B/cgroup.procs"; exit' 2>/dev/null &&
	fail "the control cannot fail: fork in a full cgroup"
echo max >$top/A/pids.max
rmdir $top/A
mkdir $top/A

jail_in_A()
{
	sh -c 'echo $$ >'$top'/A/cgroup.procs
		exec '$stepjail' run --rootfs /mini --report /tmp/report -- /bin/true 2000' &
	launcher=$!
	running()
	{
		grep -q . "$(leaf)/cgroup.procs" && [ "$(cat "$(leaf)/pids.current")" -ge 2 ]
	}
	until_true 5 running || fail "no jail"
}

jail_in_A
steady
if [ -e $top/A/pids.peak ]; then
	is "A's peak" "$(cat $top/A/pids.peak)" "$held"
fi
wait $launcher || fail "status $?"

echo "$held" >$top/A/pids.max
jail_in_A
wait $launcher || fail "status $? in a full cgroup: something was forked there"
is "forks refused in A" "$(keyed $top/A/pids.events max)" 0
nothing_left
