# SPDX-License-Identifier: MIT
"""ipython.py - as much of IPython as a session can have; frozen, as stepjail_ipython

Code out of notebooks imports IPython.display and a few others. lacking.py asks find_spec() for
them where no tree has the real ones. What they show is shown as display() shows it: HTML, SVG,
PNG and JSON as such, all else as text.
"""
import builtins
import sys
import types
from importlib.machinery import ModuleSpec

import stepjail_magics as magics

__builtins__ = vars(builtins).copy()  # what the functions below look names up in
_modules = sys.modules


class DisplayObject:
    """Data, of a string, a file or an address."""
    binary = False
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None, **how):
        import os
        text = data if isinstance(data, (str, os.PathLike)) else None
        if filename is None and url is None and text is not None and self.binary:
            if str(text).startswith(("http://", "https://")):
                url, data = str(text), None
            else:
                filename, data = text, None
        if url is not None and data is None and self.binary:
            import urllib.request
            with urllib.request.urlopen(url) as source:
                data = source.read()
        if filename is not None:
            with open(filename, "rb" if self.binary else "r") as source:
                data = source.read()
        self.data, self.url, self.filename, self.metadata = data, url, filename, metadata
        self.how = how


class TextDisplayObject(DisplayObject):
    pass


class HTML(TextDisplayObject):
    def _repr_html_(self):
        return self.data

    __html__ = _repr_html_


class _Words(TextDisplayObject):
    def __repr__(self):
        return str(self.data)


class Markdown(_Words):
    def _repr_markdown_(self):
        return self.data


class Latex(_Words):
    def _repr_latex_(self):
        return self.data


class Math(Latex):
    def _repr_latex_(self):
        return f"$\\displaystyle {str(self.data).strip('$')}$"


class Pretty(_Words):
    pass


class Code(_Words):
    pass


class Javascript(_Words):
    def _repr_javascript_(self):
        return self.data


class SVG(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, **how):
        if filename is None and isinstance(data, str) and not data.lstrip().startswith("<"):
            data, filename = None, data
        super().__init__(data, url, filename, **how)

    def _repr_svg_(self):
        return self.data.decode() if isinstance(self.data, bytes) else self.data


class JSON(DisplayObject):
    def _repr_json_(self):
        import json
        return json.loads(self.data) if isinstance(self.data, str) else self.data


class Image(DisplayObject):
    binary = True

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, **how):
        super().__init__(data, url, filename, **how)
        self.width, self.height = width, height

    def _repr_png_(self):
        return self.data if bytes(self.data[:4]) == b"\x89PNG" else None

    def _repr_html_(self):
        import binascii
        kinds = ((b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
        kind = next((kind for begin, kind in kinds if bytes(self.data[:8]).startswith(begin)), None)
        if kind is None:
            return None
        return f'<img src="data:image/{kind};base64,{binascii.b2a_base64(self.data, newline=False).decode()}">'


class _Page(DisplayObject):
    """What a page plays or shows by its address or path."""
    tag = '<a href="{0}">{0}</a>'

    def __init__(self, data=None, *more, url=None, filename=None, **how):
        self.data, self.url, self.filename, self.how = data, url, filename, how
        self.at = url or filename or (data if isinstance(data, str) else "")

    def _repr_html_(self):
        import html
        return self.tag.format(html.escape(str(self.at)))


class IFrame(_Page):
    tag = '<iframe src="{0}"></iframe>'


class Audio(_Page):
    tag = '<audio src="{0}" controls></audio>'


class Video(_Page):
    tag = '<video src="{0}" controls></video>'


class YouTubeVideo(IFrame):
    pass


class FileLink(_Page):
    pass


class FileLinks(_Page):
    pass


class DisplayHandle:
    """What display(..., display_id=True) gives. What was shown stays: an update is shown below it."""

    def __init__(self, display_id=None):
        self.display_id = display_id if isinstance(display_id, str) else f"{id(self):x}"

    def display(self, *objects, **how):
        display(*objects)

    update = display


def display(*objects, **how):
    return _modules["stepjail_shown"].display(*objects, **how)


def update_display(*objects, display_id=None, **how):
    display(*objects)


def clear_output(wait=False):
    """What was printed stays."""


def publish_display_data(data, metadata=None, **how):
    display(data, raw=True)


def nothing(*arguments, **named):
    """Sets up what a notebook has and a session has not."""


class ProgressBar:
    def __init__(self, total):
        self.total, self.progress = total, 0

    def display(self):
        print(f"{self.progress}/{self.total}")

    update = display

    def __iter__(self):
        for self.progress in range(1, self.total + 1):
            yield self.progress
        self.display()


def get_ipython():
    return magics.shell


def register(kind):
    def registered(function):
        magics.shell.register_magic_function(function, kind)
        return function
    return registered


SHOWN = [thing for thing in list(vars().values()) if isinstance(thing, type) and thing.__module__ == __name__]
for _kind in SHOWN:
    _kind.__module__ = "IPython.core.display"
display_html = display_svg = display_png = display_json = display_markdown = display_latex = display_pretty = \
    display_javascript = display
set_matplotlib_formats = set_matplotlib_close = nothing

DISPLAY = {kind.__name__: kind for kind in SHOWN if not kind.__name__.startswith("_")} | {
    name: value for name, value in vars().items() if "display" in name and callable(value)} | {
    "clear_output": clear_output, "set_matplotlib_formats": nothing, "set_matplotlib_close": nothing}
# name of each module, and what is in it
MODULES = {
    "IPython": {"get_ipython": get_ipython, "version_info": (8, 5, 0), "__version__": "8.5.0"},
    "IPython.display": DISPLAY,
    "IPython.core": {},
    "IPython.core.display": DISPLAY,
    "IPython.core.display_functions": DISPLAY,
    "IPython.core.error": {"UsageError": magics.UsageError},
    "IPython.core.getipython": {"get_ipython": get_ipython},
    "IPython.core.interactiveshell": {"InteractiveShell": magics.Shell},
    "IPython.core.magic": {"register_line_magic": register("line"), "register_cell_magic": register("cell")},
    "IPython.core.pylabtools": {"backend2gui": {}},
    "IPython.utils": {},
    "matplotlib_inline": {},
    "matplotlib_inline.backend_inline": {"set_matplotlib_formats": nothing, "set_matplotlib_close": nothing},
}


magics.Shell.ast_node_interactivity = "last_expr"  # that code of notebooks sets
magics.Shell.instance = staticmethod(get_ipython)


class Loader:
    @staticmethod
    def create_module(spec):
        return types.ModuleType(spec.name, "As much of IPython as a session of Stepjail has.")

    @staticmethod
    def exec_module(module):
        vars(module).update(MODULES[module.__name__])
        if module.__name__ == "IPython":
            import IPython.display
            module.display = IPython.display


def find_spec(name):
    if name not in MODULES:
        return None
    return ModuleSpec(name, Loader, origin="stepjail", is_package=any(other.startswith(name + ".") for other in MODULES))
