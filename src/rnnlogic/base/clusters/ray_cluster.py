"""Units of work on a Ray cluster: shared objects lie in its object store, once on every machine.

A machine that dies takes nothing with it but time: its tasks run again on the others.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from rnnlogic.base.clusters import ClusterError, Submit
from rnnlogic.base.clusters.work import Packed, opened, pack, run_task

RETRIES = 3  # of a task whose worker or machine died
LOOPBACK = "127.0.0.1"
# Ray slows its workers down by default, and would try for ever where memory does not suffice.
SETTINGS = {"RAY_worker_niceness": "0", "RAY_task_oom_retries": "2"}


class RayCluster:
    """A cluster that runs, by the address of its head, or one of so many workers that starts now."""

    def __init__(self, address: str) -> None:
        ray = _ray()
        from rnnlogic.base.executor import default_threads

        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            start = {"address": address} if ":" in address else _alone(int(address or default_threads()))
            try:
                ray.init(log_to_driver=False, logging_level="error", **start)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ClusterError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_task)
        self._once: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    @contextmanager
    def sharing(self, function: Callable[[Any, Any], Any], shared: Any) -> Iterator[Submit]:
        """Inside `with`, the object store holds the function and what all units share."""
        refs: dict[str, Any] = {}
        key = self._put((function, shared), refs)
        yield partial(self._submit, key, list(refs.items()))

    def close(self) -> None:
        """Leave the cluster; stop it if it was started for us."""
        if self._is_ours:
            _ray().shutdown()

    def _put(self, value: Any, refs: dict[str, Any]) -> str:
        """Pack a value into the object store; returns its name in `refs`."""

        def name(part: Any) -> str:
            if part not in self._once:
                inner: dict[str, Any] = {}
                own = self._put(part, inner)
                self._once[part] = own, inner
            own, inner = self._once[part]
            refs.update(inner)
            return str(own)

        ref = _ray().put(pack(value, name))
        refs[ref.hex()] = ref
        return str(ref.hex())

    def _submit(
        self, key: str, refs: list[tuple[str, Any]], units: Sequence[Any]
    ) -> Future[tuple[list[Any], float]]:
        # Inside a list, a reference is passed on as it is: the worker fetches what it does not have yet.
        ref = self._task.remote(key, refs, pickle.dumps(list(units), protocol=5))
        return _then_opened(ref)


def _task(key: str, refs: list[tuple[str, Any]], units: bytes) -> bytes:
    """In a worker."""
    known, ray = dict(refs), _ray()

    def read(name: str) -> Packed:
        return Packed(*ray.get(known[name]))

    return run_task(key, read, units)


class _Results(Future[tuple[list[Any], float]]):
    """Results of a task; to cancel them is to cancel the task."""

    def __init__(self, ref: Any) -> None:
        super().__init__()
        self._ref = ref

    def cancel(self) -> bool:
        with suppress(Exception):  # it may have ended, or the cluster with it
            _ray().cancel(self._ref)
        return super().cancel()


def _then_opened(ref: Any) -> _Results:
    future = _Results(ref)

    def take(raw: Future[bytes]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(opened(raw.result()))
        except Exception as error:  # whatever the task raised
            future.set_exception(_explained(error))

    ref.future().add_done_callback(take)
    return future


def _explained(error: Exception) -> Exception:
    """Ray's own errors as ours, with the way out."""
    from ray import exceptions

    if isinstance(error, exceptions.OutOfMemoryError):
        return ClusterError(
            "a worker of the cluster ran out of memory and was ended; give Ray fewer CPUs on that machine"
            f" (`ray start --num-cpus`), so that fewer share its memory, or use smaller settings. {error}"
        )
    if isinstance(error, (exceptions.WorkerCrashedError, exceptions.NodeDiedError)):
        return ClusterError(
            f"a task of the cluster died {RETRIES + 1} times with its worker or machine; Ray's logs"
            " (/tmp/ray/session_latest/logs) say why, most often for want of memory"
        )
    if isinstance(error, MemoryError):
        return ClusterError(
            "a task ran out of memory on the cluster; use smaller settings or larger machines"
        )
    if isinstance(error, exceptions.RayError):
        return ClusterError(f"the Ray cluster failed: {error}")
    return error


def _alone(workers: int) -> dict[str, Any]:
    """A cluster of this machine only, which others cannot reach."""
    return {"num_cpus": workers, "_node_ip_address": LOOPBACK, "include_dashboard": False}


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterError("Ray is not installed; `pip install '.[ray]'` in the clone brings it") from None
    return ray
