# expects: many runs, several at a time, leave no leaf, process, mount, lock or memory
# vm: --timeout 200
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

runs=${soak_runs:-80} # soak_runs=2000 on the kernel's command line for more
run_some()
{
	i=0
	while [ $i -lt "$1" ]; do
		for _ in 1 2 3 4 5 6 7 8; do
			$stepjail run --rootfs /mini -- /bin/true >/dev/null 2>&1 || echo odd >>/tmp/odd &
		done
		wait
		i=$((i + 8))
	done
}

count()
{
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	leaves=$(find $top -type d | wc -l)
	files=$(cut -f 1 /proc/sys/fs/file-nr)
	free=$(sed -n 's/^MemFree: *\([0-9]*\).*/\1/p' /proc/meminfo)
	# cgroups that are gone, and still hold something
	dying=$(sed -n 's/^nr_dying_descendants //p' $top/cgroup.stat)
}

: >/tmp/odd
# the kernel's own caches grow at first
run_some "$runs"
count
before_leaves=$leaves before_files=$files before_free=$free before_dying=$dying
run_some "$runs"
count
half_free=$free
run_some "$runs"
count
echo "  twice $runs runs: leaves $before_leaves to $leaves, dying cgroups $before_dying to $dying, open files $before_files to $files, free memory $before_free, $half_free, $free KiB"
is "runs that ended otherwise" "$(wc -l </tmp/odd)" 0
is "number of leaves" "$leaves" "$before_leaves"
nothing_left
# A leak shows in both halves; what the kernel takes once, for a cache, in one of them.
few=$((runs / 2 + 704))
[ $((before_free - half_free)) -le $few ] || [ $((half_free - free)) -le $few ] ||
	fail "memory is not given back"
[ "$dying" -le $((before_dying + 16)) ] || fail "cgroups that are gone hold memory"
