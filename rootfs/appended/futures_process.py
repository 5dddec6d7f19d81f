

# --- Stepjail's: an executor of an earlier step works anew --------------------------------

WAIT_S = 2


def _step():
    """Which one runs: the file name of its code is its number."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
    return frame.f_code.co_filename


def _renew(executor):
    ProcessPoolExecutor.__init__(executor, executor._max_workers, executor._mp_context, executor._initializer,
                                 executor._initargs, max_tasks_per_child=executor._max_tasks_per_child)


def _retire(executor, threads_gone):
    """Its processes are dead: nothing that its thread may still do concerns it."""
    thread = executor._executor_manager_thread
    if thread is None or executor._shutdown_thread and not executor._broken:
        return
    thread.executor_reference = type(None)  # that finds nobody
    problem = BrokenProcessPool("the executor's workers ended with the step that started them: "
                                "take the results in the step that asks for them")
    for item in list(executor._pending_work_items.values()):
        if not item.future.done():
            item.future.set_exception(problem)
    executor._pending_work_items.clear()
    if not threads_gone:
        thread.join(WAIT_S)  # it sees that they are dead
    _renew(executor)


def _retire_all(threads_gone=False):
    """For runner.py: the processes of the step before are gone."""
    for executor in list(_executors):
        _retire(executor, threads_gone)


def _remember(self, *arguments, **named):
    _init(self, *arguments, **named)
    _executors.add(self)


def _submit_anew(self, fn, /, *arguments, **named):
    step = _step()
    if self._broken and step != self._of_step:
        _renew(self)  # its thread was gone before it could be retired
    self._of_step = step
    return _submit(self, fn, *arguments, **named)


if "stepjail_runner" in sys.modules:
    from functools import wraps as _wraps

    _executors = weakref.WeakSet()
    _init, _submit = ProcessPoolExecutor.__init__, ProcessPoolExecutor.submit
    ProcessPoolExecutor.__init__ = _wraps(_init)(_remember)
    ProcessPoolExecutor.submit = _wraps(_submit)(_submit_anew)
    ProcessPoolExecutor._of_step = None
