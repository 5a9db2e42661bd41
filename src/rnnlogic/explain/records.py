"""The records of learned rules: how often each is right, as the model has counted it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rnnlogic.explain.reasons import Record
from rnnlogic.fit.result import Learned
from rnnlogic.statistics.statistics import trust_of

Records = Callable[[int], Record | None]  # by the places of rules in the model; None: not counted


def records_of(learned: Learned) -> Records:
    """The records of the rules of a model, their confidence smoothed like that of rules with constants."""

    def record(place: int) -> Record | None:
        support, confidence = int(learned.support[place]), float(learned.confidence[place])
        if not confidence > 0:  # nan where nothing was counted
            return None
        smoothed = trust_of(np.array([support]), np.array([confidence]))
        return Record(support, round(support / confidence), float(smoothed[0]))

    return record
