# expects: what this kernel lacks is null, absent, or an error that names it
# vm: --append lsm=landlock
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# older MAJOR MINOR : is this kernel older than that?
older()
{
	# shellcheck disable=SC2046 # two words
	set -- "$1" "$2" $(uname -r | sed 's/^\([0-9]*\)\.\([0-9]*\).*/\1 \2/')
	[ "$3" -lt "$1" ] || { [ "$3" -eq "$1" ] && [ "$4" -lt "$2" ]; }
}

echo "  on Linux $(uname -r)"
if older 5 12; then
	run $stepjail run --rootfs /mini -- /bin/true
	is status $status 125
	is "lines on stderr" "$(wc -l </tmp/err)" 1
	said=$(cat /tmp/err)
	has_all "$said" "mount_setattr (Linux 5.12)"
	run $stepjail check
	is "status of check" $status 1
	is "the last row" "$(row 'a whole jail')" "missing ${said#stepjail: }"
	exit 0
fi

jail -- /bin/true
is status $status 0
is not_enforced "$(field /tmp/report not_enforced)" '[]'
run $stepjail check
is "status of check" $status 0

# newer files of cgroups: what they say, or what stands in, or null; never 0
mkdir $top/look
echo "+memory +pids" >$top/cgroup.subtree_control
for pair in memory.peak:memory_peak_bytes pids.peak:pids_peak; do
	key=${pair#*:}
	if [ -e "$top/look/${pair%:*}" ]; then
		within "$key" "$(field /tmp/report "$key")" 1 1000000000
	elif [ "$key" = pids_peak ]; then
		is "$key, without ${pair%:*}" "$(field /tmp/report "$key")" null
	else
		# the largest resident process stands in
		within "$key" "$(field /tmp/report "$key")" 1 1000000000
	fi
done

# Landlock: the ABI that the kernel told, or nothing
case $(row Landlock) in
"ok ABI "*) is landlock "$(field /tmp/report abi)" "$(row Landlock | tr -dc 0-9)" ;;
absent*) is landlock "$(field /tmp/report landlock)" null ;;
*) fail "no row for Landlock" ;;
esac
