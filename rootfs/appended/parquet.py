

# --- Stepjail's: where there is no engine, say what to do about it ----------------------

_get_engine = get_engine


def get_engine(engine):
    try:
        return _get_engine(engine)
    except ImportError as problem:
        failed = problem
    import pyarrow  # noqa: F401  where the tree lacks it, this says so, and what to do
    raise failed
