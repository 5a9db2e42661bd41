"""Work for other processes: objects as bytes and arrays, and what a worker does with a task.

Large arrays lie apart and need not be copied. An array keeps its type on the way, read-only ones included:
for other types kernels are compiled again. So a class with large arrays makes them read-only; they are used
where they lie. Objects of a class with `shared_once = True` (a graph) are kept by workers for later calls.
"""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import one_blas_thread
from rnnlogic.base.recent import Recent


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
        if raw.nbytes < 1 << 12:  # bytes from which on an array lies apart
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


KEPT_CALLS, KEPT_OBJECTS = 2, 8  # what a worker keeps of earlier calls

_calls: Recent[tuple[Callable[[Any, Any], Any], Any]] = Recent(KEPT_CALLS)
_objects: Recent[Any] = Recent(KEPT_OBJECTS)


def run_task(key: str, read: Callable[[str], Packed], units: bytes) -> bytes:
    """Results of packed units and the seconds they took, or the error of one of them, as bytes.

    `key` names what they share, which is unpacked once; so what a unit prepares there (the trie of a
    relation) serves later units too.
    """
    from rnnlogic.base.executor import enter_unit

    def find(name: str) -> Any:
        return _objects.get(name, lambda: unpack(read(name), find))

    enter_unit()
    function, shared = _calls.get(key, lambda: unpack(read(key), find))
    started = time.perf_counter()
    try:
        with one_blas_thread():
            results = [function(shared, unit) for unit in pickle.loads(units)]
    except Exception as error:  # the caller raises it
        return pickle.dumps((None, portable(error)), protocol=5)
    return pickle.dumps((results, time.perf_counter() - started), protocol=5)


def opened(answer: bytes) -> tuple[list[Any], float]:
    """What `run_task` returned; its error is raised."""
    results, rest = pickle.loads(answer)
    if results is None:
        raise rest
    return results, rest
