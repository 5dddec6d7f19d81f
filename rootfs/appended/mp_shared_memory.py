

# --- Stepjail's: what has no room fails here, and not with SIGBUS when it is written to ----

_make = SharedMemory.__init__


def _make_with_room(self, name=None, create=False, size=0):
    if create and size > 0:
        from .util import _check_room
        _check_room("/dev/shm", size)
    _make(self, name, create, size)


SharedMemory.__init__ = _make_with_room
