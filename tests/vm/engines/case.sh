# expects: a container that is out of memory is told so by containerd and by Podman, and nothing is left
# vm: --timeout 600 --swap 1G
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin HOME=/root
runtime=/usr/bin/stepjail-oci
tree=/usr/lib/stepjail/rootfs/core
hog='x = b"x" * (300 << 20); print("never")'
systemctl start sysinit.target
run dpkg -i /debs/stepjail_*.deb /debs/stepjail-rootfs-core_*.deb
is "status of dpkg -i" $status 0

containerd --log-level error >/tmp/containerd.log 2>&1 &
until_true 120 ctr version >/dev/null || fail "containerd does not start: $(tail -n 3 /tmp/containerd.log)"
run ctr run --rm --memory-limit 67108864 --runc-binary $runtime --rootfs $tree big /bin/python3 -c "$hog"
is "containerd: out of memory" "$status $(cat /tmp/out)" "137 "
run ctr run --rm --memory-limit 67108864 --runc-binary $runtime --rootfs $tree small /bin/python3 -c 'print(6 * 7)'
is "containerd: the next one" "$status $(cat /tmp/out)" "0 42"
run ctr run -d --memory-limit 67108864 --runc-binary $runtime --rootfs $tree kept /bin/python3 -c "$hog"
is "containerd: one that is kept" $status 0
stopped()
{
	ctr tasks ls | grep -q '^kept .*STOPPED'
}
until_true 60 stopped || fail "it goes on: $(ctr tasks ls)"
told=/run/containerd/runc/default/kept/report.json
is "its report" "$(field $told verdict) $(field $told oom_kills)" "memory 1"
run ctr tasks rm kept
run ctr containers rm kept

# engines give files to a jail, which needs a file system with idmapped mounts
swapoff /dev/vdc
run mke2fs -q -t ext4 /dev/vdc
mkdir /var/podman
mount -t ext4 /dev/vdc /var/podman
podman="podman --root /var/podman/root --runroot /var/podman/run --tmpdir /var/podman/tmp
	--cgroup-manager=cgroupfs --storage-driver=vfs --events-backend=file --runtime $runtime"
tar -C $tree -cf /var/podman/tree.tar .
run $podman import /var/podman/tree.tar core
is "status of podman import" $status 0
run $podman run --network none --name big --memory 64m core /bin/python3 -c "$hog"
is "Podman: out of memory" "$status $(cat /tmp/out)" "137 "
run $podman inspect big --format '{{.State.Status}} {{.State.ExitCode}}'
is "Podman: what it tells of it" "$(cat /tmp/out)" "exited 137"
run $podman run --rm --network none --memory 64m core /bin/python3 -c 'print(6 * 7)'
is "Podman: the next one" "$status $(cat /tmp/out)" "0 42"
run $podman rm big
nothing_of_jails()
{
	[ -z "$(ls /run/stepjail-oci /run/containerd/runc/default 2>/dev/null | grep -v :)" ] && no_leaf
}
until_true 60 nothing_of_jails || fail "left behind: $(ls /run/stepjail-oci /run/containerd/runc/default) $(leaf)"
