

# --- Stepjail's: what has no room fails here, and not with SIGBUS when it is written to ----

_choose_any = Arena._choose_dir


def _choose_with_room(self, size):
    folder = _choose_any(self, size)
    util._check_room(folder, size)
    return folder


Arena._choose_dir = _choose_with_room
