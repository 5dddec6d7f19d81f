# expects: leaves are made in a systemd unit that is delegated, and in no other
# vm: --systemd --timeout 120
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
mounts=$(count_mounts)

bomb="$stepjail run --rootfs /mini --memory 32M --report /tmp/unit/report -- /bin/end"

# before anything else wants that controller: what is enabled for one is for all beside it
unit other "$bomb exit 0" User=user 'Delegate=memory pids'
is "status, without the cpu controller" $status 125
has_all "$(cat /tmp/err)" 'controller cpu ' /system.slice/other.service

# as a user
unit own "$bomb grow 96" User=user Delegate=yes
is status $status 137
is verdict "$(field /tmp/unit/report verdict)" memory
is not_enforced "$(field /tmp/unit/report not_enforced)" '[]'
unit all "$stepjail run --rootfs /mini --report /tmp/unit/report --cpuset 0 \
	--memory-high 64M --io-max '$(cat /sys/block/vda/dev) rbps=1M' -- /bin/true" \
	User=user Delegate=yes
is status $status 0
is cpuset.cpus "$(field /tmp/unit/report cpuset.cpus)" 0
is io.max "$(field /tmp/unit/report io.max)" \
	"$(cat /sys/block/vda/dev) rbps=1048576 wbps=max riops=max wiops=max"

# jails side by side, one of which runs into its limit
unit many "
	for i in 1 2 3; do
		$stepjail run --rootfs /mini --report /tmp/unit/\$i -- /bin/true 1000 &
	done
	$bomb grow 96
	wait" User=user Delegate=yes
is "verdict of the bomb" "$(field /tmp/unit/report verdict)" memory
for i in 1 2 3; do
	is "verdict $i" "$(field /tmp/unit/$i verdict)" completed
	is "oom_kills $i" "$(field /tmp/unit/$i oom_kills)" 0
done

# in its place, and still limited after systemd has gone through all that it keeps
for who in user root; do
	unit place "$stepjail run --rootfs /mini --memory 32M -- /bin/true 3000 &
		echo \$! >/tmp/unit/pid
		sleep 0.1
		wait" "User=$who" Delegate=yes &
	job=$!
	is "leaf of $who" "$(leaf_of_unit)" /system.slice/place.service/LEAF
	systemctl daemon-reload
	systemctl set-property --runtime user.slice CPUWeight=77
	is memory.max "$(cat "$(leaf)"/memory.max)" $((32 << 20))
	is pids.max "$(cat "$(leaf)"/pids.max)" 65
	wait $job
done

# root needs no delegation, and uses no place of a unit that has none
unit root "$stepjail run --rootfs /mini --memory 32M -- /bin/true 2000" &
job=$!
is "leaf of root, not delegated" "$(leaf_of_unit)" /stepjail/LEAF
systemctl daemon-reload
is memory.max "$(cat "$(leaf)"/memory.max)" $((32 << 20))
wait $job

# a user does
unit other "$bomb exit 0" User=user
is "status, not delegated" $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
has_all "$(cat /tmp/err)" /system.slice/other.service 'is not delegated to this user' \
	'systemd-run --user --scope -p Delegate=yes stepjail'
nothing_left
