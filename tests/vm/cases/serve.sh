# expects: in a session, memory, CPU time and processes that run out end one step, no state, and no leaf stays
# vm: --timeout 180 --file tests/integration/serve_client.py:/serve_client.py
# shellcheck shell=sh source=tests/vm/guest.sh
. /guest.sh
need_stepjail
need_core

cat >/tmp/client.py <<'END'
import os
import signal
import sys
import time
sys.path.insert(0, '/')
from serve_client import Serve


def is_so(what, got, wanted):
    if got != wanted:
        sys.exit(f'FAIL: {what} is {got!r}, not {wanted!r}')
    print(f'  {what} is {got!r}', flush=True)


TOP = '/sys/fs/cgroup/stepjail'


def leaves():
    """Those that can hold processes, and not a template's folder of them."""
    return [os.path.relpath(at, TOP) for at, names, _ in os.walk(TOP) if at != TOP and not names]


def has_leaves(count):
    """Of sessions; and one of the template's, which stands while serve does."""
    for _ in range(200):
        if len(leaves()) == count:
            break
        time.sleep(0.05)
    is_so('leaves', len(leaves()), count)


serve = Serve(['--memory=96M', '--cpu-time=60s', '--grace=200ms', '--pids=32', '--wall-time=100s', '--template-clones=1000'])
session = serve.open()
is_so('what is not enforced', session.opened['not_enforced'], [])
has_leaves(1 + 1)
session.run('import os, time\nx = bytearray(b"a") * (20 << 20)')
session.run('y = 1')
step = session.run('hold = bytearray(b"b") * (200 << 20)')
is_so('verdict', (step.done['verdict'], step.done['state'], step.done['signal']),
      ('memory', 'rolled-back', 9))
is_so('result', session.run('len(x), y').result, '(20971520, 1)')
is_so('states', [s['state'] for s in session.status()['states']], [0, 1, 2, 4])
# a child's death of it, which the step hears of
step = session.run('''
pid = os.fork()
if pid == 0:
    hold = bytearray(b"b") * (200 << 20)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9)
''')
is_so('verdict', (step.done['verdict'], step.done['exit_code']), ('memory', 1))
step = session.run('z = 1\nwhile True: pass', cpu_ms=1000)
is_so('verdict', (step.done['verdict'], step.done['state']), ('cpu-timeout', 'kept'))
within = 1000 <= step.done['cpu_ms'] < 1800
is_so('CPU time is near the limit', within or step.done['cpu_ms'], True)
step = session.run('while True:\n try:\n  for _ in iter(int, 1): pass\n except KeyboardInterrupt: pass', cpu_ms=500)
is_so('verdict', (step.done['verdict'], step.done['state']), ('cpu-timeout', 'rolled-back'))
# in a child that nobody waits for
step = session.run('if os.fork() == 0:\n while True: pass\ntime.sleep(50)', cpu_ms=500)
is_so('verdict', (step.done['verdict'], step.done['strays']), ('cpu-timeout', 1))
step = session.run('''
try:
    while True:
        if os.fork() == 0:
            time.sleep(100)
except OSError:
    os._exit(3)
''')
is_so('verdict', (step.done['verdict'], step.done['exit_code']), ('pids', 3))
is_so('strays were counted', step.done['strays'] > 15, True)
is_so('result', session.run('y, z').result, '(1, 1)')
# more to be seen than a channel holds, with a limit on CPU time that is far away
step = session.run('''
class Shown:
    def _repr_html_(self): return 'x' * 200000
for _ in range(30): display(Shown())
''')
is_so('what was shown', (step.done['verdict'], step.done['media']['objects']), ('completed', 30))
session.close()
has_leaves(1)
sessions = [serve.open() for _ in range(3)]
has_leaves(1 + 3)
for session in sessions:
    session.close()
has_leaves(1)
# 200 MB of variables, and states that share them; a step that is killed for memory
big = Serve(['--memory=320M', '--wall-time=100s'])
session = big.open()
is_so('result', session.run('import os, time\nx = bytearray(os.urandom(1 << 20)) * 200\nlen(x)').result,
      str(200 << 20))
# some bytes of each page: to go through all 200 MB costs a guest seconds
digest = session.run('import zlib; zlib.crc32(x[::1021])').result
for n in range(8):
    step = session.run(f'y = {n}')
    is_so('verdict', (step.done['verdict'], step.done['state']), ('completed', 'kept'))
peak = step.done['memory_peak_bytes']
is_so('the leaf is charged once for what states share', peak < 300 << 20 or peak, True)
step = session.run('hold = bytearray(b"b") * (200 << 20)')
is_so('verdict', (step.done['verdict'], step.done['state'], step.done['signal']),
      ('memory', 'rolled-back', 9))
start = time.monotonic()
session.rollback(session.status()['states'][-1]['state'])
result = session.run('zlib.crc32(x[::1021]), y').result
print(f'  rollback and the next step: {(time.monotonic() - start) * 1000:.1f} ms', flush=True)
is_so('variables', result, f'({digest}, 7)')
session.close()
big.end()
# the templates of two serves ask for the same folder at the same time
both = [serve, Serve(['--template-clones=1000'])]
while not all([s.opened['warm'] for s in [one.open() for one in both] if s.close()]):
    time.sleep(0.1)
cold = 0
for n in range(60):
    pair = [one.begin() for one in both]
    for one, session in zip(both, pair):
        cold += not one.expect(session.number, 0, 'OPENED').json['warm']
    for session in pair:
        session.close()
is_so('cold sessions of two serves side by side', cold, 0)
has_leaves(2)
is_so('owner of the folder', os.stat(f'{TOP}/cgroup.procs').st_uid, 0)
both[1].end()
has_leaves(1)
sessions = [serve.open() for _ in range(3)]
serve.process.kill()
has_leaves(0)
# nor does any stay where its spawner is killed, or its supervisor, alone or with it
for names in ('spawner',), ('supervisor',), ('supervisor', 'process'):
    serve = Serve([])
    sessions = [serve.open() for _ in range(3)]
    pids = {'spawner': serve.spawner, 'supervisor': serve.supervisor,
            'process': serve.process.pid}
    for name in names:
        os.kill(pids[name], signal.SIGKILL)
    has_leaves(0)
# the same at a certain moment: while its template makes a clone, which here it does not
serve = Serve(['--template-clones=1000'])
while not (session := serve.open()).opened['warm']:
    session.close()
session.close()
has_leaves(1)
# the program of its jail, which waits for it, and itself
for pid in filter(str.isdigit, os.listdir('/proc')):
    if '\0--template\0' in open(f'/proc/{pid}/cmdline').read():
        os.kill(int(pid), signal.SIGSTOP)
serve.begin()
for _ in range(500):
    lent = [leaf for leaf in leaves() if os.stat(f'{TOP}/{leaf}/cgroup.procs').st_uid]
    if len(lent) == 1:
        break
    time.sleep(0.005)
is_so('leaves that the template may place a clone in', len(lent), 1)
serve.process.kill()
has_leaves(0)
is_so('owner of the folder', os.stat(f'{TOP}/cgroup.procs').st_uid, 0)
END
# the tree's own Python, outside of a jail, looks for its library where the tree has it
mkdir -p /lib
ln -s /build/rootfs/core/lib/python* /lib/
export STEPJAIL_BUILD=/build
/build/rootfs/core/bin/python3 /tmp/client.py || fail "the client ends with $?"
nothing_left
