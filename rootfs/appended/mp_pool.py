

# --- Stepjail's: a pool of an earlier step works anew -------------------------------------

import functools  # noqa: E402
import sys  # noqa: E402

WAIT_S = 2


class _Gone:
    """In place of a pool's threads, which end by themselves or are not there any more."""
    _state = TERMINATE

    def join(self, timeout=None):
        pass

    def is_alive(self):
        return False


def _fail(result):
    """What was not done yet will not be."""
    problem = RuntimeError("the pool's workers ended with the step that started them: "
                           "take the results in the step that asks for them")
    if isinstance(result, IMapIterator):
        with result._cond:
            result._items.append((False, problem))
            result._length = result._index + 1
            result._cond.notify()
        result._cache.pop(result._job, None)
    else:
        result._success, result._value = False, problem
        result._event.set()
        result._cache.pop(result._job, None)


def _end_threads(pool, workers, watcher, *others):
    """Of a pool whose workers have been killed: none may wait for a lock that one held."""
    for thread in watcher, *others:
        thread._state = TERMINATE
    pool._change_notifier.put(None)
    watcher.join(WAIT_S)  # it may be about to start workers anew
    for worker in list(workers):
        worker.kill()
        worker.join()
    del workers[:]
    lock = pool._outqueue._wlock
    if lock._semlock._is_zero() and not lock._semlock._count():
        lock.release()  # no thread of this process has it
    pool._outqueue.put(None)


def _retire(pool, threads_gone):
    threads = pool._worker_handler, pool._task_handler, pool._result_handler
    pool._worker_handler = pool._task_handler = pool._result_handler = _Gone()
    pool._terminate.cancel()
    pool._terminate = int  # that does nothing
    workers, pool._pool = pool._pool, []
    for result in list(pool._cache.values()):
        _fail(result)
    if not threads_gone:
        _end_threads(pool, workers, *threads)


def _retire_all(threads_gone=False):
    """For runner.py: the processes of the step before are gone, and after a branch all threads."""
    for pool in list(_pools):
        if pool._state in (RUN, CLOSE) and not isinstance(pool._worker_handler, _Gone) and (
                threads_gone or not isinstance(pool, ThreadPool)):
            _retire(pool, threads_gone)


def _begin(self):
    if self._state == RUN and isinstance(self._worker_handler, _Gone):
        Pool.__init__(self, self._processes, self._initializer, self._initargs,
                      self._maxtasksperchild, self._ctx)
    _check_running(self)


def _remember(self, *arguments, **named):
    _init(self, *arguments, **named)
    _pools.add(self)


if "stepjail_runner" in sys.modules:
    import weakref

    _pools = weakref.WeakSet()
    _init, _check_running = Pool.__init__, Pool._check_running
    Pool.__init__, Pool._check_running = functools.wraps(_init)(_remember), _begin
