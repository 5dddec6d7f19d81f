# expects: an ordinary user's jail works in a delegated subtree, and only there
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# as a user: run WHERE OPTIONS... ; stepjail takes the shell's place in the cgroup WHERE
user_jail()
{
	where=$1
	shift
	rm -rf /tmp/user
	mkdir -m 777 /tmp/user
	run sh -c "echo \$\$ >$where/cgroup.procs
		exec su -s /bin/sh user -c 'exec $stepjail run --rootfs /mini --report /tmp/user/report $*'"
}

echo "+cpu +memory +pids" >$top/cgroup.subtree_control

user_jail $top/case -- /bin/true
is "status, not delegated" $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -qi 'cgroup.*delegated' /tmp/err || fail "stderr does not say what is missing"
run as_user $stepjail check
[ $status -ne 0 ] || fail "check is content without delegation"

user_jail $top/case --allow-missing cgroup -- /bin/true
is "status, not delegated and allowed to" $status 0
has_all "$(field /tmp/user/report not_enforced)" memory.max memory.swap.max pids.max cpu.max
# an rlimit stands in: the bomb is told no, or killed, but does not survive
user_jail $top/case --allow-missing cgroup --memory 64M -- /bin/memory 256
[ $status -ne 0 ] || fail "the bomb survived"

# as systemd delegates a scope: the folder and three files, nothing above
delegate()
{
	mkdir "$1"
	chown user:user "$1" "$1/cgroup.procs" "$1/cgroup.subtree_control" "$1/cgroup.threads"
}

# the launcher is alone in the delegated cgroup and steps aside
delegate $top/own
user_jail $top/own --memory 64M -- /bin/memory 256
is "verdict, own cgroup" "$(field /tmp/user/report verdict)" memory
is not_enforced "$(field /tmp/user/report not_enforced)" '[]'
nothing_left

# the launcher is in a child of the delegated cgroup, whose controllers are on
delegate $top/parent
delegate $top/parent/shell
echo "+cpu +memory +pids" >$top/parent/cgroup.subtree_control
user_jail $top/parent/shell --memory 64M --pids 32 -- /bin/memory 256
is "verdict, sibling" "$(field /tmp/user/report verdict)" memory
user_jail $top/parent/shell --pids 32 -- /bin/fork hold 100 500
is "held at its pids" "$(grep made /tmp/out)" "made 31 refused 69"
nothing_left

# delegated, but without the controllers
mkdir $top/mid
echo "+cpu +pids" >$top/mid/cgroup.subtree_control
delegate $top/mid/poor
user_jail $top/mid/poor -- /bin/true
is "status, no memory controller" $status 125
grep -q memory /tmp/err || fail "stderr does not name memory"
nothing_left

# as some systems have it
echo 0 >/proc/sys/kernel/unprivileged_userns_clone
user_jail $top/parent/shell -- /bin/true
is "status, no user namespaces for users" $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -q unprivileged_userns_clone /tmp/err || fail "stderr does not name the sysctl"
run as_user $stepjail check
[ $status -ne 0 ] || fail "check is content without user namespaces"
