# SPDX-License-Identifier: MIT
"""stepjail_report - one page of HTML that shows a transcript of stepjail-agent

Theory of operation
    A transcript may be a stranger's, and all that it says is a model's or a jail's. So nothing of it
    decides more than which words stand on the page. The reader of stepjail-transcripts computes the
    chain of digests again; lines behind the first that does not fit are not shown. transcript.py keeps
    of the others what a page can hold. words.py is the one way of a text onto the page: escaped, what cannot be seen as a mark, and cut at a bound. page.py
    and step.py make the parts, chart.py the drawing. pictures.py takes PNG files of one folder, whose
    digests the transcript has; a path that a transcript names is never opened.

    The page loads nothing: its Content-Security-Policy allows its own style sheet, by digest, and
    pictures that are in it. It has no script, no form, no link but to its own parts, and no style
    attribute.
"""

VERSION = "0.1.0"
