

# --- Stepjail's: say why the manager of an earlier step is gone ---------------------------

def _tell(call):
    def told(self, *arguments, **named):
        try:
            return call(self, *arguments, **named)
        except (EOFError, OSError) as problem:
            if "stepjail_runner" in sys.modules:
                problem.add_note("Processes end with the step that started them, a manager's too: "
                                 "start the manager in the step that uses it.")
            raise
    return told


BaseProxy._connect, BaseProxy._callmethod = _tell(BaseProxy._connect), _tell(BaseProxy._callmethod)
