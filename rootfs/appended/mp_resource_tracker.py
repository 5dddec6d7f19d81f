

# --- Stepjail's: no process for what goes with the jail -----------------------------------

class _NoTracker(ResourceTracker):
    """Tracks nothing. A tracker is a program, executed to remove shared memory and semaphores
    of programs that have crashed; a jail's go with the jail, as its files do.
    """

    def ensure_running(self):
        pass

    def getfd(self):
        with self._lock:
            if self._fd is None:
                self._fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            return self._fd

    def _stop(self):
        pass

    def _send(self, cmd, name, rtype):
        pass


_resource_tracker = _NoTracker()
ensure_running = _resource_tracker.ensure_running
register = _resource_tracker.register
unregister = _resource_tracker.unregister
getfd = _resource_tracker.getfd
