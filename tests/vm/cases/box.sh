# expects: root in a container makes its leaves in what the container has
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

echo "+cpu +memory +pids +io" >$top/cgroup.subtree_control
mkdir $top/box
cat >/tmp/box.sh <<END
$stepjail run --rootfs /mini --memory 32M --report /tmp/report -- /bin/end grow 96
echo status \$?
sleep 1
$stepjail run --rootfs /mini -- /bin/true 2000
END
sh -c "echo \$\$ >$top/box/cgroup.procs; exec /mini/bin/box /bin/sh /tmp/box.sh" >/tmp/out &
box=$!
until_true 10 grep -q status /tmp/out || fail "no status"
until_true 5 no_leaf
until_true 5 has_leaf || fail "no leaf"
# seen from outside: beside the box's own processes, which have stepped aside
is leaf "$(leaf | sed 's,/run-[0-9-]*$,/LEAF,')" $top/box/LEAF
wait $box || fail "status $?"
is "status of the bomb" "$(sed -n 's/^status //p' /tmp/out)" 137
is verdict "$(field /tmp/report verdict)" memory
is not_enforced "$(field /tmp/report not_enforced)" '[]'
nothing_left
