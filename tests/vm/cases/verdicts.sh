# expects: ways to end that look alike are told apart, by what the kernel counted
# vm: --timeout 90
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# ends VERDICT STATUS OPTIONS... -- PROGRAM...
ends()
{
	verdict=$1 code=$2
	shift 2
	echo "$*"
	jail "$@"
	is "verdict" "$(field /tmp/report verdict)" "$verdict"
	is "status" $status "$code"
}

# count KEY : of the report
count()
{
	field /tmp/report "$1"
}

# memory and signaled
ends signaled 137 --memory 32M -- /bin/end signal 9
is oom_kills "$(count oom_kills)" 0
ends memory 137 --memory 32M -- /bin/end grow 96
within oom_kills "$(count oom_kills)" 1 3
ends completed 0 --memory 32M -- /bin/end child 96 0
is oom_kills "$(count oom_kills)" 1
grep -q 'ended with 9' /tmp/out || fail "the child was not killed"
ends memory 3 --memory 32M -- /bin/end child 96 3
is oom_kills "$(count oom_kills)" 1
ends exited 3 --memory 256M -- /bin/end child 96 3
is oom_kills "$(count oom_kills)" 0
# the whole jail, init too, where that is asked for
ends memory 137 --memory 32M --oom-group=yes -- /bin/end child 96 0
within oom_kills "$(count oom_kills)" 2 4
# what an earlier run was killed for is none of this one's
ends exited 3 --memory 32M -- /bin/end exit 3
is oom_kills "$(count oom_kills)" 0

# memory and wall-timeout: held back by memory.high, never killed for memory
high=$(keyed $top/stepjail/memory.events high)
ends wall-timeout 124 --memory 64M --memory-high 16M --wall-time 3s -- /bin/end grow 60
within "times above memory.high" $(($(keyed $top/stepjail/memory.events high) - high)) 1 1000000
is oom_kills "$(count oom_kills)" 0
ends memory 137 --memory 32M --wall-time 20s -- /bin/memory 96

# cpu-timeout and wall-timeout
ends cpu-timeout 137 --cpu-time 500ms --wall-time 20s -- /bin/end spin
within cpu_ms "$(count cpu_ms)" 500 700
ends wall-timeout 124 --cpu-time 500ms --wall-time 1s -- /bin/true 5000
ends wall-timeout 124 --cpus 0.1 --wall-time 2s -- /bin/end spin
within cpu_throttled_ms "$(count cpu_throttled_ms)" 1000 2000

# cpu-timeout and signaled: SIGXCPU is 24
ends signaled 152 --cpu-time 5s -- /bin/end signal 24
ends signaled 137 --cpu-time 5s -- /bin/end signal 9

# pids and exited
ends completed 0 --pids 8 -- /bin/end fork 0
within pids_refused "$(count pids_refused)" 1 1
ends pids 1 --pids 8 -- /bin/end fork 1
within pids_refused "$(count pids_refused)" 1 1
ends exited 1 --pids 8 -- /bin/end exit 1
is pids_refused "$(count pids_refused)" 0
ends signaled 134 --pids 8 -- /bin/end signal 6

# disk, exited and memory
for at in /work /tmp /dev/shm; do
	named=/tmp
	[ $at != /work ] || named=/work
	ends disk 1 --work-size 1M --tmp-size 1M -- /bin/end full $at/x 1
	is full "$(field /tmp/report full)" "[\"$named\"]"
done
ends completed 0 --tmp-size 1M -- /bin/end full /tmp/x 0
ends exited 1 --tmp-size 1M -- /bin/end exit 1
is full "$(field /tmp/report full)" '[]'
# what was taken away again, nobody can know
ends exited 1 --tmp-size 1M -- /bin/end undo /tmp/x 1
is full "$(field /tmp/report full)" '[]'
ends memory 137 --memory 16M --tmp-size 64M -- /bin/end full /tmp/x 1
ends disk 135 --tmp-size 1M -- /bin/end map /tmp/x
ends signaled 135 --tmp-size 1M -- /bin/end signal 7
ends disk 153 --file-size 64K -- /bin/end full /tmp/x 1
nothing_left
