# expects: memory hidden in the jail's tmpfs counts against the limit
# vm: --swap 64M
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

jail --memory 256M --tmp-size 64M -- /bin/fill /tmp/x 48
is "within the limit" "$(cat /tmp/out)" "written 48 MiB"
within memory_peak_bytes "$(field /tmp/report memory_peak_bytes)" $((48 << 20)) $((64 << 20))

for at in /tmp /dev/shm; do
	jail --memory 32M --tmp-size 64M -- /bin/fill $at/x 48
	is "verdict for $at" "$(field /tmp/report verdict)" memory
done
jail --memory 32M --work-size 64M -- /bin/fill /work/x 48
is "verdict for /work" "$(field /tmp/report verdict)" memory

# and the mount has a size of its own
jail --memory 256M --tmp-size 16M -- /bin/fill /tmp/x 48
is "beyond --tmp-size" "$(cat /tmp/out)" "written 16 MiB: No space left on device"
nothing_left
