# expects: all jails together are held to the one number that the host's defaults name, and no run names another
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

jail --memory 256M -- /bin/memory 96
is "without it, verdict" "$(field /tmp/report verdict)" completed

mkdir -p /etc/stepjail
printf 'total-memory 64M\ntotal-pids 40\ntotal-cpus 2\n' >/etc/stepjail/defaults
jail --memory 256M -- /bin/memory 32
is "below it, verdict" "$(field /tmp/report verdict)" completed
is memory.max "$(cat $top/stepjail/memory.max)" $((64 << 20))
is pids.max "$(cat $top/stepjail/pids.max)" 40
is cpu.max "$(cat $top/stepjail/cpu.max)" "200000 100000"

jail --memory 256M -- /bin/memory 96 2>/tmp/err
is status $status 137
is verdict "$(field /tmp/report verdict)" memory
has_all "$(cat /tmp/err)" "killed: --total-memory, or a limit of the host: its own --memory was not reached"
jail --memory 16M -- /bin/memory 96 2>/tmp/err
is "its own limit, verdict" "$(field /tmp/report verdict)" memory
has_all "$(cat /tmp/err)" "killed: --memory 16M"

# two of 40 MiB, each within its own limit
$stepjail run --quiet --rootfs /mini --memory 256M --report /tmp/first -- /bin/memory 40 4000 >/tmp/out1 2>&1 &
first=$!
until_true 20 has_leaf || fail "no leaf"
jail --quiet --memory 256M -- /bin/memory 40
wait $first || true
verdicts="$(field /tmp/first verdict) $(field /tmp/report verdict)"
case $verdicts in
*memory*) echo "  one of two ended: $verdicts" ;;
*) fail "two of 40 MiB had room in 64: $verdicts" ;;
esac

# init and the program are two of the forty
jail --quiet --pids 200 -- /bin/fork hold 100 500
is "processes" "$(cat /tmp/out)" "made 38 refused 62"

# no other number, neither more nor less, and it is no limit that may be missing
for other in "--total-memory 128M" "--total-memory 32M" "--total-pids 41" "--total-cpus 1" \
	"--allow-missing cgroup --total-memory 1G"; do
	status=0
	# shellcheck disable=SC2086 # words
	$stepjail run --rootfs /mini $other -- /bin/true >/tmp/out 2>/tmp/err || status=$?
	is "$other, status" $status 125
	has_all "$(cat /tmp/err)" "of all jails together is"
done
is "memory.max, still" "$(cat $top/stepjail/memory.max)" $((64 << 20))

# who names none is below it all the same; and the number is root's to change
rm /etc/stepjail/defaults
jail --quiet --memory 256M -- /bin/memory 96
is "without a name, verdict" "$(field /tmp/report verdict)" memory
echo max >$top/stepjail/memory.max
jail --total-memory 200M --memory 256M -- /bin/memory 96
is "changed, verdict" "$(field /tmp/report verdict)" completed
is "changed, memory.max" "$(cat $top/stepjail/memory.max)" $((200 << 20))
nothing_left
