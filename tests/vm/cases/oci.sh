# expects: a container of stepjail-oci has its limits, is frozen, thawed and counted, has what exec starts, ends out of memory, and leaves nothing
# vm: --file build/oci-libs/lib:/lib --file build/oci-libs/lib64:/lib64 --file build/stepjail-oci:/build/stepjail-oci
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
[ -x /build/stepjail-oci ] || skip "build/stepjail-oci is not built"

oci="/build/stepjail-oci --root /run/oci"
mkdir /bundle
cp /bin/busybox /mini/bin/sh
# shellcheck disable=SC2016 # the container's shell
cat >/bundle/config.json <<'END'
{"ociVersion": "1.0.2", "root": {"path": "/mini"},
 "process": {"cwd": "/", "args": ["/bin/sh", "-c", "while :; do echo $((i += 1)); done"]},
 "linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"},
   {"type": "network"}],
  "resources": {"memory": {"limit": 33554432}, "pids": {"limit": 5},
   "cpu": {"shares": 1024, "quota": 50000, "period": 100000}}}}
END

begin()
{
	$oci create --bundle /bundle --pid-file /bundle/pid a >/tmp/out 2>/tmp/err || fail "$(cat /tmp/err)"
	of=$top$(sed -n 's/^0:://p' "/proc/$($oci ps a | tail -n 1)/cgroup")
	$oci start a || fail start
}
counts()
{
	[ "$(wc -c </tmp/out)" -gt "$1" ]
}
frozen()
{
	grep -q 'frozen 1' "$of/cgroup.events"
}

begin
is memory.max "$(cat "$of/memory.max")" 33554432
is pids.max "$(cat "$of/pids.max")" 6 # stepjail-init is one more
is cpu.weight "$(cat "$of/cpu.weight")" 39
is cpu.max "$(cat "$of/cpu.max")" "50000 100000"
until_true 10 counts 10 || fail "it does not run"
$oci pause a || fail pause
until_true 10 frozen || fail "it is not frozen"
size=$(wc -c </tmp/out)
sleep 1
is "bytes written while frozen" "$(($(wc -c </tmp/out) - size))" 0
$oci resume a || fail resume
until_true 10 counts "$size" || fail "it does not go on"
$oci events --stats a >/tmp/stats || fail events
grep -q '"limit":33554432}},"pids":{"current":3,"limit":6}' /tmp/stats || fail "$(cat /tmp/stats)"

# what exec starts is in the leaf, too, and ends with its stand-in
processes()
{
	[ "$($oci ps a | wc -l)" -eq "$1" ]
}
$oci exec a /bin/sh -c 'exit 7'
is "status of exec" $? 7
$oci exec a /bin/sh -c 'while :; do :; done' &
until_true 10 processes 5 || fail "$($oci ps a)"
is "leaf of exec" "$top$(sed -n 's/^0:://p' "/proc/$($oci ps a | tail -n 1)/cgroup")" "$of"
kill -9 $!
until_true 10 processes 4 || fail "$($oci ps a)"
$oci kill a TERM || fail kill
stopped()
{
	$oci state a | grep -q '"stopped"'
}
until_true 10 stopped || fail "it does not end"
is status "$(field /run/oci/a/report.json status)" 143
$oci delete a || fail delete

# more memory than its limit: it ends, and its report says why
sed 's|"args": .*|"args": ["/bin/memory", "96"]},|' /bundle/config.json >/bundle/new
cp /bundle/config.json /bundle/whole
mv /bundle/new /bundle/config.json
begin
until_true 20 stopped || fail "it does not end"
is verdict "$(field /run/oci/a/report.json verdict)" memory
is status "$(field /run/oci/a/report.json status)" 137
$oci delete a || fail delete
mv /bundle/whole /bundle/config.json

# a frozen one ends as well
begin
$oci pause a || fail pause
$oci delete --force a || fail "delete --force of a frozen one"
is "containers left" "$(ls /run/oci)" ""
nothing_left
