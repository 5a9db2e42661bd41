"""Objects as bytes and arrays, for other processes: large arrays lie apart and need not be copied.

An array keeps its type on the way, read-only ones included: compiled kernels are made anew for other types.
So a class with large arrays makes them read-only; they are then used where they lie. Objects of a class with
`shared_once = True` (a graph) are kept by workers from one call to the next.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError

APART = 1 << 12  # bytes from which on an array lies apart


class Packed(NamedTuple):
    """An object without its large arrays, these arrays as bytes, and which of them may be written to."""

    head: bytes
    buffers: list[NDArray[np.uint8]]
    writeable: list[bool]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, apart: Callable[[Any], bool], name: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol=5, buffer_callback=apart)
        self._name, self._is_first = name, True

    def persistent_id(self, obj: Any) -> Any:
        """The name of an object that is shared once, unless it is the one to pack."""
        is_first, self._is_first = self._is_first, False
        return self._name(obj) if not is_first and getattr(type(obj), "shared_once", False) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: Packed, buffers: list[Any], find: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(packed.head), buffers=buffers)
        self._find = find

    def persistent_load(self, pid: Any) -> Any:
        """The object of a name."""
        return self._find(pid)


def pack(value: Any, name: Callable[[Any], Any]) -> Packed:
    """Pack an object; `name` keeps an object that is shared once, and returns what stands for it."""
    packed = Packed(b"", [], [])

    def apart(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < APART:
            return True  # in band
        packed.buffers.append(np.frombuffer(raw, np.uint8))
        packed.writeable.append(not raw.readonly)
        return False

    file = io.BytesIO()
    _Pickler(file, apart, name).dump(value)
    return packed._replace(head=file.getvalue())


def unpack(packed: Packed, find: Callable[[Any], Any]) -> Any:
    """The object; its read-only arrays are views of the buffers."""
    buffers: list[Any] = []
    for buffer, is_writeable in zip(packed.buffers, packed.writeable, strict=True):
        buffers.append(buffer.copy() if is_writeable else _read_only(buffer))
    return _Unpickler(packed, buffers, find).load()


def _read_only(buffer: NDArray[np.uint8]) -> NDArray[np.uint8]:
    view = buffer.view()
    view.setflags(write=False)
    return view


def portable(error: Exception) -> Exception:
    """An error that other processes can read; one that does not survive the way becomes a plain one."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:  # whatever its class does wrong
        pass
    text = str(error) or type(error).__name__
    return RNNLogicError(text) if isinstance(error, RNNLogicError) else RuntimeError(text)
