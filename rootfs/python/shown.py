# SPDX-License-Identifier: MIT
"""shown.py - what forms an object has beside its repr(); frozen, as stepjail_shown

media.c calls result() with the value of a step's last expression, and figures() at its end,
each only where there is something to find; display() is among the builtins of each step.
The forms are those that notebooks ask an object for. What its methods raise is its own affair:
it has no such form then. JSON is what says of itself that it is: most dicts and lists are
not meant so, and have a repr() that says as much.

As in runner.py, the functions here use their own builtins.
"""
import _io
import builtins
import sys

TEXT, HTML, JSON, PNG, SVG = range(1, 6)  # enum media_kind
DISPLAY, RESULT, FIGURE = range(1, 4)  # enum media_from
MIMES = {"text/html": HTML, "application/json": JSON, "image/png": PNG, "image/svg+xml": SVG}
METHODS = {"_repr_html_": HTML, "_repr_json_": JSON, "_repr_png_": PNG, "_repr_svg_": SVG}
NAME_MAX = 255
SALT = "stepjail"  # of the ids in an SVG: the same picture is the same bytes

__builtins__ = vars(builtins).copy()  # what the functions below look names up in

_modules = sys.modules
_send = _bounded = None
_limit = 0
_displayed = []  # figures, in this step
told = set()  # what matplotlib has said in it already
closed = False  # figures were, at a step's end


class TooLong(Exception):
    """A picture has more bytes than a step may show, by the first that are known."""


class Sink(_io.BytesIO):
    def write(self, data):
        if self.tell() + len(data) > _limit:
            raise TooLong(self.tell() + len(data))
        return _io.BytesIO.write(self, data)


def start(send, bounded, limit):
    """Called once, behind the preloaded modules."""
    global _send, _bounded, _limit
    _send, _bounded, _limit = send, bounded, limit
    if "matplotlib.pyplot" in _modules:
        # where code is locked they cannot be loaded any more, and pyplot is in no hurry
        import matplotlib.backends.backend_agg
        import matplotlib.backends.backend_svg  # noqa: F401


def ask(value, method, **how):
    """What a method of its type's says, or None."""
    try:
        if getattr(type(value), method, None) is None:
            return None
        got = getattr(value, method)(**how)
        # beside metadata
        return got[0] if isinstance(got, tuple) else got
    except Exception:
        return None


def no_number(word):
    raise ValueError(word)  # NaN and Infinity are Python's, and not JSON's


def encoded(kind, data):
    """Its bytes; None where it is none of the kind."""
    if kind == PNG:
        if isinstance(data, str):
            import binascii
            return binascii.a2b_base64("".join(data.split()), strict_mode=True)
        return bytes(memoryview(data))
    if kind == JSON:
        import json
        if isinstance(data, str):
            json.loads(data, parse_constant=no_number)
        else:
            data = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return data.encode("utf-8", "replace") if isinstance(data, str) else None


def put(found, kind, data):
    try:
        data = None if data is None else encoded(kind, data)
    except Exception:
        return
    if data:
        found[kind] = data


def forms(value):
    if is_figure(value):
        return drawn(value)
    found = {}
    bundle = ask(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(bundle, dict):
        for mime, kind in MIMES.items():
            put(found, kind, bundle.get(mime))
    for method, kind in METHODS.items():
        if kind not in found:
            put(found, kind, ask(value, method))
    return found


def words(value):
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


class Bundle:
    """What was given as its forms already: display(forms, raw=True)."""

    def __init__(self, bundle):
        self.bundle = bundle

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.bundle

    def __repr__(self):
        return str(self.bundle.get("text/plain", sorted(self.bundle)))


def display(*objects, raw=False, display_id=None, **how):
    """Show each of these: as text, and as what else it can be. Takes what IPython's takes."""
    for value in objects:
        if raw and isinstance(value, dict):
            value = Bundle(value)
        text = words(value)
        found = {}
        if _limit:
            found = forms(value)
            found[TEXT] = _bounded(text)
        if not _limit or not _send(DISPLAY, saved_name(value), sorted(found.items())):
            print(text)
        elif is_figure(value):
            _displayed.append(value)
    if display_id is None:
        return None
    import stepjail_ipython
    return stepjail_ipython.DisplayHandle(display_id)


def get_ipython():
    """What code out of notebooks asks; imported when it does."""
    import stepjail_magics
    return stepjail_magics.shell


def result(value):
    """Of the last expression; its text comes by another way."""
    if is_figure(value) and (value in _displayed or
                             any(m.canvas.figure is value for m in managers())):
        return  # it comes with the others that are open
    found = forms(value)
    if found:
        _send(RESULT, saved_name(value), sorted(found.items()))


# --- figures of matplotlib ----------------------------------------------------------

def is_figure(value):
    try:
        return isinstance(value, _modules["matplotlib.figure"].Figure)
    except Exception:
        return False


def managers():
    """Of the figures that are open in pyplot."""
    try:
        figs = _modules["matplotlib._pylab_helpers"].Gcf.figs
        return [figs[number] for number in sorted(figs)]
    except Exception:
        return []


def is_empty(figure):
    return len(figure.get_children()) < 2  # it has a background


def draw(figure, kind, problems):
    """A picture's bytes, or how many there would be at the least; None if it cannot be."""
    import warnings
    import matplotlib
    sink = Sink()
    rc = {} if matplotlib.rcParams["svg.hashsalt"] else {"svg.hashsalt": SALT}
    about = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    try:
        with matplotlib.rc_context(rc), warnings.catch_warnings():
            if kind == "svg":
                warnings.simplefilter("ignore")  # the PNG has said them
            figure.savefig(sink, format=kind, metadata=about)
        return sink.getvalue()
    except TooLong as problem:
        return problem.args[0]
    except Exception as problem:
        problems.append(" ".join(f"{type(problem).__name__}: {problem}".split()))
        return None


def drawn(figure):
    problems = []
    found = {PNG: draw(figure, "png", problems), SVG: draw(figure, "svg", problems)}
    if problems:
        complain(f"[a figure cannot be drawn: {problems[0]}]")
    return {kind: data for kind, data in found.items() if data}


def complain(line):
    try:
        print(line, file=sys.stderr)
    except Exception:
        pass  # closed, replaced or gone


def saved_name(value):
    """Where the step has saved this figure: a PNG or SVG, if there is one; taken."""
    try:
        paths = vars(value).pop("_stepjail_saved", ()) if is_figure(value) else ()
    except Exception:
        paths = ()
    for path in sorted(paths, key=lambda p: p.lower().endswith((".svg", ".png")))[-1:]:
        name = path.rsplit("/", 1)[-1]
        data = name.encode("utf-8", "replace")
        if name.isprintable() and name[:1] != "." and len(data) <= NAME_MAX:
            return data
    return b""


def saved(figure):
    """appended/backend_agg.py: it is saved as a file. An empty one is rarely meant."""
    if closed and is_empty(figure):
        complain("[an empty figure was saved: figures are shown and closed at the end of each step; "
                 "save one in the step that draws it, or keep it: fig = plt.gcf(), fig.savefig(...)]")


def figures(more=False):
    """Show and close what is open: at a step's end, and, with more to come, for plt.show()."""
    global closed
    left = managers() if _limit else []
    figs = [manager.canvas.figure for manager in left]
    figs = [figure for figure in figs if figure not in _displayed and not is_empty(figure)]
    _displayed.clear()
    for i, figure in enumerate(figs):
        found = drawn(figure)
        if found and not _send(FIGURE, saved_name(figure), sorted(found.items())):
            complain(f"[{len(figs) - i} of {len(figs)} figures are not shown: a step shows "
                     "64 objects, and a child of it none]")
            break
    if left:
        closed = True
        _modules["matplotlib._pylab_helpers"].Gcf.destroy_all()
    if not more:
        told.clear()


builtins.display, builtins.get_ipython = display, get_ipython
