

# --- Stepjail's: a session that comes back to a state draws other numbers than before, unless
# --- a seed was chosen (rootfs/interpreter/source.c)

def _noting(change):
    import functools

    @functools.wraps(change)
    def noting(*words, **named):
        global _seed_is_chosen
        changed = change(*words, **named)
        _seed_is_chosen = (*words, *named.values(), None)[0] is not None
        return changed
    return noting


_seed_is_chosen = False
for _name in "seed", "setstate", "set_state":
    if _name in globals():
        globals()[_name] = _noting(globals()[_name])
del _name
