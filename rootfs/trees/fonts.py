# SPDX-License-Identifier: MIT
"""fonts.py - matplotlib's list of fonts, made with the tree: fonts.py TREE VERSION

To be run by the Python of the tree data. matplotlib makes this list when it is first imported
and finds none, and reads every font for it: a second, in each new session. As it is the same
for all of them, it lies in the tree, where appended/matplotlib_fonts.py says that it is.
"""
import sys

TREE, VERSION = sys.argv[1:]
sys.path[:] = [f"{TREE}/lib/python{VERSION}", f"{TREE}/usr/lib/python3/dist-packages"]
sys.dont_write_bytecode = True

import builtins  # noqa: E402
import os  # noqa: E402

FOLDER = "/usr/share/matplotlib"
os.environ["MATPLOTLIBRC"] = f"{TREE}{FOLDER}/mpl-data"
_open = builtins.open


def open_in_tree(path, *arguments, **options):
    """matplotlib reads its settings where they will be, not where they are now."""
    where = TREE if str(path).startswith(FOLDER) else ""
    return _open(f"{where}{path}", *arguments, **options)


builtins.open = open_in_tree

import matplotlib  # noqa: E402

builtins.open = _open
FOLDER = TREE + FOLDER
# the list has no fonts of this machine's
matplotlib.get_data_path = lambda: f"{FOLDER}/mpl-data"
matplotlib.get_cachedir = lambda: FOLDER

from matplotlib import font_manager  # noqa: E402

_find = font_manager.findSystemFonts
font_manager.findSystemFonts = lambda folders=None, **kinds: _find(folders, **kinds) if folders else []
fonts = font_manager.FontManager()
for kind in fonts.ttflist, fonts.afmlist:
    kind.sort(key=lambda font: font.fname)
path = f"{FOLDER}/fontlist-v{fonts.__version__}.json"
font_manager.json_dump(fonts, path)
os.chmod(path, 0o444)
