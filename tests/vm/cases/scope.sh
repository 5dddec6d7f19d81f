# expects: a user's jails work in a delegated scope, typed by hand, with a shell in it too
# vm: --systemd --timeout 120
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
user_manager
mounts=$(count_mounts)
mkdir -m 777 /tmp/user
scope="systemd-run --user --scope --quiet -p Delegate=yes"
unit=/user.slice/user-1000.slice/user@1000.service/app.slice/SCOPE

# stepjail alone in it
run as_managed "$scope $stepjail run --rootfs /mini --memory 32M \
	--report /tmp/user/report -- /bin/end grow 96"
is status $status 137
is verdict "$(field /tmp/user/report verdict)" memory
is not_enforced "$(field /tmp/user/report not_enforced)" '[]'
as_managed "$scope $stepjail run --rootfs /mini -- /bin/true 2000" &
job=$!
is leaf "$(leaf_of_unit)" "$unit/LEAF"
wait $job || fail "status $?"

# a shell in it, several jails at once, and one after them
cat >/tmp/user/shell.sh <<END
cut -d: -f3 /proc/self/cgroup
for i in 1 2 3 4; do
	$stepjail run --rootfs /mini --report /tmp/user/\$i -- /bin/true 1000 &
done
wait
$stepjail run --rootfs /mini --memory 32M --report /tmp/user/report -- /bin/end grow 96
echo status \$?
cut -d: -f3 /proc/self/cgroup
sleep 1
$stepjail run --rootfs /mini -- /bin/true 2000
END
as_managed "$scope sh /tmp/user/shell.sh" >/tmp/out &
job=$!
until_true 20 grep -q status /tmp/out || fail "no status of the bomb"
until_true 5 no_leaf
is "leaf beside the shell" "$(leaf_of_unit)" "$unit/LEAF"
wait $job || fail "status $?"
sed 's/^/  | /' /tmp/out
is "status of the bomb" "$(sed -n 's/^status //p' /tmp/out)" 137
for i in 1 2 3 4; do
	is "verdict $i" "$(field /tmp/user/$i verdict)" completed
	is "not_enforced $i" "$(field /tmp/user/$i not_enforced)" '[]'
done
# all of them in the shell's own scope, which has moved aside in it
is "scopes that were used" "$(grep -c scope /tmp/out)" 2
is "the shell's place" "$(sed -n '/launcher$/p' /tmp/out)" "$(head -n 1 /tmp/out)/launcher"

# check says where
run as_managed "$scope $stepjail check"
is "status of check" $status 0
grep -q '^ok *cgroup v2 .*app.slice/run-' /tmp/out || fail "check does not say where"

no_scope()
{
	[ -z "$(find $top/user.slice -name '*.scope' ! -name init.scope)" ]
}
until_true 2 no_scope || fail "a scope is left"
nothing_left
