# expects: where systemd cannot help, one line says what to type, and typing that helps
# vm: --systemd --timeout 120
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
mounts=$(count_mounts)
mkdir -m 777 /tmp/user
true="$stepjail run --rootfs /mini --report /tmp/user/report -- /bin/true"

# refused WORDS... : 125, and one line with all of them
refused()
{
	is status $status 125
	is "lines on stderr" "$(wc -l </tmp/err)" 1
	has_all "$(cat /tmp/err)" 'is not delegated to this user' "$@"
}

# no systemd of the user's, and then one that may not move processes: there is no bus
run as_user "$true"
refused 'type: systemd-run --user --scope -p Delegate=yes stepjail' \
	'which was tried: Failed to connect' 'systemd-run --uid=1000 -p Delegate=yes'
systemctl start user@1000.service
run as_managed "$true"
refused 'type: systemd-run --user --scope' 'which was tried: its job fails'
run as_managed "$stepjail check"
[ $status -ne 0 ] || fail "check is content"
grep -q '^missing *cgroup v2 .*which was tried' /tmp/out || fail "check does not say why"
run as_managed "$stepjail run --rootfs /mini --allow-missing cgroup -- /bin/true"
is "status, cgroup may be missing" $status 0
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -q '^stepjail: warning' /tmp/err || fail "no warning"

# no systemd-run, and what goes by that name elsewhere is not it
mv /usr/bin/systemd-run /tmp/
mkdir /tmp/path
printf '#!/bin/sh\ntouch /tmp/user/fooled\n' >/tmp/path/systemd-run
chmod 755 /tmp/path/systemd-run
cat >/tmp/user/shell.sh <<END
export PATH=/tmp/path:\$PATH
$true
echo status \$?
until [ -e /tmp/user/typed ]; do usleep 50000; done
$true
echo status \$?
END
as_user sh /tmp/user/shell.sh >/tmp/out 2>/tmp/err &
shell=$!
until_true 10 grep -q status /tmp/out || fail "no status"
status=$(sed -n 's/^status //p' /tmp/out)
sed 's/^/  | /' /tmp/err
refused 'no systemd-run here; type as root: '
[ ! -e /tmp/user/fooled ] || fail "a systemd-run was found by PATH"

# word for word
sed -n 's/.*type as root: //p' /tmp/err >/tmp/typed
sh -e /tmp/typed || fail "what was to be typed fails"
touch /tmp/user/typed
wait $shell
is "status then" "$(sed -n 's/^status //p' /tmp/out | tail -n 1)" 0
is not_enforced "$(field /tmp/user/report not_enforced)" '[]'
is memory.max "$(field /tmp/user/report memory.max)" 536870912
nothing_left
