#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rootfs/data: what a step shows of pandas, matplotlib and PIL, in sessions that are locked.

Run by tests/integration/run, as root and as an ordinary user.
"""
import os
import struct
import sys
import unittest
import xml.etree.ElementTree
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_client import Serve  # noqa: E402
from serve_scene import OPTIONS  # noqa: E402

PLOT = 'import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title("three")\n'


def png_size(data):
    """Width and height, if all of it can be decoded."""
    assert data[:8] == b'\x89PNG\r\n\x1a\n', data[:20]
    at, pixels, size, kind = 8, b'', None, None
    while at < len(data):
        length, kind = struct.unpack_from('>I4s', data, at)
        body = data[at + 8:at + 8 + length]
        assert struct.unpack_from('>I', data, at + 8 + length)[0] == zlib.crc32(kind + body)
        if kind == b'IHDR':
            size = struct.unpack_from('>IIBB', body)
        elif kind == b'IDAT':
            pixels += body
        at += 12 + length
    samples = {0: 1, 2: 3, 4: 2, 6: 4}[size[3]]
    assert kind == b'IEND' and len(zlib.decompress(pixels)) == size[1] * (1 + size[0] * samples)
    return size[:2]


def svg_size(data):
    top = xml.etree.ElementTree.fromstring(data)
    assert top.tag == '{http://www.w3.org/2000/svg}svg' and len(top.findall('.//*')) > 5
    return top.get('width'), top.get('height')


class Shown(unittest.TestCase):
    """One serve for all of them."""
    options = []

    @classmethod
    def setUpClass(cls):
        cls.serve = Serve([*OPTIONS, '--rootfs', 'data', *cls.options])
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        status, error = cls.serve.end()
        assert (status, error) == (0, ''), (status, error)

    def setUp(self):
        self.session = self.serve.open()
        self.addCleanup(lambda: self.session.close())

    def run_step(self, source, verdict='completed', session=None):
        step = (session or self.session).run(source)
        self.assertEqual((step.done['verdict'], step.done['state']), (verdict, 'kept'), step)
        self.assertEqual(step.done['violations']['total'], 0, step)
        self.assertTrue(all(shown.whole or shown.left_out for shown in step.shown), step.shown)
        return step

    def figures(self, step, source='figure', size=(640, 480), names=('',)):
        """The step has shown these figures, as PNG and SVG each, and nothing else but texts."""
        shown = [s for s in step.shown if s.kind != 'text']
        self.assertEqual([(s.kind, s.source, s.name) for s in shown],
                         [(kind, source, name) for name in names for kind in ('png', 'svg')])
        for png, svg in zip(shown[::2], shown[1::2]):
            self.assertEqual(png.object, svg.object)
            self.assertEqual(png_size(bytes(png.data)), size)
            self.assertEqual(svg_size(svg.data), tuple(f'{s * 0.72:g}pt' for s in size))
        return step


class Figures(Shown):
    def test_open_at_the_end(self):
        while not self.session.opened['warm']:
            self.assertIn('still starting', self.session.opened['why_cold'])
            self.session.close()
            self.session = self.serve.open()
        step = self.figures(self.run_step(PLOT + 'fig = plt.figure(figsize=(3, 2))'))
        self.assertEqual((step.out, step.err, step.result), (b'', b'', None))
        # both are closed, and the one that was empty is there
        self.assertEqual(self.run_step('plt.get_fignums()').result, '[]')
        step = self.run_step('fig.add_subplot().bar([1, 2], [3, 4])\nfig')
        self.figures(step, 'result', (300, 200))
        self.assertEqual(step.result, '<Figure size 300x200 with 1 Axes>')

    def test_behind_an_exception(self):
        step = self.figures(self.run_step(PLOT + '1 / 0', 'exception'))
        self.assertIn('ZeroDivisionError', step.trace)
        self.figures(self.run_step(PLOT + 'import sys; sys.exit(3)', 'exited'))

    def test_not_shown_twice(self):
        self.figures(self.run_step(PLOT + 'plt.gcf()'))
        self.figures(self.run_step(PLOT + 'plt.gca(), plt.gcf().axes'))
        self.figures(self.run_step(PLOT + 'display(plt.gcf())'), 'display')
        self.figures(self.run_step(PLOT + 'f = plt.gcf()\ndisplay(f)\nf'), 'display')
        # but by each step that is asked to
        self.figures(self.run_step('display(f)'), 'display')
        self.figures(self.run_step('f'), 'result')
        self.assertEqual(self.run_step(PLOT + 'plt.close()').shown, [])

    def test_show(self):
        step = self.run_step(PLOT + 'plt.show()\nplt.plot([2])\nplt.show()\nplt.show()\n5')
        self.figures(step, names=('', ''))
        self.assertEqual((step.out, step.err, step.result), (b'', b'', '5'))
        self.figures(self.run_step(
            'import matplotlib\nmatplotlib.use("Agg")\n' + PLOT + 'plt.gcf().show()\nplt.show()'))

    def test_names(self):
        for save, name in (('"a.png"', 'a.png'), ('"/work/sub dir/b"', 'b.png'),
                           ('"c.svg", dpi=30', 'c.svg'), ('"d.pdf"', 'd.pdf'),
                           ('__import__("pathlib").Path("ä.jpg")', 'ä.jpg'),
                           ('open("e.png", "wb")', 'e.png'), ('"f", format="pdf"', 'f.pdf'),
                           ('__import__("io").BytesIO()', ''), ('"g\\nh.png"', ''),
                           ('".hidden.png"', ''), ('"\\u202egnp.png"', ''),
                           ('b"\\xff.png"', ''), ('"x" * 251 + ".png"', 'x' * 251 + '.png')):
            with self.subTest(save=save):
                step = self.run_step('import os; os.makedirs("sub dir", exist_ok=True)\n' + PLOT +
                                     f'plt.savefig({save})')
                self.figures(step, names=(name,))
        # the last one, but rather a PNG than others; and only of this step
        step = self.run_step(PLOT + 'fig = plt.gcf()\nfor n in "a.png", "b.svg", "c.pdf":\n'
                             '    plt.savefig(n)')
        self.figures(step, names=('b.svg',))
        self.figures(self.run_step('display(fig)'), 'display')

    def test_saved_when_closed(self):
        """At the end of the step that drew it the figure was closed; savefig() makes a new one."""
        self.assertEqual(self.run_step('import matplotlib.pyplot as plt\nplt.savefig("a.png")').err, b'')
        self.figures(self.run_step(PLOT))
        step = self.run_step('plt.savefig("a.png")')
        self.assertIn(b'[an empty figure was saved: figures are shown and closed', step.err)
        self.run_step(PLOT + 'fig = plt.gcf()')
        self.assertEqual(self.run_step('fig.savefig("a.png")').err, b'')

    def test_same_bytes(self):
        """Of two sessions, and with the same figure made again."""
        source = PLOT + 'plt.fill_between([0, 1], [1, 2], alpha=0.3)\nplt.legend(["a"])'
        other = self.serve.open()
        one, two, three = (self.run_step(source, session=s).shown
                           for s in (self.session, other, self.session))
        other.close()
        for shown in zip(one, two, three):
            self.assertEqual(len({bytes(s.data) for s in shown}), 1)
        self.assertNotIn(b'dc:date', one[1].data)

    def test_that_cannot_be_drawn(self):
        step = self.run_step(PLOT + r'plt.title("$\\frac{1$")' + '\nplt.figure().text(0, 0, "a")')
        self.figures(step)
        self.assertIn(b'[a figure cannot be drawn: ValueError: ', step.err)
        self.assertEqual(step.err.count(b'\n'), 1)
        self.assertEqual(self.run_step('plt.get_fignums()').result, '[]')

    def test_too_many_points(self):
        step = self.run_step('import numpy as np\n' + PLOT +
                             'plt.scatter(np.arange(150000), np.arange(150000))\nNone')
        png, svg = step.shown
        self.assertEqual(png_size(bytes(png.data)), (640, 480))
        self.assertTrue(svg.left_out and svg.size > 8 << 20, svg)

    def test_states(self):
        """Figures are variables: they go back, and are of one branch."""
        self.run_step('import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])')
        first = self.run_step('fig').shown
        self.session.run('ax.plot([5, 5, 9]); import os; os.kill(os.getpid(), 9)')
        self.assertEqual([s.data for s in self.run_step('fig').shown], [s.data for s in first])
        self.assertNotEqual([s.data for s in self.run_step('ax.plot([5, 5, 9])\nfig').shown],
                            [s.data for s in first])

    def test_interrupted(self):
        """What was to be shown is shown by the next step; a picture that takes long is the step's."""
        self.run_step('import time')
        self.session.start(PLOT + 'print("on", flush=True)\ntime.sleep(60)')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.session.interrupt()
        step = self.session.finish()
        self.assertEqual((step.done['verdict'], step.done['state'], step.shown),
                         ('cancelled', 'kept', []))
        self.figures(self.run_step('x = 1'))
        self.session.start('class Slow(plt.Line2D):\n    def draw(self, r):\n'
                           '        print("on", flush=True)\n        time.sleep(60)\n'
                           'plt.gca().add_line(Slow([0], [1]))\n5')
        self.serve.expect(self.session.number, 0, 'OUT')
        self.session.interrupt()
        step = self.session.finish()
        self.assertEqual((step.done['verdict'], step.done['state']), ('cancelled', 'kept'))
        self.assertIn('KeyboardInterrupt', step.trace)


class Others(Shown):
    # what pyplot would import when it is first needed could not be loaded any more
    options = ['--preload', 'numpy,pandas,matplotlib.pyplot']

    def test_figures(self):
        self.figures(self.run_step(PLOT + 'plt.savefig("a.png")\nplt.savefig("a.svg")'),
                     names=('a.svg',))

    def test_data_frames(self):
        step = self.run_step('import pandas as pd\nt = pd.DataFrame({"a<b": [1, None]})\nt')
        html, = step.shown
        self.assertEqual((html.kind, html.source), ('html', 'result'))
        self.assertIn(b'<th>a&lt;b</th>', html.data)
        self.assertIn('NaN', step.result)
        text, html = self.run_step('display(t)').shown
        self.assertEqual(text.data.decode(), step.result)
        self.assertEqual(self.run_step('t["a<b"]').shown, [])
        self.figures(self.run_step('t.plot(kind="bar")'))

    def test_pictures(self):
        step = self.run_step('from PIL import Image\nImage.new("RGB", (7, 5), "red")')
        self.assertEqual([(s.kind, s.source) for s in step.shown], [('png', 'result')])
        self.assertEqual(png_size(bytes(step.shown[0].data)), (7, 5))

    def test_arrays_have_no_forms(self):
        step = self.run_step('import numpy as np\nnp.arange(3)')
        self.assertEqual((step.shown, step.result), ([], 'array([0, 1, 2])'))


if __name__ == '__main__':
    unittest.main()
