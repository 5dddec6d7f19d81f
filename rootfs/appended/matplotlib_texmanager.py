

# --- Stepjail's: the cache may be written to, and LaTeX is missing in words ---------------

TexManager.texcache = os.path.join(os.environ.get("MPLCONFIGDIR", "/tmp/matplotlib"), "tex.cache")
_run_checked = TexManager._run_checked_subprocess.__func__


def _run_or_tell(cls, command, tex, *, cwd=None):
    try:
        return _run_checked(cls, command, tex, cwd=cwd)
    except (RuntimeError, PermissionError) as problem:
        if isinstance(problem.__cause__ or problem, OSError):
            raise RuntimeError(f"text.usetex needs LaTeX, and {command[0]} is not in this tree: leave text.usetex "
                               "False, matplotlib itself draws mathematics such as '$x^2$'") from None
        raise


TexManager._run_checked_subprocess = classmethod(_run_or_tell)
