# vm: --timeout 400 --file build/fault/matrix --file build/fault/tree:/fault/tree
# expects: with cgroups in force, no failing call leaves a wall away or a leaf behind
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

# the keeper, and what starts and ends processes: all cases; the leaf's files: every third
/case/matrix --cgroup --who '@(0|keeper)' \
	--whole '@(keeper *|0 @(clone3|fork|clone|pidfd_open|shutdown|setpgid|wait4|pidfd_send_signal|kill)*)' \
	--only '0 *cgroup*' --every 3 --seed $(($(od -An -N 2 -t u2 /dev/urandom))) \
	$stepjail /fault/tree /fault/root || fail "see the breaches"
nothing_left
