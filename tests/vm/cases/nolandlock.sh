# expects: on a kernel without Landlock all works, the report says so, and --require names it
# vm: --timeout 200 --append lsm=lockdown,yama --file tests/vm/variants.py:/variants.py --file tests/integration/serve_client.py:/serve_client.py
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core
variants nolandlock
run $stepjail run --rootfs /mini --require landlock -- /bin/true
is status $status 125
is "lines on stderr" "$(wc -l </tmp/err)" 1
has_all "$(cat /tmp/err)" 'this kernel has none' 'lsm=landlock'
nothing_left
