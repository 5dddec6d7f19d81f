# expects: a controller that an option needs is named where it is missing, and not missed else
# vm: --append cgroup_disable=io,cpuset
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail

grep -qwE 'io|cpuset' $top/cgroup.controllers && fail "the guest still has them"
jail -- /bin/true
is status $status 0
for row in 'io --io-max /dev/vda rbps=1M' 'cpuset --cpuset 0'; do
	controller=${row%% *} option=${row#* }
	option=${option%% *}
	run $stepjail run --rootfs /mini "$option" "${row#* "$option" }" -- /bin/true
	is status $status 125
	is "lines on stderr" "$(wc -l </tmp/err)" 1
	has_all "$(cat /tmp/err)" "controller $controller," "needed by $option"
done
nothing_left
