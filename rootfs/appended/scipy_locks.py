

# --- Stepjail's: free in the child of a fork ------------------------------------------

def _keep(init):
    import os
    made = []

    def free():
        for lock in made:
            lock._rlock._at_fork_reinit()
            lock._entered = False

    def wrapper(self, err_msg):
        init(self, err_msg)
        made.append(self)
    os.register_at_fork(after_in_child=free)
    return wrapper


ReentrancyLock.__init__ = _keep(ReentrancyLock.__init__)
