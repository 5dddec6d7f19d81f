

# --- Stepjail's: no server where it would be no more than a fork --------------------------

if util._by_fork():
    from .popen_spawn_posix import Popen as _Spawned

    class Popen(_Spawned):
        """As the start method spawn: see spawnv_passfds() of util."""
        method = "forkserver"
