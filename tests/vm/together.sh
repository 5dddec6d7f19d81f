# SPDX-License-Identifier: MIT
# shellcheck shell=sh source=tests/vm/guest.sh
#
# together.sh - run several cases in one guest, each as after a boot; see `together` in test
#
# A boot is two thirds of what a short case takes. What one case may leave is taken away before
# the next: cgroups and their controllers, /tmp, the host's defaults, kept network namespaces.
. /guest.sh

as_booted()
{
	[ -e $top/cgroup.procs ] || mount -t cgroup2 -o nsdelegate cgroup2 $top
	find $top -mindepth 1 -depth -type d ! -path "$top/case" -exec rmdir {} + || return 1
	sed 's/[a-z][a-z]*/-&/g' $top/cgroup.subtree_control >/run/fewer
	cat /run/fewer >$top/cgroup.subtree_control || return 1
	echo 1 >/proc/sys/kernel/unprivileged_userns_clone
	umount -l /run/stepjail/net 2>/dev/null
	rm -rf /run/stepjail /etc/stepjail
	umount -l /tmp && mount -t tmpfs -o mode=1777 tmpfs /tmp
}

ended=0 skipped=''
for script in /case/*.sh; do
	echo "== $script"
	as_booted || fail "the case before $script left something that stays"
	status=0
	sh "$script" || status=$?
	echo "== $script: status $status"
	case $status in
	0) ;;
	77) skipped=77 ;;
	*) ended=1 ;;
	esac
done
[ $ended -eq 0 ] || exit $ended
exit ${skipped:-0}
