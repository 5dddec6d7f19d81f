# expects: no crash in a jail starts the host's core_pattern program, whatever limit it sets
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core

cat >/catch <<'END'
#!/bin/sh
cat >/dev/null
echo caught >>/caught
END
chmod 755 /catch
echo '|/catch' >/proc/sys/kernel/core_pattern

# caught : how many crashes the program of core_pattern has heard of; it is not waited for
caught()
{
	sleep 1
	{ cat /caught || :; } 2>/dev/null | wc -l
}

# a limit of 0 does not count for a program, as core(5) says: so it is no wall
sh -c 'ulimit -c 0; kill -ABRT $$'
is "caught outside" "$(caught)" 1

# crash CODE : Python that lowers what it can, and crashes
crash()
{
	rm -f /tmp/report
	run $stepjail run --rootfs core --report /tmp/report -- /bin/python3 -c "import os, resource
$1
os.abort()"
	is status $status 134
	is verdict "$(field /tmp/report verdict)" signaled
	is "caught" "$(caught)" 1
}

crash ''
# a caller's hard limit of 0 is none either: root raises it, a user is refused
# shellcheck disable=SC3045 # of busybox
ulimit -c 0
crash ''
run as_user $stepjail run --allow-missing cgroup --rootfs /mini -- /bin/true
is "status of a user's run" $status 125
grep -q 'core_pattern.*raise it to 1' /tmp/err || fail "stderr does not say what is wrong"
echo core >/proc/sys/kernel/core_pattern
run as_user $stepjail run --allow-missing cgroup --rootfs /mini -- /bin/true
is "status with a file's pattern" $status 0
echo '|/catch' >/proc/sys/kernel/core_pattern
crash 'try: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (OSError, ValueError): pass'
crash 'try: resource.setrlimit(resource.RLIMIT_CORE, (0, 1))
except (OSError, ValueError): pass'
nothing_left
