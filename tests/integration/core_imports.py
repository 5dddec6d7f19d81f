# SPDX-License-Identifier: MIT
"""core_imports.py - import every module that is left in rootfs/core; runs inside the jail

test_core.py hands this file to the jail's python3 on stdin and the names as arguments,
taken from the tree itself, so that none is forgotten. A module that may not import is in
the table below with its reason. One that fails without being there, or is there and does
import, fails the test.
"""
import contextlib
import importlib
import io
import sys
import warnings

WINDOWS = "another system's"

MAY_NOT_IMPORT = {
    "asyncio.windows_events": WINDOWS,
    "asyncio.windows_utils": WINDOWS,
    "dbm.gnu": "needs _gdbm, which Debian packages apart; dbm.dumb is there",
    "dbm.ndbm": "needs Berkeley DB; dbm.dumb is there",
    "encodings.mbcs": WINDOWS,
    "encodings.oem": WINDOWS,
    "multiprocessing.popen_spawn_win32": WINDOWS,
    "ssl": "needs OpenSSL; with --allow-host, http:// is sent over TLS",
}


def attempt(name):
    """None, or why the module does not import."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # `this` has something to say
            importlib.import_module(name)
    except BaseException as problem:  # a module may well raise SystemExit
        return f"{type(problem).__name__}: {problem}"
    return None


def main(names):
    warnings.simplefilter("ignore")
    wrong = 0
    failed = {name: why for name in names if (why := attempt(name))}
    for name, why in failed.items():
        if name in MAY_NOT_IMPORT:
            print(f"may not import: {name}: {MAY_NOT_IMPORT[name]} ({why})")
        else:
            wrong += 1
            print(f"DOES NOT IMPORT: {name}: {why}")
    for name in sorted(MAY_NOT_IMPORT.keys() - failed.keys()):
        wrong += 1
        print(f"IMPORTS, THOUGH IT MAY NOT (or is not in the tree): {name}")
    print(f"{len(names) - len(failed)} of {len(names)} modules import")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
