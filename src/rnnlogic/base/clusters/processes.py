"""Units of work in other processes of this machine: shared objects lie in files that all of them map."""

from __future__ import annotations

import multiprocessing
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rnnlogic.base.clusters import ClusterError, Submit
from rnnlogic.base.clusters.work import Packed, opened, pack, run_task


class Processes:
    """So many processes; one for each core by default."""

    def __init__(self, workers: int = 0) -> None:
        from rnnlogic.base.executor import default_threads

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
        raw = self._pool.submit(_task, name, pickle.dumps(list(units), protocol=5))
        future: Future[tuple[list[Any], float]] = Future()

        def take(done: Future[bytes]) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(opened(done.result()))
            except BrokenProcessPool:
                future.set_exception(ClusterError("a worker process died, most often for want of memory"))
            except Exception as error:  # whatever the task raised
                future.set_exception(error)

        raw.add_done_callback(take)
        return future


def _task(name: str, units: bytes) -> bytes:
    """In a worker."""
    return run_task(name, _read, units)


def _read(name: str) -> Packed:
    path = Path(name)
    head, writeable = pickle.loads(path.with_suffix(".head").read_bytes())
    buffers = [np.load(path.with_suffix(f".{i}.npy"), mmap_mode="r") for i in range(len(writeable))]
    return Packed(head, buffers, writeable)
