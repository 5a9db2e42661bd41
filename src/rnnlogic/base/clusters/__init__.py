"""Other places than threads for units of work: processes of this machine, or a Ray cluster.

One setting chooses the place: `on_cluster(address)` for a block of code, or $RNNLOGIC_CLUSTER for a whole
program. `map_ordered` reads it; nothing else has to know. Addresses:

    processes, processes://4     processes of this machine
    ray, ray://4                 a Ray cluster of this machine, started now and stopped afterwards
    ray://10.0.0.1:6379          a Ray cluster that runs already; this program runs on one of its machines"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import whole_number

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
        from rnnlogic.base.clusters.ray_cluster import RayCluster

        return RayCluster(rest)
    number = whole_number(rest or "0")
    if kind == "processes" and number is not None:
        from rnnlogic.base.clusters.processes import Processes

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


SECONDS = 1.0  # that a task should take


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
