

# --- Stepjail's: in a session, one worker ---------------------------------------------

_workers_asked = _workers


def _workers(workers):
    import sys
    asked = _workers_asked(workers)
    return 1 if "stepjail_runner" in sys.modules else asked
