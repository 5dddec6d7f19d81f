# expects: with hidepid=2, Yama 2 and 3, or less than all of root's capabilities, and no module for sock_diag(7), each command works or says what is missing
# vm: --timeout 300 --file tests/vm/variants.py:/variants.py --file tests/integration/serve_client.py:/serve_client.py
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core
variants variants
nothing_left
