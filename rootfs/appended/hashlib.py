

# --- Stepjail's: what elsewhere is OpenSSL's ----------------------------------------------


def _warn(*words, **more):
    """Of pbkdf2_hmac(), which is Python's own here: that it is slower, nobody can mend in a jail."""


def __getattr__(name):
    more = ": it needs OpenSSL's, which no tree of Stepjail has; pbkdf2_hmac() is there" if name == "scrypt" else ""
    raise AttributeError(f"module 'hashlib' has no attribute {name!r}{more}", name=name)
