"""What a worker in another process does with a task."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

from rnnlogic.base.blas import one_blas_thread
from rnnlogic.base.clusters.packing import Packed, portable, unpack
from rnnlogic.base.recent import Recent

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
