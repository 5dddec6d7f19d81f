# expects: the packages install in a clean Debian, jail for an ordinary user, serve, and leave nothing
# vm: --timeout 400 --append apparmor=1 --append security=apparmor
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
stepjail=/usr/bin/stepjail
profiles=/sys/kernel/security/apparmor/profiles
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
# a boot's, which empties /tmp; here it is no part of default.target
systemctl start sysinit.target

# with /bin/sh and no terminal, as apt has it
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin
run dpkg -i /debs/*.deb
is "status of dpkg -i" $status 0
grep -iE 'warning|error|not found' /tmp/err /tmp/out && fail "that was no clean install"
run dpkg --verify stepjail stepjail-mcp stepjail-rootfs-core python3-stepjail
is "what differs from the packages" "$(cat /tmp/out)" ""
grep -q '^stepjail (enforce)' $profiles || fail "the AppArmor profile is not loaded"
is "the socket, before anybody says so" "$(systemctl is-enabled stepjail-mcp.socket)" disabled
for program in stepjail stepjail-agent stepjail-batch stepjail-oci stepjail-mcp; do
	run $program --version
	is "status of $program --version" $status 0
done
is "the build" "$(stepjail --version | sed -n 's/^package: //p')" \
	"stepjail $(dpkg-query -W -f '${Version}' stepjail)"

# an ordinary user, in a scope of the user's own
user_manager
scope="systemd-run --user --scope --quiet -p Delegate=yes"
mkdir -m 777 /tmp/user
run as_managed "$scope stepjail check"
is "status of check" $status 0
run as_managed "$scope stepjail run --verify-rootfs --report /tmp/user/report -- /bin/python3 -c 'print(6 * 7)'"
is "status, and what it prints" "$status $(cat /tmp/out)" "0 42"
is not_enforced "$(field /tmp/user/report not_enforced)" '[]'
is root_verified "$(field /tmp/user/report root_verified)" true
cat >/tmp/user/session.py <<END
import stepjail
with stepjail.Stepjail() as s, s.session() as session:
    print(session.run("x = 6").verdict, session.run("x * 7").text)
END
run as_managed "$scope python3 /tmp/user/session.py"
is "sessions of a user" "$status $(cat /tmp/out)" "0 completed 42"
run python3 /tmp/user/session.py
is "sessions of root" "$status $(cat /tmp/out)" "0 completed 42"

# a tree of the user's own, of the installed core and of a package made here
mkdir -p /tmp/user/deb/DEBIAN /tmp/user/deb/usr/lib/python3/dist-packages /tmp/user/deb/usr/share/doc/greet
printf 'Package: greet\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b>\nDescription: x\n' >/tmp/user/deb/DEBIAN/control
echo 'word = "good day"' >/tmp/user/deb/usr/lib/python3/dist-packages/greet.py
echo MIT >/tmp/user/deb/usr/share/doc/greet/copyright
dpkg-deb --build --root-owner-group /tmp/user/deb /tmp/user/greet.deb >/dev/null
run as_managed "stepjail-tree --from core --name mine --deb /tmp/user/greet.deb /tmp/user/trees"
is "status of stepjail-tree" $status 0
run as_managed "$scope stepjail run --rootfs /tmp/user/trees/mine --verify-rootfs -- /bin/python3 -c 'import greet; print(greet.word)'"
is "status in it, and what it prints" "$status $(cat /tmp/out)" "0 good day"

# assistants, by the socket: it starts the server, for those of the group
echo 'memory 256M' >>/etc/stepjail/defaults
run systemctl enable --now stepjail-mcp.socket
is "status of enable" $status 0
is "who may connect" "$(stat -c '%U:%G %a' /run/stepjail-mcp.socket)" "stepjail:stepjail 660"
is "the server, before anybody asks" "$(systemctl is-active stepjail-mcp.service)" inactive
sed -i 's/^stepjail:.*/&friend/' /etc/group
client()
{
	setpriv --reuid "$1" --regid "$1" --init-groups python3 /case/client.py
}
run client user
grep -q PermissionError /tmp/err || fail "a user who is not of the group connects"
run client friend
is "status of a client" $status 0
is "what it was told" "$(cat /tmp/out)" "42
completed
memory"
is "the server" "$(systemctl is-active stepjail-mcp.service)" active
run stepjail-agent transcripts verify /var/lib/stepjail-mcp
is "status of verify, of its transcripts" $status 0
is "whose it is" "$(stat -c %U "/proc/$(systemctl show --value -p MainPID stepjail-mcp.service)")" stepjail

# the agent at that server, whose jails it takes: root's, but not those of the group
solve()
{
	setpriv --reuid "$1" --regid "$1" --init-groups env HOME=/tmp stepjail-agent solve --transcript none \
		--server /run/stepjail-mcp.socket --model scripted:/case/answer.turns "What is 6 times 7?"
}
run solve root
is "the answer" "$status $(cat /tmp/out)" "0 It is 42."
run solve friend
is "status of solve as one of the group" $status 125
grep -q 'who listens at .* is user' /tmp/err || fail "solve does not say whose server that is"

run systemctl stop stepjail-mcp.service
run client friend
is "status of a client after a stop" $status 0

# gone, but for the profile in the kernel, which dh_apparmor leaves until the next boot
run dpkg --purge stepjail-mcp python3-stepjail stepjail stepjail-rootfs-core
is "status of purge" $status 0
is "the socket" "$(systemctl is-active stepjail-mcp.socket)" inactive
is "what is left" "$(find / -xdev \( -name '*stepjail*' -o -path '/etc/systemd/*stepjail*' \) \
	! -path '/debs/*' ! -path '/case/*' ! -path '/var/lib/dpkg/*' ! -path '/tmp/*' ! -path '/var/cache/apparmor/*')" ""
