# expects: with cgroup v2 every attack is held, as root and as an ordinary user; so is
#   truncating a file given as stdin, which this kernel's Landlock cannot refuse
# vm: --timeout 400
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
[ -x /build/stepjail-escape ] || skip "build/stepjail-escape is not built"

# Small, because dentry-bomb makes as many names as the limit may hold, and half as many more.
# Scenes lie in /tmp; their files must be open to the other user, and their devices devices
options="--rootfs /mini --memory 8M --pids 16 --files 64 --inodes 64 --tmp-size 1M
	--work-size 1M --file-size 8M --wall-time 60s"

bombs="stdin-reopen memory memory-shared memory-dropped memory-zero memory-headless
	memory-tables memory-memfd memory-pipes memory-sockets dentry-bomb fork-bomb thread-bomb"

# shellcheck disable=SC2086 # words
run $stepjail escape $options
is "what is open" "$(sed -n 's/^open *\([^ ]*\) .*/\1/p' /tmp/out)" ""
tail -n 1 /tmp/out | grep -Eq '^1[6-9][0-9] held, 0 open, 0 failed' ||
	fail "the last line is '$(tail -n 1 /tmp/out)'"
for bomb in $bombs; do
	grep -q "^held *$bomb " /tmp/out || fail "$bomb is not among the held"
done
nothing_left

# an ordinary user, in a cgroup that was delegated
echo "+cpu +memory +pids" >$top/cgroup.subtree_control
for cgroup in $top/theirs $top/theirs/shell; do
	mkdir "$cgroup"
	chown user:user "$cgroup" "$cgroup/cgroup.procs" "$cgroup/cgroup.subtree_control" \
		"$cgroup/cgroup.threads"
done
echo "+cpu +memory +pids" >$top/theirs/cgroup.subtree_control
only=''
for bomb in $bombs; do
	only="$only --probe $bomb"
done
# shellcheck disable=SC2086,SC2116 # words, on one line
run sh -c "echo \$\$ >$top/theirs/shell/cgroup.procs
	exec su -s /bin/sh user -c 'exec $stepjail escape $only $(echo $options)'"
is status $status 0
is "the last line" "$(tail -n 1 /tmp/out)" "13 held, 0 open, 0 failed, 0 skipped"
nothing_left
