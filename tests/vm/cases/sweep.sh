# expects: no leaf, process or mount is left, however the launcher ends
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

jail -- /bin/true
is status $status 0
nothing_left
jail -- /bin/fork hold 10 100
is status $status 0
nothing_left
jail -- /bin/missing
is status $status 127
nothing_left
jail --wall-time 300ms -- /bin/fork hold 20 5000
is status $status 124
is verdict "$(field /tmp/report verdict)" wall-timeout
nothing_left

for signal in TERM INT HUP QUIT; do
	$stepjail run --rootfs /mini -- /bin/fork hold 10 5000 &
	launcher=$!
	until_true 5 has_leaf || fail "no leaf"
	usleep 100000
	# a background job of a shell without job control ignores INT and QUIT
	kill -$signal $launcher
	case $signal in INT | QUIT) kill -TERM $launcher 2>/dev/null ;; esac
	wait $launcher
	echo "  $signal: status $?"
	nothing_left
done

# random_start [setsid] : a launcher, and a random moment of up to 120 ms
random_start()
{
	# shellcheck disable=SC2048 # no word, or one
	$* $stepjail run --rootfs /mini -- /bin/fork hold 10 5000 &
	launcher=$!
	usleep $((i % 20 * 6000 + $(od -An -N 1 -t u1 /dev/urandom) * 24))
}

# a start takes some 100 ms here: killed before, within and after it
i=0
while [ $i -lt 60 ]; do
	random_start
	kill -9 $launcher
	wait $launcher 2>/dev/null
	i=$((i + 1))
	[ $((i % 20)) -ne 0 ] || nothing_left
done

# the launcher's whole process group, as a terminal or a supervisor would
i=0
while [ $i -lt 40 ]; do
	random_start setsid
	kill -9 -$launcher 2>/dev/null || kill -9 $launcher
	wait $launcher 2>/dev/null
	i=$((i + 1))
	[ $((i % 20)) -ne 0 ] || nothing_left
done

# init instead of the launcher, and every process of the jail's session together
i=0
while [ $i -lt 8 ]; do
	$stepjail run --rootfs /mini --report /tmp/report -- /bin/fork hold 10 5000 >/dev/null 2>&1 &
	launcher=$!
	until_true 5 has_leaf || fail "no leaf"
	usleep $((i * 10000))
	kill -9 "$(head -n 1 "$(leaf)/cgroup.procs")" 2>/dev/null
	wait $launcher && fail "status 0 although init was killed"
	i=$((i + 1))
done
nothing_left
