# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # used by whoever sources it
#
# arch.sh - what differs between machines: one row each, sourced by kernel, image and run
#
# A guest needs two serial ports that its kernel drives without modules: one for the
# kernel's own words, one for the test's.

arch=$(dpkg --print-architecture 2>/dev/null || uname -m)

case $arch in
amd64)
	# QEMU 7.2 gets flags wrong after cmpxchg16b, by which Linux 6.12 fails in seconds.
	# With -icount it emulates a string instruction item by item, byte by byte for ERMS:
	# the kernel has loops of moves, where it believes that it has neither ERMS nor fast
	# strings (clearcpuid=112, REP_GOOD).
	package=linux-image-cloud-amd64
	qemu="qemu-system-x86_64"
	machine="-M microvm,isa-serial=off -cpu max,cx16=off,erms=off
		-device isa-serial,index=0,chardev=console
		-device isa-serial,index=1,chardev=results"
	kernel_args="console=ttyS0 reboot=t clearcpuid=112"
	results=/dev/ttyS1
	;;
*)
	echo "vm: no row for $arch in tests/vm/arch.sh" >&2
	exit 125
	;;
esac
