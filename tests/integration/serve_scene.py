# SPDX-License-Identifier: MIT
"""What the tests of stepjail serve share: a case with a server, and who is alive."""
import os
import time
import unittest

from serve_client import PATIENCE, Refused, Serve

OPTIONS = [word for word in os.environ.get('STEPJAIL_RUN', '').split() if 'allow-missing' in word]
LIMITED = not OPTIONS
# how many processes run that a step can see
RUNNING = '''
import os
found = 0
for pid in os.listdir("/proc"):
    try:
        found += open(f"/proc/{int(pid)}/stat").read().split()[2] == "R" and int(pid) != os.getpid()
    except (OSError, ValueError):
        pass
print(found)
'''
# a step's own channel, and how to speak on it as the interpreter does
CHANNEL = """
import os, socket, stat, struct, time
FD = next(fd for fd in range(3, 4096) if os.path.exists(f'/proc/self/fd/{{fd}}')
          and stat.S_ISSOCK(os.fstat(fd).st_mode))
channel = socket.socket(fileno=os.dup(FD))
N = {number}
def say(kind, payload=b'', step=N, length=None):
    frame = struct.pack('<IHHI', len(payload) if length is None else length, kind, 0, step)
    try:
        channel.send(frame + payload, socket.MSG_DONTWAIT)
        return True
    except OSError:
        return False
def done(how, code=0):
    return struct.pack('<IIQQQIIII', how, code, 0, 0, 0, 0, 0, 0, 0)
"""
# the spawner says so when somebody else ends its parent
KILLED = 'stepjail: serve: the process that was started has been killed\n'
FAIL, EXIT, RUN, KILL, STARTED, OUT, RESULT, TRACE, DONE, FILE, MEDIA, PIECE = \
    1, 4, 17, 19, 20, 21, 23, 24, 25, 27, 28, 29


# Processes of serve that are no jail's. A jail that is just being made has the second name, and
# the spawner one of the last until it has said its own, which a busy host delays.
OWN = ('stepjail-keeper', 'stepjail-spawn', 'stepjail-superv', 'stepjail-closer',
       'stepjail-measur', 'stepjail', 'stepjail-unwall', 'stepjail-obey')


def comm(pid):
    try:
        with open(f'/proc/{pid}/comm') as file:
            return file.read().strip()
    except OSError:
        return ''


def children(pid):
    """Those of a process; of serve, the inits of its jails."""
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        found = [int(child) for child in file.read().split()]
    if len(found) == 1 and comm(found[0]) == 'stepjail-spawn':
        return children(found[0])
    return [child for child in found if comm(child) not in OWN]


def below(pid):
    """Every process below this one, but for a keeper."""
    found = []
    for child in children(pid):
        try:
            found += [child] + below(child)
        except OSError:
            pass
    return found


def inside(pid):
    """Its pid in the innermost namespace."""
    with open(f'/proc/{pid}/status') as file:
        return next(int(line.split()[-1]) for line in file if line.startswith('NSpid:'))


def is_alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def memory(serve, session):
    """What each mapping of a session's processes but init holds; no step reads more than that."""
    space = session.run('import os; os.readlink("/proc/self/ns/pid")').result
    for pid in below(serve):
        try:
            if repr(os.readlink(f'/proc/{pid}/ns/pid')) != space or inside(pid) == 1:
                continue
            with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as mem:
                for line in maps:
                    start, end = (int(part, 16) for part in line.split()[0].split('-'))
                    try:
                        mem.seek(start)
                        yield mem.read(end - start)
                    except (OSError, OverflowError):
                        continue
        except OSError:
            continue


def is_interpreter(pid):
    with open(f'/proc/{pid}/cmdline') as file:
        return 'interpreter' in file.read()


def is_state(pid):
    """An interpreter of a session, and not the template, which has an init of another kind."""
    with open(f'/proc/{pid}/stat') as file:
        parent = int(file.read().rsplit(')', 1)[1].split()[1])
    with open(f'/proc/{parent}/cmdline') as file:
        return is_interpreter(pid) and file.read().startswith('stepjail-init\0session')


def is_asleep(pid):
    """As what waits: the two signals of the C library are blocked nowhere else."""
    try:
        with open(f'/proc/{pid}/status') as file:
            text = file.read()
        return '\nState:\tS' in text and '\nSigBlk:\tfffffffffffbfeff\n' in text
    except OSError:
        return False


def states_settle(serve, session):
    """Are the only processes init and the states, which all wait?

    For a serve of one session, and no template.
    """
    pids = below(serve)
    waiting = [pid for pid in pids if is_asleep(pid)]
    count = len(session.status()['states'])
    return len(waiting) == count and len(pids) == count + 1


def resident(pid):
    """Bytes of memory."""
    with open(f'/proc/{pid}/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE')


def memory_of(pids):
    """Bytes of anonymous pages, those that several have counted once; init lets nobody look."""
    total = 0
    for pid in pids:
        try:
            with open(f'/proc/{pid}/smaps_rollup') as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith('Pss_Anon'))
        except OSError:
            pass
    return total << 10


def open_files(pid):
    """0 where nobody may look: only root looks into a supervisor."""
    try:
        return len(os.listdir(f'/proc/{pid}/fd'))
    except PermissionError:
        return 0


def wait_until(what):
    """The deadline is that of a hang, on a host as slow as may be."""
    end = time.monotonic() + PATIENCE
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(found)


def warm(serve):
    """A session out of the template, which may not stand yet."""
    while not (session := serve.open()).opened['warm']:
        session.close()
        time.sleep(0.02)
    return session


class Case(unittest.TestCase):
    options = []
    command = None  # another one than stepjail serve

    def setUp(self):
        self.serve = Serve(OPTIONS + self.options, self.command)
        self.addCleanup(self.end)

    def end(self):
        if self.serve:
            status, error = self.serve.end()
            self.assertEqual((status, error), (0, ''))

    def ended(self, step, verdict, state, **fields):
        told = {'verdict': verdict, 'state': state, **fields}
        self.assertEqual({key: step.done[key] for key in told}, told, step)

    def refused(self, words, act, *args, **kw):
        with self.assertRaises(Refused) as caught:
            act(*args, **kw)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn('\n', str(caught.exception))
