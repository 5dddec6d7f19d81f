# expects: a disk is read as fast as --io-max allows
# vm: --swap 64M --timeout 120
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core

# the disk of the root tree core; what was read before is forgotten first
disk=$(cat /sys/block/vda/dev)
# sectors : of 512 bytes, that were read from it
sectors()
{
	awk '{ print $3 }' /sys/block/vda/stat
}

cold()
{
	echo 3 >/proc/sys/vm/drop_caches
	rm -f /tmp/report
	read=$(sectors)
	run $stepjail run --rootfs core --wall-time 2h --report /tmp/report "$@" -- \
		/bin/python3 -I -S -c 'open("/bin/python3", "rb").read()'
	is status $status 0
	read=$((($(sectors) - read) * 512))
	took=$(field /tmp/report wall_ms)
	echo "  $read bytes in $took ms"
}

cold
within "bytes read" "$read" 2000000 100000000
is io.max "$(field /tmp/report io.max)" null

# by the name of the disk, and by what lies on it
for device in "$disk" /dev/vda /build/rootfs/core/bin; do
	cold --io-max "$device rbps=64K riops=1000"
	is io.max "$(field /tmp/report io.max)" \
		"$disk rbps=65536 wbps=max riops=1000 wiops=max"
	# the guest's clock jumps while it waits for its disk, but by minutes only here
	fastest=$((read / 66))
	within "milliseconds" "$took" $((fastest * 9 / 10)) 7200000
done

# a part of a disk stands for all of it, which is what the kernel can hold back
swapoff /dev/vdb
printf 'o\nn\np\n1\n\n\nw\n' | fdisk /dev/vdb >/dev/null 2>&1
until_true 5 test -b /dev/vdb1 || fail "no part was made"
jail --io-max '/dev/vdb1 wbps=1M' -- /bin/true
is status $status 0
is io.max "$(field /tmp/report io.max)" \
	"$(cat /sys/block/vdb/dev) rbps=max wbps=1048576 riops=max wiops=max"

# refuses WORDS VALUE : 125 and one line with these words
refuses()
{
	run $stepjail run --rootfs /mini --io-max "$2" -- /bin/true
	is status $status 125
	is "lines on stderr" "$(wc -l </tmp/err)" 1
	grep -q -- "$1" /tmp/err || fail "stderr does not say: $1"
}

refuses 'on no disk that io.max knows' '/tmp rbps=1M'
refuses 'No such file' '/nowhere rbps=1M'
run $stepjail run --rootfs /mini --io-max '/dev/vda rbps=1M' --io-max "$disk wbps=1M" -- /bin/true
is status $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
grep -q 'io.max reads' /tmp/err || fail "stderr does not say that it is the same disk"
nothing_left
