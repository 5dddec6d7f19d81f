# Against servers, clients and a browser that others wrote. Not a part of `make test`: it fetches packages, of
# the versions and digests in package-lock.json, into the build folder, and Chromium from Debian.
$(B)/packages.interop: tests/interop/rules.mk ; $(call install_packages,chromium)
interop: all data $(B)/packages.test $(B)/packages.interop ## model servers, MCP clients and a browser that others made
	tests/interop/run
# Under engines that others wrote. They take 200 MB, so they are no part of TEST_PACKAGES.
$(B)/packages.oci: tests/interop/rules.mk ; $(call install_packages,containerd podman conmon bsdutils crun runc golang-go git debootstrap python3-grpcio containernetworking-plugins)
interop-oci: all $(B)/packages.oci ## stepjail-oci under containerd and Podman, and the validation suite
	/usr/bin/python3 tests/interop/test_oci_engines.py
	/usr/bin/python3 tests/interop/test_oci_exec_engines.py
	/usr/bin/python3 tests/interop/test_oci_networks.py
	/usr/bin/python3 tests/interop/test_oci_cri.py
	/usr/bin/python3 tests/interop/test_oci_images.py
	/usr/bin/python3 tests/interop/test_oci_validation.py
interop-oci-vm: deb $(B)/packages.test ## out of memory under containerd and Podman, in a guest with cgroup v2
	tests/vm/engines/test
$(B)/packages.slurm: tests/interop/rules.mk ; $(call install_packages,slurm-wlm munge)
interop-slurm: all rootfs $(B)/packages.slurm ## a batch as an array of jobs of Slurm, a node of which is lost
	/usr/bin/python3 tests/interop/test_slurm.py
.PHONY: interop interop-oci interop-oci-vm interop-slurm
