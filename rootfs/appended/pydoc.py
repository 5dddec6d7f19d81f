

# --- Stepjail's: no pager is looked for where there is no shell ---------------------------

_getpager = getpager


def getpager():
    return _getpager() if os.access("/bin/sh", os.X_OK) else plainpager
