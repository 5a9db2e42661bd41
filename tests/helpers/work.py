"""Units of work for the tests of clusters; workers import them from here."""

import os
import signal
import time

import numpy as np

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.mining.settings import MineSettings
from rnnlogic.predictors.loglinear.settings import LogLinearSettings


def squared(shared, unit):
    return shared[unit] ** 2


def slow(shared, unit):
    """A unit that tells when it began."""
    (shared / f"begun-{unit}").touch()
    time.sleep(0.15)
    return unit, os.getpid()


def nested(shared, unit):
    return list(map_ordered(squared, range(unit), shared)), os.getpid()


def failing(shared, unit):
    if unit == 3:
        raise OddError(shared, "that") if shared == "this" else KeyError(shared)
    return unit


def dying(shared, unit):
    if unit == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def greedy(shared, unit):
    raise MemoryError(f"{shared} {unit}")


def kinds(shared, unit):
    """Which of the shared arrays and of the unit's may be written to; and whether the niceness is 0."""
    graph, weights, small = shared
    arrays = (graph.arrays.tails, weights, small, unit)
    return [bool(array.flags.writeable) for array in arrays], os.nice(0), id(graph)


def compiled_here(shared, unit):
    """Ground something, and tell how often the worker compiled the kernel instead of loading it."""
    from rnnlogic.features.chains import kernels

    found = [part.entity for part in shared.ground_batch(unit)]
    return np.concatenate(found), sum(kernels.ground_counts.stats.cache_misses.values())


class OddError(RNNLogicError):
    """An error that does not survive pickling."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


MINING = MineSettings(facts_per_relation=50, candidates=60, keep=40)
WEIGHTS = LogLinearSettings(steps=10)
