

# --- Stepjail's: characters that a font lacks are told once -------------------------------

_warn_on_missing_glyph = warn_on_missing_glyph
_told = set()


def warn_on_missing_glyph(codepoint):
    """Of each block of 256 characters the first one, once in a step: there may be hundreds."""
    import sys
    shown = sys.modules.get("stepjail_shown")
    told = shown.told if shown else _told
    if codepoint >> 8 not in told:
        told.add(codepoint >> 8)
        _warn_on_missing_glyph(codepoint)
