# expects: a busy loop is throttled to its share of a processor
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

share()
{
	awk '{ print int(100 * $4 / $2) }' /tmp/out
}

jail --cpus 1 -- /bin/spin 1000
within "per cent of a processor, free" "$(share)" 85 110

$stepjail run --rootfs /mini --cpus 0.25 --report /tmp/report -- /bin/spin 4000 >/tmp/out &
launcher=$!
until_true 5 has_leaf || fail "no leaf"
is cpu.max "$(cat "$(leaf)"/cpu.max)" "25000 100000"
wait $launcher || fail "status $?"
within "per cent of a processor, throttled" "$(share)" 15 32
# in the kernel's own count, the program is kept waiting for most of the time
within cpu_throttled_ms "$(field /tmp/report cpu_throttled_ms)" 1500 4000
within cpu_ms "$(field /tmp/report cpu_ms)" 500 1500
within wall_ms "$(field /tmp/report wall_ms)" 4000 8000
nothing_left
