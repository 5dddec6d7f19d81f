# expects: where AppArmor gives no capability, run says what check says; the profile mends it
# vm: --append apparmor=1 --append security=apparmor
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

mount -t securityfs securityfs /sys/kernel/security
load=/sys/kernel/security/apparmor/.load
mounts=$(count_mounts)
[ -e $load ] || fail "the guest's kernel has no AppArmor"

# policy NAME : in one write, as the kernel wants it
policy()
{
	dd if="/policies/$1" of=$load bs=1M 2>/dev/null || fail "the kernel refuses policy $1"
	grep -q "^$1 (enforce)" /sys/kernel/security/apparmor/profiles || fail "$1 is not loaded"
}

# installed as make install does it, and a shell to start it from
mkdir -p /usr/local/bin /usr/local/lib/stepjail /confined
cp /build/stepjail /usr/local/bin/
cp /build/stepjail-init /usr/local/lib/stepjail/
mkdir -p /usr/local/lib/stepjail/rootfs
ln -s /mini /usr/local/lib/stepjail/rootfs/core
cp /bin/busybox /confined/sh
chmod 755 /confined /confined/sh

# confined COMMAND... : from the restricted shell, as root and as an ordinary user
confined()
{
	/confined/sh -c 'exec "$@"' sh "$@"
}

confined_user()
{
	su -s /confined/sh user -c "$*"
}

installed="/usr/local/bin/stepjail run --allow-missing cgroup --rootfs /mini --"
# Ubuntu's restriction is of ordinary users; root without capabilities is refused earlier
refusal()
{
	case $1 in
	confined) echo 'CAP_SETGID' ;;
	*) echo 'load stepjail.s AppArmor profile' ;;
	esac
}

policy restricted
for how in confined confined_user; do
	# shellcheck disable=SC2086 # words
	run $how $installed /bin/true
	is "status, $how" $status 125
	said=$(tail -n 1 /tmp/err)
	echo "$said" | grep -q "$(refusal $how)" || fail "it does not say $(refusal $how)"
	run $how /usr/local/bin/stepjail check --allow-missing cgroup
	[ $status -ne 0 ] || fail "check is content"
	grep -q "^missing *user namespaces .*$(refusal $how)" /tmp/out || fail "no row names it"
	is "the last row" "$(row 'a whole jail')" "missing ${said#stepjail: }"
done

policy stepjail
for how in confined confined_user; do
	# shellcheck disable=SC2086 # words
	run $how $installed /bin/true
	is "status, $how" $status 0
	run $how /usr/local/bin/stepjail check --allow-missing cgroup
	is "status of check" $status 0
	# the profile is the launcher's and the program's own
	# shellcheck disable=SC2086 # words
	run $how $installed /bin/fork hold 2 10
	is "status of a program with children" $status 0
done
# in all its walls, and from a shell without a profile too
# shellcheck disable=SC2086 # words
run as_user $installed /bin/true
is "status, without a confined shell" $status 0
nothing_left
