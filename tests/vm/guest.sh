# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2009,SC2015,SC2034 # no pgrep -f; fail() ends it; for cases
#
# guest.sh - what the cases share; sourced in the guest, by busybox sh
#
# A case exits 0 if all it shows is so, 77 if it lacks something and says what, anything
# else if not. /mini is a root tree with the bombs in /bin; core's tree is on a disk.

stepjail=/build/stepjail
top=/sys/fs/cgroup

fail()
{
	echo "FAIL: $*"
	exit 1
}

skip()
{
	echo "skip: $*"
	exit 77
}

need_stepjail()
{
	[ -x $stepjail ] && [ -x /build/stepjail-init ] || skip "build/stepjail is not built"
}

# The clock of a guest that waits jumps to its next timer (see run), so while the host's disk
# is slow seconds pass here, up to a jail's time limit: the tree is read before any is set.
need_core()
{
	[ -x /build/rootfs/core/bin/python3 ] || skip "build/rootfs/core is not built"
	find /build/rootfs/core -type f -exec cat {} + >/dev/null
}

# row NAME : a row of check in /tmp/out: its state and what it says, of its cause where that
# is an earlier row's
row()
{
	found=$(sed -n "s/^\([a-z]*\) *$1  */\1 /p" /tmp/out)
	case $found in
	*" for the same cause as: "*) row "${found##*: }" ;;
	*) echo "$found" ;;
	esac
}

# is NAME GOT WANTED
is()
{
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
	echo "  $1 is $2"
}

# within NAME GOT LOW HIGH : integers
within()
{
	case $2 in '' | *[!0-9]*) fail "$1 is '$2', not a number" ;; esac
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1 is $2, not within $3..$4"
	echo "  $1 is $2, within $3..$4"
}

# has_all TEXT WORDS...
has_all()
{
	text=$1
	shift
	for word in "$@"; do
		case $text in
		*"$word"*) echo "  named: $word" ;;
		*) fail "'$word' is not in '$text'" ;;
		esac
	done
}

# field REPORT KEY : a value of a flat JSON object, quotes taken off
field()
{
	tr -d '\n' <"$1" |
		sed -n 's/.*"'"$2"'" *: *\("[^"]*"\|\[[^]]*\]\|[^,}]*\).*/\1/p' |
		sed 's/^"//; s/" *$//; s/ *$//'
}

# keyed FILE KEY : the number behind a key of memory.events, cpu.stat, ...
keyed()
{
	sed -n "s/^$2 //p" "$1"
}

# run COMMAND... : run it, keep its status in $status, its words in /tmp/out and /tmp/err
run()
{
	status=0
	"$@" >/tmp/out 2>/tmp/err || status=$?
	sed 's/^/  | /' /tmp/out /tmp/err
}

# jail OPTIONS... -- PROGRAM... : run() of a jail from /mini, with a report
jail()
{
	rm -f /tmp/report
	run $stepjail run --rootfs /mini --report /tmp/report "$@"
}

# until_true SECONDS COMMAND... : wait for it
until_true()
{
	tries=$(($1 * 50))
	shift
	while ! "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		usleep 20000
	done
}

leaf()
{
	find $top -type d -name 'run-[0-9]*-[0-9]*' | head -n 1
}

has_leaf()
{
	[ -n "$(leaf)" ]
}

no_leaf()
{
	[ -z "$(leaf)" ]
}

# nothing_left : no leaf, no process of a jail, no mount; within a second
nothing_left()
{
	until_true 1 no_leaf || fail "left behind: $(leaf)"
	until_true 1 no_process || fail "left behind: $(ps -o pid,args | grep -E "$jailed")"
	is "number of mounts" "$(count_mounts)" "$mounts"
}

# but for the network namespaces that runs of root's keep for later ones
count_mounts()
{
	grep -vc ' /run/stepjail/net' /proc/self/mounts
}

jailed='stepjail|/bin/(end|true|fork|spin|memory|fill|python3)'
mounts=$(count_mounts)

no_process()
{
	! ps -o args | grep -E "$jailed" | grep -qv grep
}

# as_user COMMAND... : in the shell of an ordinary user
as_user()
{
	su -s /bin/sh user -c "$*"
}

# ---- for cases that boot systemd (# vm: --systemd)

# unit NAME COMMAND [PROPERTY=VALUE...] : run a unit to its end, as run() does a command
unit()
{
	unit=$1 command=$2
	shift 2
	rm -rf /tmp/unit
	mkdir -m 777 /tmp/unit
	{
		printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\n'
		printf 'ExecStart=/bin/sh /tmp/unit.sh\n'
		printf 'StandardOutput=file:/tmp/out\nStandardError=file:/tmp/err\n'
		printf '%s\n' "$@"
	} >"/run/systemd/system/$unit.service"
	printf '%s\n' "$command" >/tmp/unit.sh
	rm -f /tmp/out /tmp/err
	systemctl daemon-reload
	systemctl start "$unit.service" 2>/dev/null
	status=$(systemctl show --value -p ExecMainStatus "$unit.service")
	sed 's/^/  | /' /tmp/out /tmp/err
}

# user_manager : start the ordinary user's own systemd, with the system bus
user_manager()
{
	systemctl start dbus.service user@1000.service || fail "no user manager"
}

# as_managed COMMAND... : as_user(), with the way to the user's systemd. Like a login's
# shell, it is in none of that systemd's units.
as_managed()
{
	as_user "export XDG_RUNTIME_DIR=/run/user/1000; $*"
}

# a jail that tells of itself for two seconds while a unit or a scope runs it
leaf_of_unit()
{
	until_true 5 has_leaf || fail "no leaf"
	leaf | sed "s,^$top,,; s,/run-[0-9-]*\$,/LEAF,; s,run-r[0-9a-f]*.scope,SCOPE,"
}

# variants NAME : rows of /variants.py
variants()
{
	mount -t securityfs securityfs /sys/kernel/security
	mounts=$(count_mounts)
	for module in inet_diag unix_diag netlink_diag; do
		modprobe $module 2>/dev/null && fail "the guest has $module"
	done
	# an ordinary user's, as systemd delegates it
	echo "+cpu +memory +pids" >$top/cgroup.subtree_control
	for folder in $top/own $top/own/shell; do
		mkdir "$folder"
		chown user:user "$folder" "$folder/cgroup.procs" "$folder/cgroup.subtree_control"
	done
	echo "+cpu +memory +pids" >$top/own/cgroup.subtree_control
	# the tree's own Python, outside of a jail, looks for its library where the tree has it
	mkdir -p /lib
	ln -s /build/rootfs/core/lib/python* /lib/
	STEPJAIL_BUILD=/build PYTHONDONTWRITEBYTECODE=1 \
		/build/rootfs/core/bin/python3 /variants.py "$1" || exit 1
}
