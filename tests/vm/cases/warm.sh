# expects: each clone of a template is born in a leaf of its own, with its limits, and no other
# vm: --file build/stepjail-warm:/build/stepjail-warm --file build/warm/tree:/build/warm-tree --timeout 90
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
[ -x /build/stepjail-warm ] || skip "build/stepjail-warm is not built"
grep -q 'cgroup2.*nsdelegate' /proc/mounts || fail "namespaces are no bounds of delegation here"

# warm COUNT [options] : jails, one after the other, out of one template
warm()
{
	count=$1
	shift
	run /build/stepjail-warm "$count" warm --rootfs /build/warm-tree --report 2 "$@" -- \
		/bin/stepjail-interpreter --template
	is status $status 0
	is "jails whose walls stand" "$(grep -c '^whole$' /tmp/out)" "$count"
	is "jails with limits" "$(grep -c '"limited":1' /tmp/out)" "$count"
}

warm 3 --memory 64M
is "leaves" "$(sed -n 's/.*"cgroup_path":"\([^"]*\)".*/\1/p' /tmp/out | sort -u | wc -l)" 3
has_all "$(cat /tmp/out)" '"cgroup_path":"/stepjail/run-'
nothing_left

# the leaves of a template and of its clone, in the template's folder, while both are there
/build/stepjail-warm 1 warm --rootfs /build/warm-tree --report 2 --memory 64M \
	--env MODE=stay -- /bin/stepjail-interpreter --template >/tmp/out 2>/tmp/err &
launcher=$!
until_true 20 grep -q stands /tmp/out || fail "no clone: $(cat /tmp/out /tmp/err)"
for leaf in "$top"/stepjail/run-*/run-*; do
	wc -l <"$leaf/cgroup.procs" >>/tmp/processes
	is memory.max "$(cat "$leaf/memory.max")" $((64 << 20))
	is "owner of its limits" "$(stat -c %u "$leaf/memory.max")" 0
done
# init and the program; a template is a child of that
is "processes in each" "$(sort /tmp/processes | tr '\n' ' ')" "2 3 "
# the right to move processes between them is the template's, and nobody else's
for file in $(find $top/stepjail/run-* ! -user 0); do
	has_all "$file" cgroup.procs
done
is "whose they are" "$(find $top/stepjail/run-* ! -user 0 -exec stat -c %u {} + | sort -u | wc -l)" 1
is "owner of what is above" "$(stat -c %u $top/stepjail/cgroup.procs)" 0
is "owner of the folder" "$(stat -c %u $top/stepjail)" 0
kill -9 $launcher
nothing_left

# as a user, in a subtree that systemd would delegate so
delegate()
{
	mkdir "$1"
	chown user:user "$1" "$1/cgroup.procs" "$1/cgroup.subtree_control" "$1/cgroup.threads"
}
echo "+cpu +memory +pids" >$top/cgroup.subtree_control
delegate $top/own
run sh -c "echo \$\$ >$top/own/cgroup.procs
	exec su -s /bin/sh user -c 'exec /build/stepjail-warm 2 warm --rootfs /build/warm-tree \
		--report 2 -- /bin/stepjail-interpreter --template'"
is "status, as a user" $status 0
is "jails whose walls stand" "$(grep -c '^whole$' /tmp/out)" 2
is "jails with limits" "$(grep -c '"limited":1' /tmp/out)" 2
nothing_left
