# expects: where memory runs out no state of a session is killed, for root and for a user; serve sleeps while a step does
# vm: --timeout 240 --file tests/integration:/case/tests/integration
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core

cat >/tmp/client.py <<'END'
import glob
import os
import subprocess
import sys
import time
sys.path.insert(0, '/case/tests/integration')
from serve_client import Refused, Serve
from serve_scene import below, is_interpreter

LIMIT = 40 << 20


def is_so(what, got, wanted):
    if got != wanted:
        sys.exit(f'FAIL: {what} is {got!r}, not {wanted!r}')
    print(f'  {what} is {got!r}', flush=True)


def free(leaf):
    with open(f'{leaf}/memory.current') as file:
        return (LIMIT - int(file.read())) >> 10


def cpu(pid):
    """In 1/100 s."""
    with open(f'/proc/{pid}/stat') as file:
        return sum(map(int, file.read().rsplit(')', 1)[1].split()[11:13]))


def states(session):
    return [one['state'] for one in session.status()['states']]


def try_step(session):
    """What came of it, and the states that are gone: none of those that waited."""
    before = states(session)
    try:
        done = session.run('y += 1').done
        told = done['verdict'], done['state']
    except Refused as e:
        told = e.json['kind'], e.json['limit']
    return told, sorted(set(before) - set(states(session)))


# Memory is used up where no step runs, by the fork for one: no state is killed for that
# (an ordinary user's serve cannot give the steps of a cold session their OOM score)
cold = ['--cold'] if os.getuid() == 0 else []
serve = Serve([*cold, '--memory=40M', '--wall-time=20s'])
while not (session := serve.open()).opened['warm'] and not cold:
    session.close()
leaf = max(glob.glob('/sys/fs/cgroup/**/run-*', recursive=True), key=os.path.basename)  # the last
session.run('import os\nbig = [b"x" * (1 << 20) for _ in range(23)]')
for n in range(2):
    session.run(f'y = {n}')
session.put('fill', bytes((free(leaf) - 1300) << 10))
seen, gone = set(), []
for n in range(0, 18, 3):
    session.put('more', bytes(n * 30 << 10))
    for _ in range(3):
        told, lost = try_step(session)
        seen.add(told)
        gone += lost
    session.rollback(3)  # what that ends has given its memory back when the next one asks
is_so('states that were killed', gone, [])
is_so('what was seen', sorted(seen),
      [('completed', 'kept'), ('limit', 'memory'), ('memory', 'rolled-back')])
is_so('a result', session.run('y, len(big)').result, '(1, 23)')
session.close()
is_so('the end', serve.end(), (0, ''))

# What waits for the memory of a state that ends slowly waits alone
serve = Serve(['--cold', '--memory=40M', '--wall-time=20s'])
session = serve.open()
leaf = max(glob.glob('/sys/fs/cgroup/**/run-*', recursive=True), key=lambda at: -free(at))
# it has a lot of page tables, and a child could have as many
session.run("""
x, zeros = 1, bytes(1 << 30)
for at in range(0, 1 << 30, 2 << 20):
    x += zeros[at]""")
session.run('import os\nbig = b"x" * (6 << 20)')
# the first interpreter runs all steps
state = min(pid for pid in below(serve.process.pid) if is_interpreter(pid))
session.put('fill', bytes((free(leaf) - 1300) << 10))
hold = subprocess.Popen(['/mini/bin/hold', str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
is_so('its holder', hold.stdout.readline(), b'ready\n')
session.rollback(1)
is_so('a state that ends', hold.stdout.readline(), b'held\n')
with serve.at_once():
    session.start('x')
    serve.send('STATUS', 0)
answers = []
while len(answers) < 2:
    answers.append(serve.receive().kind)
is_so('answers', answers, ['STATE', 'REFUSED'])
hold.stdin.close()
is_so('its holder', hold.wait(), 0)
while str(state) in os.listdir('/proc'):
    time.sleep(0.01)
is_so('a result', session.run('x').result, '1')
session.close()
is_so('the end', serve.end(), (0, ''))

# no step is dumpable: an ordinary user's serve can say that one is the first to be killed
# because its template maps the user to id 0
serve = Serve(['--wall-time=50s'])
while not (session := serve.open()).opened['warm']:
    session.close()
for n in range(4):
    session.run('import time')
before = cpu(serve.process.pid)
session.start('time.sleep(2)')
time.sleep(1)
scores = []
for pid in below(serve.process.pid):
    with open(f'/proc/{pid}/oom_score_adj') as score, open(f'/proc/{pid}/comm') as name:
        scores += [int(score.read())] * (name.read() == 'stepjail-interp\n')
is_so('OOM scores', sorted(scores)[-6:], [0] * 5 + [1000])
is_so('verdict', session.finish().done['verdict'], 'completed')
used = cpu(serve.process.pid) - before
is_so('serve sleeps while its step does', used < 20 or used, True)
session.start('while True: display(1)')
time.sleep(0.2)
session.interrupt()
is_so('verdict', session.finish().done['verdict'], 'cancelled')
session.close()
is_so('the end', serve.end(), (0, ''))
END
# a page of a table for each page that is read
echo never >/sys/kernel/mm/transparent_hugepage/enabled
echo 1 >/proc/sys/vm/overcommit_memory
# the tree's own Python, outside of a jail, looks for its library where the tree has it
mkdir -p /lib
ln -s /build/rootfs/core/lib/python* /lib/
export STEPJAIL_BUILD=/build PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
python=/build/rootfs/core/bin/python3
$python /tmp/client.py || fail "root's client ends with $?"
nothing_left

# as systemd delegates a scope, with the shell of the user in a child of it
echo "+cpu +memory +pids" >$top/cgroup.subtree_control
for folder in $top/own $top/own/shell; do
	mkdir "$folder"
	chown user:user "$folder" "$folder/cgroup.procs" "$folder/cgroup.subtree_control"
done
echo "+cpu +memory +pids" >$top/own/cgroup.subtree_control
echo $$ >$top/own/shell/cgroup.procs
as_user "exec $python /tmp/client.py" || fail "the user's client ends with $?"
for test in "test_serve Guard Limits KillForViolation" "test_media Flood"; do
	# shellcheck disable=SC2086 # a file, and classes of it
	set -- $test
	file=$1
	shift
	as_user "exec $python /case/tests/integration/$file.py $*" || fail "$test, as a user"
done
nothing_left
