# expects: where nothing is delegated, stepjail starts itself again in a scope, unseen
# vm: --systemd --timeout 120
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
user_manager
mounts=$(count_mounts)
mkdir -m 777 /tmp/user
unit=/user.slice/user-1000.slice/user@1000.service/app.slice/SCOPE
mini="$stepjail run --rootfs /mini --bind /bin/busybox:/bin/busybox"

# a leaf's name begins with its launcher's pid
launcher()
{
	leaf | sed 's,.*/run-,,; s,-.*,,'
}

# everything that a caller sees is as without: words, fds, folder, status
cat >/tmp/user/all.sh <<END
cd /tmp/user
echo from the host >file
echo from stdin | $mini --bind file:/file --report 7 -- /bin/busybox sh -c '
	cat; cat /file; echo "\$# words: <\$1> <\$2> <\$3>"; echo to stderr >&2; exit 5
' sh 'a  b' '' '*' 7>report 8</etc/passwd
echo status \$?
END
run as_managed sh /tmp/user/all.sh
is status "$(sed -n 's/^status //p' /tmp/out)" 5
is stdout "$(grep -v ^status /tmp/out)" "from stdin
from the host
3 words: <a  b> <> <*>"
is stderr "$(cat /tmp/err)" 'to stderr'
is "exit code in the report" "$(field /tmp/user/report exit_code)" 5
is not_enforced "$(field /tmp/user/report not_enforced)" '[]'
is memory.max "$(field /tmp/user/report memory.max)" 536870912

# a policy that can be read but once is not lost on the way
run as_managed "echo 'pids 9' | $mini --policy /dev/stdin --report /tmp/user/report -- /bin/true"
is status $status 0
is pids.max "$(field /tmp/user/report pids.max)" 10
# nor are mistakes made into something else
run as_managed "$mini --nonsense -- /bin/true"
is status $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1

# the same process from first to last: signals reach it
cat >/tmp/user/long.sh <<END
echo \$\$ >/tmp/user/pid
grep ^SigIgn: /proc/\$\$/status >/tmp/user/ignored
exec $mini --report /tmp/user/report -- /bin/true 20000
END
as_managed exec sh /tmp/user/long.sh &
shell=$!
is leaf "$(leaf_of_unit)" "$unit/LEAF"
until_true 5 grep -q . "$(leaf)/cgroup.procs"
pid=$(launcher)
is "its pid" "$pid" "$(cat /tmp/user/pid)"
is "its program" "$(readlink "/proc/$pid/exe")" /build/stepjail
is "what it ignores" "$(grep ^SigIgn: "/proc/$pid/status")" "$(cat /tmp/user/ignored)"
sleep 0.5
kill -TERM "$pid"
wait $shell
is "status after SIGTERM" $? 143
is verdict "$(field /tmp/user/report verdict)" cancelled

# and nothing is left when it is killed
as_managed "exec $mini -- /bin/true 20000" &
shell=$!
until_true 5 has_leaf || fail "no leaf"
kill -9 "$(launcher)"
wait $shell
is "status after SIGKILL" $? 137

# from a service of the user's own systemd, which owns its folder and delegates nothing
mkdir -p /etc/systemd/user
cat >/etc/systemd/user/plain.service <<END
[Service]
Type=oneshot
ExecStart=$stepjail run --rootfs /mini --report /tmp/user/report -- /bin/true 2000
END
as_managed systemctl --user start plain.service &
job=$!
is "leaf of a plain service's jail" "$(leaf_of_unit)" "$unit/LEAF"
wait $job || fail "status $?"

# root has a place of its own, and a scope only where that cannot be
mkdir $top/stepjail 2>/dev/null
sh -c "echo \$\$ >$top/stepjail/cgroup.procs; exec sleep 60" &
squatter=$!
until_true 5 grep -q . $top/stepjail/cgroup.procs || fail "nobody is in the way"
$stepjail run --rootfs /mini -- /bin/true 2000 &
job=$!
is "leaf of root, its own place taken" "$(leaf_of_unit)" /system.slice/SCOPE/LEAF
wait $job || fail "status $?"
mv /usr/bin/systemd-run /tmp/
run $stepjail run --rootfs /mini -- /bin/true
is status $status 125
grep -q 'stepjail has processes of its own' /tmp/err || fail "stderr does not say why"
# what it says to type, word for word
sed -n 's/.*; type: //p' /tmp/err >/tmp/typed
sh -e /tmp/typed || fail "what was to be typed fails"
run $stepjail run --rootfs /mini -- /bin/true
is "status then" $status 0
kill $squatter
wait $squatter
nothing_left
