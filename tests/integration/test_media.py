#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stepjail serve: what a step shows beside its output, by init/media.h.

Objects of one's own in the tree core, hostile steps that speak to serve themselves, and a client
that does not read; data frames and figures are test_media_data.py's. Run by
tests/integration/run, as root and as an ordinary user.
"""
import json
import os
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import MEDIA as HEAD  # noqa: E402
from serve_client import Serve  # noqa: E402
from serve_scene import (CHANNEL, DONE, MEDIA, OPTIONS, PIECE, Case, is_alive, resident,  # noqa: E402
                         below, wait_until)

MIB = 1 << 20
PIECE_MAX = 32 << 10
RICH = """
class Rich:
    def __repr__(self): return 'a thing'
    def _repr_html_(self): return '<b>ä</b>'
    def _repr_json_(self): return {'a': [1, None, 'ä']}
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_svg_(self): return '<svg/>', {'width': 5}
"""
FORMS = {'html': '<b>ä</b>'.encode(), 'json': '{"a": [1, null, "ä"]}'.encode(),
         'png': b'\x89PNG', 'svg': b'<svg/>'}


def kinds(step):
    return [(shown.object, shown.kind, shown.source) for shown in step.shown]


def texts(step):
    return [bytes(shown.data) for shown in step.shown]


class Forms(Case):
    options = ['--media-limit=100K']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def run_step(self, source, verdict='completed'):
        step = self.session.run(source)
        self.ended(step, verdict, 'kept')
        self.assertTrue(all(shown.whole or shown.left_out for shown in step.shown), step.shown)
        told = step.done['media']
        if step.shown:
            self.assertEqual(told, {'objects': step.shown[-1].object + 1,
                                    'bytes': sum(len(shown.data) for shown in step.shown),
                                    'left_out': sum(shown.left_out for shown in step.shown)})
        else:
            self.assertIsNone(told)
        return step

    def test_value_of_the_last_expression(self):
        step = self.run_step(RICH + 'Rich()')
        self.assertEqual(step.result, 'a thing')
        self.assertEqual({shown.kind: bytes(shown.data) for shown in step.shown}, FORMS)
        self.assertEqual({(shown.object, shown.source) for shown in step.shown}, {(0, 'result')})
        self.assertEqual(self.run_step('_').result, 'a thing')
        for source in ('None', 'x = Rich()', 'Rich', '5', '"a"', '[1]', '{"a": [1]}', '1.5, Rich()'):
            self.assertEqual(self.run_step(source).shown, [], source)

    def test_display(self):
        step = self.run_step(RICH + 'for i in range(2): display(i, Rich())\nRich()')
        self.assertEqual(texts(step)[:6], [b'0', b'a thing', *FORMS.values()])
        self.assertEqual({(o, s) for o, k, s in kinds(step)},
                         {(0, 'display'), (1, 'display'), (2, 'display'), (3, 'display'), (4, 'result')})
        self.assertEqual((step.out, step.err), (b'', b''))
        self.assertIsNone(self.run_step('display()').result)

    def test_before_an_exception(self):
        step = self.run_step('display("before")\n1 / 0', 'exception')
        self.assertEqual(texts(step), [b"'before'"])
        self.assertIn('ZeroDivisionError', step.trace)

    def test_a_bundle(self):
        step = self.run_step(RICH + """
class Bundle(Rich):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': 'of the bundle', 'image/png': 'iVBORw==', 'x/y': 5, 'image/svg+xml': 5}
Bundle()""")
        self.assertEqual({shown.kind: bytes(shown.data) for shown in step.shown},
                         {**FORMS, 'html': b'of the bundle'})

    def test_faults_are_the_objects_own(self):
        step = self.run_step("""
class Bad:
    def __repr__(self): return 'bad'
    def _repr_html_(self): raise RuntimeError
    def _repr_json_(self): return [float('nan')]
    def _repr_png_(self): return 5
    def _repr_svg_(self): return ''
    def _repr_mimebundle_(self): return 5
class Worse(Bad):
    def _repr_html_(self): return 5
    def _repr_json_(self): return '{"a": NaN}'
    def _repr_png_(self): return 'no-base64!'
    _repr_svg_ = 5
    def _repr_mimebundle_(self, **k): return {'text/html': None, 5: 6}
class Deep(Bad):
    def _repr_html_(self): return self._repr_html_()
class Mock:
    def __getattr__(self, name): return lambda *a, **k: {'text/html': 'x'}
class Silent:
    def __repr__(self): raise RuntimeError
    def _repr_html_(self): return 'half \\ud800'
display(Bad(), Worse(), Deep(), Mock, Silent())
Bad()""")
        self.assertEqual(step.result, 'bad')
        *first, text, html = step.shown
        self.assertEqual([bytes(shown.data) for shown in first[:3]], [b'bad'] * 3)
        self.assertEqual({shown.kind for shown in step.shown[:-1]}, {'text'})
        self.assertIn(b'Silent object', text.data)
        self.assertEqual(bytes(html.data), b'half ?')
        self.assertEqual(self.run_step('Mock()').shown, [])

    def test_json_as_text(self):
        step = self.run_step("class J:\n    def _repr_json_(self): return '[1]'\ndisplay(J())")
        self.assertEqual(json.loads(texts(step)[1]), [1])

    def test_states(self):
        """It is there, and the same, after rollback, in branches, and when it was deleted."""
        self.run_step('import builtins; del builtins.display; x = 1')
        self.assertEqual(texts(self.run_step('display(x); x = 2')), [b'1'])
        self.session.rollback(1)
        self.assertEqual(texts(self.run_step('display(x)')), [b'1'])
        self.session.branch(1, 1)
        self.assertEqual(texts(self.session.run('display(x)', branch=1)), [b'1'])
        self.session.run('import os; display(5); os._exit(1)')
        self.assertEqual(texts(self.run_step('display(x)')), [b'1'])

    def test_threads(self):
        step = self.run_step(RICH + """
import threading
threads = [threading.Thread(target=lambda: [display(Rich()) for _ in range(4)]) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()""")
        self.assertEqual(texts(step), [b'a thing', *FORMS.values()] * 32)

    def test_threads_that_are_left(self):
        """One shows something again and again, and goes on with each step: the step's own can come, too.

        Whoever is first has what --media-limit leaves.
        """
        step = self.session.run("""
import threading
class Large:
    def _repr_html_(self): return 'x' * 90000
def show():
    while True: display(Large())
threading.Thread(target=show, daemon=True).start()""")
        self.ended(step, 'completed', 'kept', threads=1)
        self.assertTrue(any(b'1' in texts(self.run_step('display(1)')) for _ in range(100)))

    def test_children_print(self):
        step = self.run_step('import os\nif os.fork() == 0:\n    display(5)\n    os._exit(0)\nos.wait()')
        self.assertEqual((step.shown, step.out), ([], b'5\n'))

    def test_more_than_a_step_shows(self):
        step = self.run_step('for i in range(70): display(i)')
        self.assertEqual(texts(step), [b'%d' % i for i in range(64)])
        self.assertEqual(step.out, b'64\n65\n66\n67\n68\n69\n')

    def test_larger_than_a_step_shows(self):
        step = self.run_step("""
class Large:
    def __init__(self, size): self.size = size
    def _repr_html_(self): return 'x' * self.size
    def __repr__(self): return 'y' * self.size
display(Large(102401), Large(30000), Large(50000))
Large(5000)""")
        self.assertEqual([(s.kind, s.size, s.left_out) for s in step.shown],
                         [('text', step.shown[0].size, False), ('html', 102401, True),
                          ('text', 30000, False), ('html', 30000, False),
                          ('text', step.shown[4].size, True), ('html', 50000, True),
                          ('html', 5000, False)])
        self.assertLessEqual(step.shown[0].size, 32768)

    def test_interrupted(self):
        """A step that waits for its reader is one that can be interrupted: it keeps its state."""
        with Serve(OPTIONS + ['--grace=20s', '--media-limit=64M']) as serve:
            # until its time is over when it waits, and nobody has read
            for seconds in 1, 5, 15:
                session = serve.open()
                session.run(RICH + 'x = 1')
                session.start("class L:\n    def _repr_html_(self): return 'x' * 9000000\nx = 2\n"
                              "display(L(), L(), L())", wall_ms=seconds * 1000)
                time.sleep(seconds + 0.5)
                step = session.finish()
                if step.shown and step.done['verdict'] != 'completed':
                    break
            self.ended(step, 'wall-timeout', 'kept')
            self.assertFalse(step.shown[-1].whole, step.shown)
            self.assertIn('KeyboardInterrupt', step.trace)
            step = session.run('x, display(x)')
            self.assertEqual((step.result, texts(step)), ('(2, None)', [b'2']))


class FormsCold(Forms):
    options = Forms.options + ['--cold']


class None_(Case):
    options = ['--media-limit=0']

    def test_is_shown(self):
        session = self.serve.open()
        step = session.run(RICH + 'display(Rich())\nRich()')
        self.assertEqual((step.shown, step.out, step.result), ([], b'a thing\n', 'a thing'))
        step = session.run(CHANNEL.format(number=2) + f'say({MEDIA}, {media()!r}), say({PIECE}, b"x")')
        self.assertEqual((step.result, step.shown, step.done['media']), ('(True, True)', [], None))


def media(number=0, kind=1, source=1, flags=0, zero=0, size=1, name=b''):
    return HEAD.pack(number, kind, source, flags, zero, size) + name


class Hostile(Case):
    """A step that speaks to serve itself."""
    options = ['--media-limit=100K', '--grace=200ms']

    def setUp(self):
        super().setUp()
        self.session = self.serve.open()

    def says(self, *frames, before='', number=1):
        """What comes of frames, each a kind and a payload, or more of say()'s arguments."""
        source = CHANNEL.format(number=number) + before
        source += '\n'.join(f'assert say{frame!r}' for frame in frames)
        return self.session.run(source)

    def test_can_show_what_it_likes(self):
        step = self.says((MEDIA, media(kind=4, size=PIECE_MAX + 1, name=b'a.png')),
                         (PIECE, b'x' * PIECE_MAX), (PIECE, b'y'), (MEDIA, media(1, size=2)),
                         (PIECE, b'ab'))
        self.assertEqual(texts(step), [b'x' * PIECE_MAX + b'y', b'ab'])
        self.assertEqual((step.shown[0].name, step.shown[0].kind), ('a.png', 'png'))
        self.assertEqual(step.done['media'], {'objects': 2, 'bytes': PIECE_MAX + 3, 'left_out': 0})

    def test_malformed_is_dropped(self):
        """All of the rows at once, each with the piece that would be its own."""
        whole = media()
        bad = [media(1), media(64), media(2**32 - 1), media(kind=0), media(kind=6),
               media(kind=65535), media(source=0), media(source=4), media(source=2), media(flags=2),
               media(zero=1), media(size=0), media(size=102401), media(size=2**64 - 1),
               whole[:-1], whole[:1], b'', media(name=b'a/b'), media(name=b'..'),
               media(name=b'a\n'), media(name=b'\x1b[2J'), media(name=b'\xff'), media(name=b'a\0'),
               media(name=b'x' * 256), media(name=b'x' * 9000), whole * 1000]
        frames = [frame for row in bad for frame in ((MEDIA, row), (PIECE, b'!'))]
        # of another step, of another length than it says, and of no known flags
        frames += [(MEDIA, whole, 2), (PIECE, b'!', 2), (MEDIA, whole, 1, 5), (PIECE, b'!' * 32769)]
        step = self.says(*frames, (MEDIA, whole), (PIECE, b'a'), (PIECE, b'!'), (MEDIA, whole))
        self.assertEqual(texts(step), [b'a'], step.shown)
        self.assertEqual(step.done['media'], {'objects': 1, 'bytes': 1, 'left_out': 0})
        self.ended(step, 'completed', 'kept')
        self.assertEqual(self.session.run('5').result, '5')

    def test_pieces_do_not_run_over(self):
        step = self.says((MEDIA, media(size=2)), (PIECE, b'!'), (PIECE, b'!!!'), (PIECE, b''),
                         (MEDIA, media(1)), (PIECE, b'ab'), (PIECE, b'!'))
        self.assertEqual(texts(step), [b'ab'])

    def test_child_does_not_speak_for_it(self):
        step = self.says(before=f"""
if os.fork() == 0:
    say({MEDIA}, {media()!r}), say({PIECE}, b'!')
    os._exit(0)
os.wait()
say({MEDIA}, {media()!r}), say({PIECE}, b'a')
""")
        self.assertEqual(texts(step), [b'a'])

    def test_incomplete(self):
        """It dies within an item: its DONE says that no more comes."""
        self.session.run('x = 1')
        step = self.says((MEDIA, media(size=50000)), (PIECE, b'x' * PIECE_MAX),
                         before='import atexit, threading\n', number=2)
        self.ended(step, 'completed', 'kept')
        self.assertEqual((len(step.shown[0].data), step.shown[0].whole), (PIECE_MAX, False))
        self.assertEqual(step.done['media']['bytes'], PIECE_MAX)
        # the next step's are counted from the beginning
        self.assertEqual(texts(self.session.run('display(x)')), [b'1'])
        session = self.serve.open()
        session.run('x = 1')
        step = session.run(CHANNEL.format(number=2) + f"""
say({MEDIA}, {media(size=50000)!r}), say({PIECE}, b'x' * {PIECE_MAX})
os.kill(os.getpid(), 9)""")
        self.ended(step, 'signaled', 'rolled-back', signal=9)
        self.assertEqual(step.done['media'], {'objects': 1, 'bytes': PIECE_MAX, 'left_out': 0})
        self.assertEqual(session.run('x').result, '1')

    def test_behind_done(self):
        """What has said DONE shows nothing more, whether it rests or goes on."""
        for rest in ('', 'os.kill(os.getpid(), 9)'):
            session = self.serve.open()
            step = session.run(CHANNEL.format(number=1) + f"""
say({MEDIA}, {media()!r}), say({PIECE}, b'a')
say({DONE}, done(0))
say({MEDIA}, {media(1)!r}), say({PIECE}, b'!')
{rest}""")
            self.assertEqual(texts(step), [b'a'])
            self.assertEqual(texts(session.run('display(5)')), [b'5'])

    def test_what_waits_shows_nothing(self):
        """A state that has kept its step's code running for a moment, and the next step's process."""
        step = self.session.run(CHANNEL.format(number=1) + f"""
import threading
def late():
    for n in range(40):
        for number in range(1, 6):
            say({MEDIA}, {media()!r}, number), say({PIECE}, b'!', number)
        time.sleep(0.005)
os.register_at_fork(after_in_child=late)
class Late:
    def __del__(self): threading.Thread(target=late).start()
sys_ = Late()""")
        self.assertEqual(step.shown, [])
        for n in range(3):
            self.assertEqual(texts(self.session.run('display(5)')), [b'5'])


class Flood(Case):
    """A client that reads nothing, and steps that show more than it will ever hold."""
    options = ['--media-limit=256M', '--output-limit=16M', '--grace=200ms', '--wall-time=60s', '--memory=600M']
    FLOOD = CHANNEL + """
import threading
{rest}
def show():
    piece = struct.pack('<IHHI', {piece_max}, {piece}, 0, N) + b'x' * {piece_max}
    head = bytearray(struct.pack('<IHHIIHHIIQ', 24, {media}, 0, N, 0, 1, 1, 0, 0, 1 << 20))
    for i in range(64):
        head[12:16] = struct.pack('<I', i)
        channel.send(head)
        for _ in range(32): channel.send(piece)
print('on', flush=True)
{act}""".replace('{piece_max}', str(PIECE_MAX)).replace('{piece}', str(PIECE)) \
        .replace('{media}', str(MEDIA))

    def flood(self, act, rest='', seconds=2):
        """How much serve grew, and the sessions that flood."""
        sessions = [self.serve.open() for _ in range(4)]
        before = resident(self.serve.supervisor)
        for session in sessions:
            session.start(self.FLOOD.format(number=1, act=act, rest=rest))
        for session in sessions:
            self.serve.expect(session.number, 0, 'OUT')
        peak = 0
        for _ in range(seconds * 20):
            time.sleep(0.05)
            peak = max(peak, resident(self.serve.supervisor) - before)
        return peak, sessions

    def test_waits_for_its_reader(self):
        """And then all of it comes, in the right order."""
        peak, sessions = self.flood('show()')
        self.assertLess(peak, 6 * MIB)
        for session in sessions[1:]:
            session.kill()
        step = sessions[0].finish()
        self.ended(step, 'completed', 'kept')
        self.assertEqual(len(step.shown), 64)
        self.assertTrue(all(shown.whole for shown in step.shown))

    def test_that_seems_to_rest(self):
        """What is in a channel is taken when its step rests: one that calls so all the time."""
        peak, sessions = self.flood(
            'threading.Thread(target=show).start()\nwhile True: rest()',
            'def rest():\n    try: os.kill(-1 << 31, 0)\n    except OSError: pass')
        self.assertLess(peak, 16 * MIB)
        pids = below(self.serve.process.pid)
        for session in sessions:
            session.kill()
            self.assertEqual(session.finish().done['verdict'], 'cancelled')
        self.assertTrue(any(map(is_alive, pids)))
        self.assertEqual(self.serve.open().run('5').result, '5')

    def test_that_prints_beside(self):
        """What it shows has what it printed go first, and brings no more of that to serve for it."""
        peak, sessions = self.flood(
            'if os.fork() == 0:\n    while True: os.write(1, bytes(65536))\n'
            'threading.Thread(target=point).start()\nwhile True: rest()',
            'def rest():\n    try: os.kill(-1 << 31, 0)\n    except OSError: pass\n'
            'def point():\n    for i in range(64 * 5):\n        channel.send('
            "struct.pack('<IHHIIHHIIQ', 24, {media}, 0, N, i // 5, 1 + i % 5, 1, 1, 0, 9))"
            .replace('{media}', str(MEDIA)))
        self.assertLess(peak, 6 * MIB)
        for session in sessions:
            session.kill()
            self.assertEqual(session.finish().done['verdict'], 'cancelled')

    def test_that_dies(self):
        """It is told apart from one that ended well, and its session goes on."""
        peak, sessions = self.flood('threading.Thread(target=show).start()\ntime.sleep(1)\n'
                                    'os.kill(os.getpid(), 9)')
        self.assertLess(peak, 8 * MIB)
        for session in sessions:
            step = session.finish()
            self.ended(step, 'signaled', 'rolled-back')
            self.assertTrue(all(shown.whole for shown in step.shown[:-1]))
            self.assertEqual(session.run('5').result, '5')


if __name__ == '__main__':
    unittest.main()
