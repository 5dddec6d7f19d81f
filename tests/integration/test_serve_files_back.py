#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve --rollback-files: /work goes back with the variables.

Run by tests/integration/run, as root and as an ordinary user.
"""
import hashlib
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Serve  # noqa: E402
from serve_scene import OPTIONS, Case  # noqa: E402

# all that there is to know of /work, made by a step itself
SNAP = r'''
def snap(top=b'/work'):
    import hashlib, os, stat
    found = {}
    def look(path):
        s = os.lstat(path)
        mode, data = stat.S_IMODE(s.st_mode), None
        if stat.S_ISLNK(s.st_mode):
            data = os.readlink(path)
        elif stat.S_ISREG(s.st_mode):
            os.chmod(path, 0o600)
            with open(path, 'rb') as f:
                data = (hashlib.sha256(f.read()).hexdigest(), s.st_blocks)
            os.chmod(path, mode)
        elif stat.S_ISDIR(s.st_mode):
            os.chmod(path, 0o700)
            for name in os.listdir(path):
                look(path + b'/' + name)
            os.chmod(path, mode)
        found[path] = (stat.S_IFMT(s.st_mode), mode, s.st_mtime_ns, data)
    look(top)
    return found
'''
TREE = r'''
import os
os.makedirs('/work/a/b/c')
os.makedirs('/work/empty')
open('/work/a/text', 'w').write('first\n' * 1000)
open('/work/a/b/data', 'wb').write(bytes(range(256)) * 1000)
open('/work/a/none', 'w')
with open('/work/holes', 'wb') as f:
    f.truncate(50 << 20)
    f.seek(10 << 20); f.write(b'middle')
    f.seek(30 << 20); f.write(b'later' * 5000)
os.symlink('../a/text', '/work/a/link')
os.symlink('/etc/passwd', '/work/a/out')
os.symlink('/nowhere', '/work/dangling')
os.mkfifo('/work/fifo', 0o640)
open(b'/work/\xff\n odd "name"', 'w').write('odd')
open('/work/secret', 'w').write('nobody reads')
os.chmod('/work/secret', 0)
open('/work/a/only', 'w').write('read')
os.chmod('/work/a/only', 0o444)
os.mkdir('/work/shut'); open('/work/shut/in', 'w').write('in'); os.mkdir('/work/shut/deep')
os.chmod('/work/shut/deep', 0o311)
for n, path in enumerate(('/work/a/text', '/work/a/b/c', '/work/a/b', '/work/shut', '/work/empty')):
    os.utime(path, ns=(1, 10**18 + n * 1234567891))
os.utime('/work/a/link', ns=(5, 10**17 + 9), follow_symlinks=False)
os.chmod('/work/shut', 0)
os.utime('/work', ns=(3, 10**18 + 3))
'''
# every way to spoil it
SPOIL = r'''
import os, shutil
open('/work/new', 'w').write('x' * 100000)
open('/work/a/text', 'r+').write('FIRST')
open('/work/a/b/data', 'r+').truncate(100)
os.remove('/work/holes')
open('/work/holes', 'wb').write(b'none')
os.rename('/work/a/b', '/work/moved')
os.chmod('/work/a/only', 0o600)
os.chmod('/work/secret', 0o777)
os.chmod('/work/shut', 0o755)
os.remove('/work/shut/in')
os.remove('/work/dangling'); os.symlink('/etc', '/work/dangling')
os.remove('/work/fifo'); os.mkdir('/work/fifo')
os.link('/work/a/text', '/work/hard')
os.utime('/work/empty'); os.chmod('/work/empty', 0o500)
os.chmod('/work', 0o711)
'''
DEATHS = (('exited', 'os._exit(3)', {}),
          ('signaled', 'import signal; os.kill(os.getpid(), signal.SIGSEGV)', {}),
          # time enough to spoil all of it
          ('wall-timeout', 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n'
                           'while True: pass', {'wall_ms': 3000}))


class Back(Case):
    options = ['--rollback-files', '--wall-time=30s', '--grace=200ms']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def value(self, source, branch=0):
        step = self.session.run(source, branch)
        self.ended(step, 'completed', 'kept', files=None)
        return step.result

    def dies(self, source, verdict='exited', files='rolled back', **kw):
        step = self.session.run(source, **kw)
        self.ended(step, verdict, 'rolled-back', files=files)
        return step

    def same(self):
        self.assertEqual(self.value("{k: (kept.get(k), now.get(k)) for k in kept.keys() | now.keys() "
                                    "if kept.get(k) != now.get(k)} if (now := snap()) != kept else ''"),
                         "''")

    def begin(self, tree=TREE):
        self.value(SNAP + tree + '\nkept = snap()')

    def test_each_death(self):
        self.begin()
        for verdict, death, limits in DEATHS:
            self.dies(SPOIL + death, verdict, **limits)
            self.same()
        self.session.start(SPOIL + 'print("spoilt", flush=True)\nwhile True: pass')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.session.kill()
        self.ended(self.session.finish(), 'cancelled', 'rolled-back', files='rolled back')
        self.same()

    def test_all_is_gone(self):
        self.begin()
        self.dies('import os, shutil\nfor n in os.listdir("/work"):\n os.chmod("/work/shut", 0o700)\n'
                  ' p = "/work/" + n\n'
                  ' shutil.rmtree(p, True) if os.path.isdir(p) and not os.path.islink(p) else os.remove(p)\n'
                  'os.chmod("/work", 0)\nos._exit(1)')
        self.same()

    def test_strays_do_not_write_on(self):
        self.begin()
        self.dies('import os\nif os.fork() == 0:\n'
                  ' os.setsid()\n while True: open("/work/stray", "a").write("x")\n'
                  'import time; time.sleep(0.2); os._exit(1)')
        self.same()

    def test_exceptions_and_exits_keep(self):
        step = self.session.run('open("/work/f", "w").write("kept")\n1/0')
        self.ended(step, 'exception', 'kept', files=None)
        step = self.session.run('open("/work/g", "w").write("kept")\nimport sys; sys.exit(2)')
        self.ended(step, 'exited', 'kept', files=None)
        self.assertEqual(self.value('open("/work/f").read(), open("/work/g").read()'),
                         "('kept', 'kept')")

    def test_mapped_files(self):
        """Stores to a mapping tell nothing to a file's times."""
        self.value('import mmap\nf = open("/work/map", "w+b"); f.write(bytes(8192)); f.flush()\n'
                   'm = mmap.mmap(f.fileno(), 8192); m[0]')
        self.value('m[0] = 1; m[0]')
        self.value('m[0] = 2; m[5000] = 7; m[0]')
        self.dies('m[0] = 3\nimport os; os._exit(1)')
        self.assertEqual(self.value('d = open("/work/map", "rb").read(); d[0], d[5000]'), '(2, 7)')

    def test_rollback(self):
        for n in range(5):
            self.value(f'n = {n}\nopen("/work/n", "w").write("{n}"); open("/work/f{n}", "w").close()')
        read = 'import os\nn, open("/work/n").read(), len(os.listdir("/work"))'
        self.session.rollback(4)
        self.assertEqual(self.session.get('n'), b'3')
        self.assertEqual(self.value(read), "(3, '3', 5)")
        self.session.rollback(2)
        self.assertEqual(self.session.get('n'), b'1')
        self.assertEqual(self.value(read), "(1, '1', 3)")
        self.session.rollback(0)
        self.assertEqual(self.session.list(), [])
        self.assertEqual(self.value('import os; os.listdir("/work")'), '[]')

    def test_branches(self):
        self.value('import os; open("/work/f", "w").write("base")')
        self.session.branch(1, 1)
        self.value('open("/work/f", "w").write("zero")')
        self.value('open("/work/f", "a").write(" one"); open("/work/g", "w").close()', 1)
        read = 'open("/work/f").read(), sorted(os.listdir("/work"))'
        self.assertEqual(self.value(read), "('zero', ['f'])")
        self.assertEqual(self.value(read, 1), "('base one', ['f', 'g'])")
        self.serve.send('LIST', self.session.number, b'\0\0\0\0.', 0)
        names = self.serve.expect(self.session.number, 0, 'DATA').bytes
        self.serve.expect(self.session.number, 0, 'END')
        self.assertNotIn(b' g\0', names)
        self.ended(self.session.run('os.remove("/work/f"); os._exit(1)', 1), 'exited', 'rolled-back',
                   files='rolled back')
        self.assertEqual(self.value(read), "('zero', ['f'])")
        self.session.drop(0)
        self.assertEqual(self.value(read, 1), "('base one', ['f', 'g'])")

    def test_one_step_at_a_time(self):
        self.value('1')
        self.session.branch(1, 1)
        self.session.start('print("there", flush=True); input()')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.refused('branch 0 runs step 2', self.session.run, '1', 1)
        self.refused('one thing is done at a time', self.session.rollback, 0, 1)
        self.refused('one thing is done at a time', self.session.put, 'x', b'x')
        self.assertEqual(self.session.list(), [])
        self.session.stdin(b'\n')
        self.ended(self.session.finish(), 'completed', 'kept')
        self.session.put('x', b'x')
        self.assertEqual(self.value('open("/work/x").read()'), "'x'")

    def test_put_belongs_to_the_state(self):
        self.value('1')
        self.session.put('in', b'one')
        self.dies('import os; os.remove("/work/in"); os._exit(1)')
        self.assertEqual(self.session.get('in'), b'one')
        self.session.put('in', b'two')
        self.dies('import os; os.remove("/work/in"); os._exit(1)')
        self.assertEqual(self.session.get('in'), b'two')
        self.session.rollback(0)
        self.assertEqual(self.session.list(), [])

    def test_frames_that_come_at_once(self):
        """What follows a RUN is taken after it, also when its files are yet to be kept."""
        self.value('open("/work/f", "wb").write(b"x" * (8 << 20))')
        self.session.start('import sys; sys.stdin.read()')
        self.session.stdin(b'text')
        self.session.stdin(b'')
        self.assertEqual(self.session.finish().result, "'text'")
        self.session.start('open("/work/g", "w")\nwhile True: pass')
        self.session.kill()
        self.ended(self.session.finish(), 'cancelled', 'rolled-back', files='rolled back')
        self.assertEqual([name for *_, name in self.session.list()], ['f'])
        self.serve.send('PUT', self.session.number, b'\0\0\0\0p')
        self.serve.send('DATA', self.session.number, b'put')
        self.serve.send('END', self.session.number)
        self.session.start('open("/work/h", "w"); import os; os._exit(1)')
        self.serve.expect(self.session.number, 0, 'STATE')
        self.ended(self.session.finish(), 'exited', 'rolled-back', files='rolled back')
        self.assertEqual(self.session.get('p'), b'put')
        self.serve.send('ROLLBACK', self.session.number, b'\0\0\0\0')
        self.session.start('import os; os.listdir("/work")')
        self.serve.expect(self.session.number, 0, 'STATE')
        self.assertEqual(self.session.finish().result, '[]')
        self.session.start('1')
        self.assertIn('client', self.session.close()['reason'])
        self.assertEqual(self.serve.open().run('2').result, '2')

    def test_more_at_once_than_may_wait(self):
        """serve takes no more from its client then, and nothing is lost of it."""
        data = os.urandom(16 << 20)
        self.value('open("/work/f", "wb").write(b"x" * (32 << 20))')
        self.session.start('1')
        self.serve.send('PUT', self.session.number, b'\0\0\0\0p')
        for at in range(0, len(data), 60000):
            self.serve.send('DATA', self.session.number, data[at:at + 60000])
        # while a step runs there is no file to be written
        self.assertEqual(self.serve.expect(self.session.number, 0, 'DONE').json['state'], 'kept')
        self.serve.send('END', self.session.number)
        self.session.start('import hashlib\n' + '#' * 999999 + '\n'
                           'hashlib.sha256(open("/work/p", "rb").read()).hexdigest()')
        self.serve.expect(self.session.number, 0, 'STATE')
        self.assertEqual(self.session.finish().result, repr(hashlib.sha256(data).hexdigest()))

    def test_deep_and_wide(self):
        self.begin("import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')\n"
                   "open('bottom', 'w').write('deep')\nos.chdir('/work')\nos.mkdir('w')\n"
                   "for i in range(3000): open(f'w/{i:0200}', 'w').close()\n"
                   "for i in range(3000): os.mkdir(f'w/f{i}')\n"
                   "def snap(top='/work'):\n"
                   " n = 0\n os.chdir('/work')\n"
                   " while os.path.isdir('d'): os.chdir('d'); n += 1\n"
                   " t = open('bottom').read() if n else ''; os.chdir('/work')\n"
                   " return {'all': (n, t, sorted(os.listdir('w')))}")
        self.dies("import os\nos.rename('d', 'e'); os.mkdir('d')\nos.chdir('d')\n"
                  "for i in range(3000): os.mkdir('d'); os.chdir('d')\n"
                  "for i in range(3000): os.rmdir(f'/work/w/f{i}')\nos._exit(1)")
        self.same()

    def test_sockets_and_hard_links(self):
        self.value('import os, socket\nsocket.socket(socket.AF_UNIX).bind("/work/socket")\n'
                   'open("/work/f", "w").write("x"); os.link("/work/f", "/work/g")')
        self.dies('os._exit(1)')
        self.assertEqual(self.value('sorted(os.listdir("/work")), os.stat("/work/f").st_nlink, '
                                    'open("/work/g").read()'), "(['f', 'g'], 1, 'x')")

    def test_nothing_to_keep(self):
        self.dies('open("/work/f", "w").write("x"); import os; os._exit(1)')
        self.assertEqual(self.session.list(), [])
        self.assertEqual(self.session.status()['branches']['0']['state'], 0)

    def test_once(self):
        self.ended(self.serve.once('import os; os._exit(1)'), 'exited', 'rolled-back',
                   files='not rolled back')


class Limits(Case):
    options = ['--rollback-files', '--work-size=8M', '--inodes=2000', '--file-size=3M',
               '--keep-memory=unlimited', '--keep-states=3']

    def test_full(self):
        session = self.serve.open()
        session.run('import os\nfor i in range(3): open(f"/work/{i}", "wb").write(b"%d" % i * (2 << 20))')
        fill = ('import os\nos.remove("/work/0")\nn = 0\ntry:\n while True:\n'
                '  open(f"/work/n{n}", "wb").write(b"x" * 500000); n += 1\nexcept OSError: pass\nos._exit(1)')
        many = ('import os\nos.remove("/work/1")\nn = 0\ntry:\n while True:\n'
                '  os.mkdir(f"/work/d{n}"); n += 1\nexcept OSError: pass\nos._exit(1)')
        for source in fill, many:
            self.ended(session.run(source), 'disk', 'rolled-back', files='rolled back')
            self.assertEqual(session.run('[open(f"/work/{i}", "rb").read() == b"%d" % i * (2 << 20) '
                                         'for i in range(3)], len(os.listdir("/work"))').result,
                             '([True, True, True], 3)')

    def test_hard_links_beyond_it(self):
        session = self.serve.open()
        session.run('import os\nopen("/work/f", "wb").write(b"x" * (3 << 20))\n'
                    'for i in range(50): os.link("/work/f", f"/work/{i}")')
        self.refused('--work-size', session.run, '1')
        session.rollback(0)
        self.assertEqual(session.list(), [])
        self.assertEqual(session.run('1').result, '1')

    def test_keep_memory_counts_them(self):
        self.end()
        self.serve = None
        with Serve(OPTIONS + ['--rollback-files', '--keep-memory=40M']) as serve:
            session = serve.open()
            for n in range(8):
                session.run(f'open("/work/f", "wb").write(b"{n}" * (12 << 20)); 1')
            states = [row['state'] for row in session.status()['states']]
        self.assertIn(8, states)
        self.assertLess(len(states), 6)


class Binds(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o777)
        self.addCleanup(shutil.rmtree, self.folder)
        with open(f'{self.folder}/host', 'w') as file:
            file.write('host')
        os.chmod(f'{self.folder}/host', 0o666)
        self.options = ['--rollback-files', f'--bind-rw={self.folder}:/work/in/host',
                        f'--bind={self.folder}/host:/work/file']
        super().setUp()

    def test_work_itself_is_not_emptied(self):
        for bind in '--bind-rw', '--bind':
            serve = Serve(['--rollback-files', f'{bind}={self.folder}:/work'])
            status, error = serve.end()
            self.assertEqual(status, 125)
            self.assertIn('--rollback-files is for a /work that is the jail', error)
        self.assertEqual(os.listdir(self.folder), ['host'])

    def test_are_the_hosts(self):
        session = self.serve.open()
        session.run('open("/work/own", "w").write("own")')
        step = session.run('open("/work/in/host/made", "w").write("made")\n'
                           'open("/work/in/host/host", "w").write("changed")\n'
                           'open("/work/own", "w").write("x"); import os; os._exit(1)')
        self.ended(step, 'exited', 'rolled-back', files='rolled back')
        self.assertEqual(session.get('own'), b'own')
        self.assertEqual(sorted(os.listdir(self.folder)), ['host', 'made'])
        with open(f'{self.folder}/host') as file:
            self.assertEqual(file.read(), 'changed')
        self.assertEqual(session.run('open("/work/in/host/made").read(), open("/work/file").read()').result,
                         "('made', 'changed')")


class Without(Case):
    def test_files_stay(self):
        session = self.serve.open()
        session.run('1')
        step = session.run('open("/work/f", "w").write("stays"); import os; os._exit(1)')
        self.ended(step, 'exited', 'rolled-back', files='not rolled back')
        self.assertEqual(session.get('f'), b'stays')
        session.branch(1, 1)
        session.start('print("there", flush=True); input()')
        self.serve.expect(session.number, 0, 'OUT')
        self.assertEqual(session.run('2', 1).result, '2')
        session.stdin(b'\n')
        session.finish()


if __name__ == '__main__':
    unittest.main()
