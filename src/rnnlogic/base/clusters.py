"""Other places than threads for units of work: processes of this machine, or a Ray cluster.

One setting chooses the place: `on_cluster(address)` for a block of code, or $RNNLOGIC_CLUSTER for a whole
program. `map_ordered` reads it; nothing else has to know. Addresses:

    processes, processes://4     processes of this machine
    ray, ray://4                 a Ray cluster of this machine, started now and stopped afterwards
    ray://10.0.0.1:6379          a Ray cluster that runs already; this program runs on one of its machines

Objects travel as bytes, and their large arrays apart, so that these need not be copied: processes map files,
machines share Ray's object store. An array keeps its type on the way, read-only ones included: for other
types kernels are compiled again. So a class with large arrays makes them read-only, and they are used where
they lie. Workers keep objects of a class with `shared_once = True` (a graph) for later calls.
"""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads, enter_unit, one_blas_thread
from rnnlogic.base.text import whole_number
from rnnlogic.base.types import Recent

CLUSTER_VARIABLE = "RNNLOGIC_CLUSTER"

# Submits units; the future holds their results and the seconds that they took.
Submit = Callable[[Sequence[Any]], Future[tuple[list[Any], float]]]


class ClusterError(RNNLogicError):
    """Workers of a cluster failed; the message says what to do."""


class Cluster(Protocol):
    """Workers elsewhere."""

    workers: int

    def sharing(self, function: Callable[[Any, Any], Any], shared: Any) -> AbstractContextManager[Submit]:
        """Inside `with`, the workers hold the function and what all units share."""

    def close(self) -> None:
        """End whatever was started for it."""


class _Chosen:
    """The cluster in use, if there is one; `of_variable` belongs to $RNNLOGIC_CLUSTER."""

    explicit: Cluster | None = None
    is_explicit = False
    of_variable: tuple[str, Cluster | None] = ("", None)


_CHOSEN = _Chosen()


@contextmanager
def on_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Inside `with`, `map_ordered` uses this cluster; None or "threads" means threads.

    What was started for it ends with the block.
    """
    before = _CHOSEN.explicit, _CHOSEN.is_explicit
    cluster = open_cluster(address)
    _CHOSEN.explicit, _CHOSEN.is_explicit = cluster, True
    try:
        yield cluster
    finally:
        _CHOSEN.explicit, _CHOSEN.is_explicit = before
        if cluster is not None:
            cluster.close()


def current_cluster() -> Cluster | None:
    """The cluster to use: that of `on_cluster`, else of $RNNLOGIC_CLUSTER; None means threads."""
    if _CHOSEN.is_explicit:
        return _CHOSEN.explicit
    wanted = os.environ.get(CLUSTER_VARIABLE, "")
    if wanted != _CHOSEN.of_variable[0]:
        _close_that_of_variable()
        _CHOSEN.of_variable = wanted, open_cluster(wanted)
    return _CHOSEN.of_variable[1]


def open_cluster(address: str | None) -> Cluster | None:
    """Connect to a cluster, or start one; None for threads."""
    if address in (None, "", "threads"):
        return None
    kind, _, rest = str(address).partition("://")
    if kind == "ray" and (":" in rest or whole_number(rest or "0") is not None):
        return RayCluster(rest)
    number = whole_number(rest or "0")
    if kind == "processes" and number is not None:
        return Processes(number)
    raise RNNLogicError(
        f"{address!r} names no cluster; use ray, ray://HOST:PORT, ray://NUMBER (workers), processes,"
        " processes://NUMBER or threads"
    )


def _close_that_of_variable() -> None:
    cluster = _CHOSEN.of_variable[1]
    _CHOSEN.of_variable = "", None
    if cluster is not None:
        cluster.close()


atexit.register(_close_that_of_variable)


SECONDS = 1.0  # that a task should take: its way there and back takes milliseconds


class Grouping:
    """Cuts units into tasks by the time that earlier ones took; results do not depend on the cuts."""

    def __init__(self, units: Sequence[Any], submit: Submit, workers: int) -> None:
        self._units, self._submit, self._workers = units, submit, workers
        self._seconds, self._measured = 0.0, 0

    def futures(self) -> Iterator[Future[tuple[list[Any], float]]]:
        """Submit one task after another."""
        first = 0
        while first < len(self._units):
            last = first + self._size(len(self._units) - first)
            yield self._submit(self._units[first:last])
            first = last

    def measured(self, done: tuple[list[Any], float]) -> list[Any]:
        """The results of a task, once its time is noted."""
        results, seconds = done
        self._seconds += seconds
        self._measured += len(results)
        return results

    def _size(self, left: int) -> int:
        if not self._measured:
            return 1
        enough = int(SECONDS * self._measured / max(self._seconds, 1e-9))
        # Every worker should get at least four tasks of what is left, so that none is left alone
        return max(1, min(enough, left // (4 * self._workers)))


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


# What a worker keeps of earlier calls: a stage alternates between two at most, and has a few graphs
_calls: Recent[tuple[Callable[[Any, Any], Any], Any]] = Recent(2)
_objects: Recent[Any] = Recent(8)


def run_task(key: str, read: Callable[[str], Packed], units: bytes) -> bytes:
    """Results of packed units and the seconds they took, or the error of one of them, as bytes.

    `key` names what they share, which is unpacked once; so what a unit prepares there (the trie of a
    relation) serves later units too.
    """

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


def _then_opened(
    raw: Future[bytes],
    future: Future[tuple[list[Any], float]],
    explained: Callable[[Exception], Exception],
) -> Future[tuple[list[Any], float]]:
    """A future that opens the answer of another one; `explained` says what went wrong with that."""

    def take(done: Future[bytes]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(opened(done.result()))
        except Exception as error:  # whatever the task raised
            future.set_exception(explained(error))

    raw.add_done_callback(take)
    return future


class Processes:
    """So many processes; one for each core by default."""

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or default_threads()
        self._folder = Path(tempfile.mkdtemp(prefix="rnnlogic-"))
        self._pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"))
        self._once: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._written = 0

    @contextmanager
    def sharing(self, function: Callable[[Any, Any], Any], shared: Any) -> Iterator[Submit]:
        """Inside `with`, files hold the function and what all units share."""
        name = self._write((function, shared))
        try:
            yield partial(self._submit, name)
        finally:
            for path in self._folder.glob(f"{Path(name).name}.*"):
                path.unlink()

    def close(self) -> None:
        """End the processes and remove their files."""
        self._pool.shutdown(cancel_futures=True)
        rmtree(self._folder, ignore_errors=True)

    def _write(self, value: Any) -> str:
        def name(part: Any) -> str:
            if part not in self._once:
                self._once[part] = self._write(part)
            return self._once[part]

        packed = pack(value, name)
        self._written += 1
        path = self._folder / str(self._written)
        path.with_suffix(".head").write_bytes(pickle.dumps((packed.head, packed.writeable)))
        for i, buffer in enumerate(packed.buffers):
            np.save(path.with_suffix(f".{i}.npy"), buffer)
        return str(path)

    def _submit(self, name: str, units: Sequence[Any]) -> Future[tuple[list[Any], float]]:
        raw = self._pool.submit(_task_of_process, name, pickle.dumps(list(units), protocol=5))
        return _then_opened(raw, Future(), _explained_death)


def _explained_death(error: Exception) -> Exception:
    if isinstance(error, BrokenProcessPool):
        return ClusterError("a worker process died, most often for want of memory")
    return error


def _task_of_process(name: str, units: bytes) -> bytes:
    """In a worker."""
    return run_task(name, _read, units)


def _read(name: str) -> Packed:
    path = Path(name)
    head, writeable = pickle.loads(path.with_suffix(".head").read_bytes())
    buffers = [np.load(path.with_suffix(f".{i}.npy"), mmap_mode="r") for i in range(len(writeable))]
    return Packed(head, buffers, writeable)


RETRIES = 3  # of a task whose worker or machine died
# Ray slows its workers down by default, and would try for ever where memory does not suffice.
RAY_SETTINGS = {"RAY_worker_niceness": "0", "RAY_task_oom_retries": "2"}


class RayCluster:
    """A cluster that runs, by the address of its head, or one of so many workers that starts now."""

    def __init__(self, address: str) -> None:
        ray = _ray()
        for name, value in RAY_SETTINGS.items():
            os.environ.setdefault(name, value)
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            start = {"address": address} if ":" in address else _alone(int(address or default_threads()))
            try:
                ray.init(log_to_driver=False, logging_level="error", **start)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ClusterError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_task_of_ray)
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
        return _then_opened(ref.future(), _Results(ref), _explained)


def _task_of_ray(key: str, refs: list[tuple[str, Any]], units: bytes) -> bytes:
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
    return {"num_cpus": workers, "_node_ip_address": "127.0.0.1", "include_dashboard": False}


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterError("Ray is not installed; `pip install '.[ray]'` in the clone brings it") from None
    return ray
