

# --- Stepjail's: processes where no program may be executed ------------------------------

_spawnv_passfds = spawnv_passfds


def _by_fork():
    import _imp
    return "stepjail_runner" in sys.modules or not _imp.extension_suffixes()


def spawnv_passfds(path, args, passfds):
    """Start this Python with `-c CODE`: by a fork, where it cannot be executed.

    In a session no program is, and in the tree core (which loads no extension modules)
    none may be by default. The process is then a copy of this one instead of a new one: it
    has the modules that are imported here, and in a session the names of the steps.
    """
    if not _by_fork():
        try:
            return _spawnv_passfds(path, args, passfds)
        except PermissionError as problem:
            problem.add_note("--lock-code lets a jail start no other program: use the start method "
                             "fork, or --lock-code=no")
            raise
    _flush_std_streams()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        low = 3
        for fd in sorted({*map(int, passfds), os.sysconf("SC_OPEN_MAX")} - {0, 1, 2}):
            os.closerange(low, fd)
            low = fd + 1
        futures = sys.modules.get("concurrent.futures.process")
        if futures:
            futures._threads_wakeups.clear()  # of threads that are not here, by fds that are closed
        main = sys.modules["__main__"]
        if getattr(main, "__file__", None):
            # the new process reads the program's file for itself, as one that is executed does
            sys.modules["__main__"] = type(sys)("__main__")
        code = args.index("-c")
        sys.argv[:] = ["-c", *args[code + 2:]]
        exec(args[code + 1], {"__name__": "__main__", "__builtins__": __builtins__})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        _flush_std_streams()
        os._exit(status)


def _check_room(folder, size):
    import errno
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    if size > free:
        raise OSError(errno.ENOSPC, f"shared memory of {size} bytes does not fit: {free} bytes are free "
                                    "(--tmp-size is for /tmp and /dev/shm together)")
