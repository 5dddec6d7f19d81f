# SPDX-License-Identifier: MIT
"""ctypes_util.py - ctypes.util of the tree data

The standard library's asks ldconfig, gcc and ld. They are not in the tree, so it finds nothing,
and they are programs, which a locked step must not even try to start. This one finds nothing
either, and starts none. CDLL() takes a file's name.
"""


def find_library(name):
    """None: nobody knows of it."""
