# SPDX-License-Identifier: MIT
"""shared_values.py - multiprocessing.sharedctypes of the tree core

The standard library's is made of ctypes, which core does not have. Here Value and Array are
views of the same shared memory, for the typecodes that the documentation names; what asks for
a type of ctypes or a Structure fails where it imports ctypes, which says which tree has it.
"""
import struct

from . import get_context, heap
from .context import assert_spawning

__all__ = ['RawValue', 'RawArray', 'Value', 'Array', 'copy', 'synchronized']

CODES = dict.fromkeys("cubBhHiIlLqQfd")


def _code(typecode):
    if isinstance(typecode, str) and typecode in CODES:
        return typecode
    raise TypeError(f"{typecode!r} is none of the typecodes {''.join(CODES)}: other types are those of "
                    "ctypes, which the tree core does not have (the tree data has it)")


class _Shared:
    """Elements in shared memory; ctypes' own numbers wrap around as these do."""

    def __init__(self, code, length, wrapper=None):
        self._code, self._length = code, length
        self._format = "I" if code == "u" else "B" if code == "c" else code
        size = struct.calcsize(self._format)
        self._wrapper = wrapper or heap.BufferWrapper(max(size * length, 1))
        self._bytes = self._wrapper.create_memoryview()[:size * length]
        if wrapper is None:
            self._bytes[:] = bytes(len(self._bytes))
        self._view = self._bytes.cast(self._format)

    def _in(self, value):
        if self._code in "cu":
            kind = bytes if self._code == "c" else str
            if not isinstance(value, (kind, bytearray) if kind is bytes else kind) or len(value) != 1:
                raise TypeError(f"one character is expected, in {kind.__name__}")
            return value[0] if kind is bytes else ord(value)
        if self._code in "fd":
            return float(value)
        if isinstance(value, float) or not hasattr(value, "__index__"):
            raise TypeError(f"an integer is expected, not {type(value).__name__}")
        bits = 8 * self._view.itemsize
        value = value.__index__() & ((1 << bits) - 1)
        return value - (1 << bits) if self._code.islower() and value >> (bits - 1) else value

    def _out(self, value):
        return bytes((value,)) if self._code == "c" else chr(value) if self._code == "u" else value

    def __reduce__(self):
        assert_spawning(self)
        return _rebuild, (type(self), self._code, self._length, self._wrapper)


def _rebuild(kind, code, length, wrapper):
    return kind(code, length, wrapper)


class _Value(_Shared):
    @property
    def value(self):
        return self._out(self._view[0])

    @value.setter
    def value(self, new):
        self._view[0] = self._in(new)

    def __repr__(self):
        return f"<shared {self._code!r}: {self.value!r}>"


class _Array(_Shared):
    def __len__(self):
        return self._length

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return self._out(self._view[i])
        some = [self._out(value) for value in self._view[i]]
        return b"".join(some) if self._code == "c" else "".join(some) if self._code == "u" else some

    def __setitem__(self, i, new):
        if not isinstance(i, slice):
            self._view[i] = self._in(new)
            return
        places = range(*i.indices(self._length))
        new = [new[at:at + 1] if isinstance(new, (bytes, bytearray)) else new[at] for at in range(len(new))]
        if len(new) != len(places):
            raise ValueError("a slice can only be assigned to a sequence of its own size")
        for place, value in zip(places, [self._in(value) for value in new]):
            self._view[place] = value

    def __iter__(self):
        return iter(self[:])

    def __repr__(self):
        return f"<shared array of {self._length} {self._code!r}>"


class _Text(_Array):
    """Of characters: .value ends at the first 0."""

    @property
    def value(self):
        whole = self[:]
        return whole.partition(whole[:0] + (b"\0" if self._code == "c" else "\0"))[0]

    @value.setter
    def value(self, new):
        if len(new) > self._length:
            raise ValueError("string too long" if self._code == "u" else "byte string too long")
        self[:len(new)] = new
        if len(new) < self._length:
            self._view[len(new)] = 0

    @property
    def raw(self):
        return bytes(self._bytes)

    @raw.setter
    def raw(self, new):
        if len(new) > len(self._bytes):
            raise ValueError("byte string too long")
        self._bytes[:len(new)] = bytes(new)


def RawValue(typecode_or_type, *args):
    made = _Value(_code(typecode_or_type), 1)
    if args:
        made.value, = args
    return made


def RawArray(typecode_or_type, size_or_initializer):
    code = _code(typecode_or_type)
    kind = _Text if code in "cu" else _Array
    if isinstance(size_or_initializer, int):
        if size_or_initializer < 0:
            raise ValueError("Array length must be >= 0")
        return kind(code, size_or_initializer)
    made = kind(code, len(size_or_initializer))
    made[:] = size_or_initializer
    return made


def Value(typecode_or_type, *args, lock=True, ctx=None):
    return _with_lock(RawValue(typecode_or_type, *args), lock, ctx)


def Array(typecode_or_type, size_or_initializer, *, lock=True, ctx=None):
    return _with_lock(RawArray(typecode_or_type, size_or_initializer), lock, ctx)


def _with_lock(made, lock, ctx):
    if lock is False:
        return made
    if lock in (True, None):
        lock = (ctx or get_context()).RLock()
    if not hasattr(lock, "acquire"):
        raise AttributeError(f"{lock!r} has no method 'acquire'")
    return synchronized(made, lock, ctx)


def copy(obj):
    new = type(obj)(obj._code, obj._length)
    new._bytes[:] = obj._bytes
    return new


def synchronized(obj, lock=None, ctx=None):
    assert not isinstance(obj, SynchronizedBase), "object already synchronized"
    kind = Synchronized if isinstance(obj, _Value) else SynchronizedString if isinstance(obj, _Text) \
        else SynchronizedArray
    return kind(obj, lock, ctx)


class SynchronizedBase:
    def __init__(self, obj, lock=None, ctx=None):
        self._obj = obj
        self._lock = lock or (ctx or get_context(force=True)).RLock()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *problem):
        return self._lock.__exit__(*problem)

    def __reduce__(self):
        assert_spawning(self)
        return synchronized, (self._obj, self._lock)

    def get_obj(self):
        return self._obj

    def get_lock(self):
        return self._lock

    def __repr__(self):
        return f"<{type(self).__name__} wrapper for {self._obj}>"


def _locked(name):
    def get(self):
        with self:
            return getattr(self._obj, name)

    def put(self, new):
        with self:
            setattr(self._obj, name, new)
    return property(get, put)


class Synchronized(SynchronizedBase):
    value = _locked("value")


class SynchronizedArray(SynchronizedBase):
    def __len__(self):
        return len(self._obj)

    def __getitem__(self, i):
        with self:
            return self._obj[i]

    def __setitem__(self, i, value):
        with self:
            self._obj[i] = value

    def __iter__(self):
        return iter(self[:])


class SynchronizedString(SynchronizedArray):
    value, raw = _locked("value"), _locked("raw")
