

# --- Stepjail's: a font that is missing is told once --------------------------------------

class _Once(logging.Filter):
    """Each text of this logger once in a step; a figure asks for its fonts again and again."""

    def __init__(self):
        import sys
        shown = sys.modules.get("stepjail_shown")
        self.told = shown.told if shown else set()

    def filter(self, record):
        text = record.getMessage()
        new = text not in self.told
        self.told.add(text)
        return new


_log.addFilter(_Once())
