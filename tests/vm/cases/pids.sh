# expects: a fork bomb is held at its limit and the run ends cleanly
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

jail --pids 200 -- /bin/fork hold 100 500
is "without the limit" "$(cat /tmp/out)" "made 100 refused 0"

# 32 for the program: itself and 31 children; stepjail-init is one more in the leaf
$stepjail run --rootfs /mini --pids 32 --report /tmp/report -- /bin/fork hold 100 4000 >/tmp/out &
launcher=$!
refusing()
{
	[ "$(keyed "$(leaf)/pids.events" max)" -ge 69 ]
}
until_true 10 refusing || fail "the limit refused nothing"
is pids.max "$(cat "$(leaf)"/pids.max)" 33
is pids.current "$(cat "$(leaf)"/pids.current)" 33
status=0
wait $launcher || status=$?
is "with the limit" "$(cat /tmp/out)" "made 31 refused 69"
is status $status 0
is pids_peak "$(field /tmp/report pids_peak)" 33
nothing_left

# alive at once is what counts
jail --pids 32 -- /bin/fork churn 100
is "one after the other" "$(cat /tmp/out)" "made 100 refused 0"
nothing_left
