

# --- Stepjail's: in a jail nothing can be installed ---------------------------------------

_import_optional_dependency = import_optional_dependency


def import_optional_dependency(name, extra="", errors="raise", min_version=None):
    try:
        return _import_optional_dependency(name, extra, errors, min_version)
    except ImportError as problem:
        import stepjail_lacking
        stepjail_lacking.mend(problem)
        raise


import_optional_dependency.__doc__ = _import_optional_dependency.__doc__
