"""Units of a few milliseconds travel together: a task of a cluster should take about a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from rnnlogic.base.clusters import Submit

SECONDS = 1.0  # that a task should take
TURNS = 4  # tasks that every worker should get of what is left, at least, so that none is left alone


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
        return max(1, min(enough, left // (TURNS * self._workers)))
