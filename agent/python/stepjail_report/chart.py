# SPDX-License-Identifier: MIT
"""chart.py - time and memory over the steps, drawn as SVG

Two drawings of one kind, a bar for each step; where there are more steps than bars, a bar is the
largest of so many. Nothing in them is a text of anybody's. The page's table has the same numbers.
"""
import math

from .words import duration, size

BARS_MAX = 100
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 420, 172, 62, 14, 24


def ceiling(most, steps):
    """The number at the top of an axis: not below @most, and a round one."""
    unit = 10 ** math.floor(math.log10(most)) if most > 0 else 1
    return next(unit * step for step in steps if unit * step >= most)


def nice_time(most):
    """In ms: round in the unit that it is told in."""
    for unit in (1, 1000, 60000, 3600000):
        if most <= 60 * unit or unit == 3600000 or most < 1000 == 1000 * unit:
            return max(10 if unit == 1 else 1, ceiling(most / unit, (1, 2, 3, 4, 6, 8, 10))) * unit
    return most


def nice_size(most):
    unit = 1 << 10
    while most > 1000 * unit:
        unit <<= 10
    return max(1, ceiling(most / unit, (1, 2, 3, 4, 6, 8, 10))) * unit


def bucketed(rows, bars):
    """Of rows of numbers, the largest of each so many: pairs of (first, last), row."""
    step = max(1, math.ceil(len(rows) / bars))
    for at in range(0, len(rows), step):
        part = rows[at:at + step]
        yield (at, at + len(part) - 1), [max(column) for column in zip(*part)]


def draw(title, name, numbers, rows, top, say, classes):
    """@rows: of each step the numbers to be drawn over each other; @numbers: of the steps"""
    width, height = WIDTH - LEFT - 6, HEIGHT - TOP - BOTTOM
    buckets = list(bucketed(rows, BARS_MAX))
    slot = width / max(1, len(buckets))
    bar = min(34, max(1.5, slot * 0.68))
    parts = []
    for part in (0, 0.5, 1):
        y = TOP + height * (1 - part)
        parts.append(f'<line class=grid x1="{LEFT}" x2="{WIDTH - 6}" y1="{y:.1f}" y2="{y:.1f}"></line>'
                     f'<text class=axis x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{say(top * part) if part else 0}</text>')
    labels = max(1, math.ceil(len(buckets) / 10))
    for i, ((first, last), row) in enumerate(buckets):
        x = LEFT + slot * (i + 0.5)
        for value, kind in zip(row, classes):
            tall = height * min(1, value / top)
            tall = max(tall, 1.0) if value else 0
            parts.append(f'<rect class={kind} x="{x - bar / 2:.1f}" y="{TOP + height - tall:.1f}" width="{bar:.1f}" '
                         f'height="{tall:.1f}"></rect>')
        if i % labels == 0:
            parts.append(f'<text class=axis x="{x:.1f}" y="{HEIGHT - 7}" text-anchor="middle">{numbers[first]}</text>')
    most = max((max(row) for row in rows), default=0)
    where = next((numbers[i] for i, row in enumerate(rows) if max(row) == most), 0)
    told = f"A bar for each of {len(rows)} steps" if len(buckets) == len(rows) else \
        f"{len(buckets)} bars, each the largest of up to {math.ceil(len(rows) / BARS_MAX)} of {len(rows)} steps"
    return (f'<svg role=img aria-labelledby="{name}-t {name}-d" viewBox="0 0 {WIDTH} {HEIGHT}">'
            f'<title id="{name}-t">{title}</title><desc id="{name}-d">{told}. The most is {say(most)}, at step {where}.'
            f'</desc>{"".join(parts)}</svg>')


def charts(steps):
    """@steps: (number, wall ms, CPU ms, bytes) of each step that ran"""
    numbers = [step[0] for step in steps]
    times = [(wall, cpu) for _, wall, cpu, _ in steps]
    sizes = [(most,) for *_, most in steps]
    top_ms = nice_time(max((max(row) for row in times), default=1))
    top_bytes = nice_size(max((row[0] for row in sizes), default=1))
    return ('<div class=charts><figure>' + draw("Time of each step", "ct", numbers, times, top_ms, duration, ("wall", "cpu"))
            + '<figcaption><i class="key wall"></i> wall time <i class="key cpu"></i> CPU time, by step</figcaption></figure>'
            '<figure>' + draw("Memory of each step at its peak", "cm", numbers, sizes, top_bytes, size, ("mem",))
            + '<figcaption><i class="key mem"></i> memory at its peak, by step</figcaption></figure></div>')
