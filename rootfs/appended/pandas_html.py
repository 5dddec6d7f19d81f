

# --- Stepjail's: html5lib alone, where there is no lxml -----------------------------------

_validate_any_flavor = _validate_flavor


def _validate_flavor(flavor):
    chosen = _validate_any_flavor(flavor)
    _importers()
    if flavor is None and not _HAS_LXML:
        return tuple(one for one in chosen if one != "lxml")
    if not _HAS_LXML and "lxml" in chosen:
        import stepjail_lacking
        raise ImportError(f"lxml: {stepjail_lacking.words('lxml')}; flavor='bs4' is there")
    return chosen
