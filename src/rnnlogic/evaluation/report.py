"""The result of an evaluation: all ranks, the metrics computed from them, and the file that keeps both.

With the file, models whose weights are not kept can be compared too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.arrays import Declaration, Declared, WrongArraysError, parse_arrays, write_arrays
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import read_sealed, write_sealed
from rnnlogic.base.text import printable, text_table
from rnnlogic.base.types import Arrays
from rnnlogic.evaluation.ranks import TIE_RULES, Metrics, Ranks, TieRule, mean_metrics, metrics, query_metrics
from rnnlogic.features.base import NO_CUTS, cuts_in_words

Side = Literal["both", "tail", "head"]

FULL_RANKING = "ranked among all entities, known answers left out"


@dataclass(frozen=True, eq=False)
class Report:
    """Ranks of all queries that were asked; sides and relations are ways to group them."""

    dataset: str
    split: str
    evidence: str
    seconds: float
    sides: tuple[Side, ...]  # the groups available: both, tail and head, or the one side asked
    relations: tuple[str, ...]  # names of relations 0..R-1
    asked: NDArray[np.int32]  # [n, 3] head, relation in 0..2R-1, answer; sorted by relation, head, answer
    ranks: Ranks  # of the n queries
    protocol: str = FULL_RANKING  # what the answers are ranked among
    cuts: NDArray[np.int64] = field(default_factory=lambda: NO_CUTS)  # [3] what the budget left out

    def __str__(self) -> str:
        rows = self.table()
        about = f"{self.dataset}, {self.split}: {self.protocol}; known facts: {self.evidence}"
        return f"{printable(about)}\n{text_table(list(rows[0]), [list(row.values()) for row in rows])}"

    @property
    def is_sample(self) -> bool:
        """Whether time sufficed only for a sample of the facts."""
        return "; a sample of " in self.protocol

    @property
    def budget(self) -> str:
        """What the budget for hubs left out, in words; empty if nothing was."""
        return cuts_in_words(self.cuts)

    @property
    def queries(self) -> int:
        """Number of queries asked."""
        return len(self.asked)

    def metrics(self, side: Side = "both", tie_rule: TieRule = "expected") -> Metrics:
        """MRR, MR and hits of one side."""
        if side not in self.sides:
            raise RNNLogicError(f"side {side!r} was not evaluated; this report has {', '.join(self.sides)}")
        return metrics(self.ranks.select(self._on(side, self.asked)), tie_rule)

    def by_relation(self) -> dict[str, dict[str, Any]]:
        """For each relation asked about: the number of queries, and for each side the expected metrics."""
        relation = self.asked[:, 1] % len(self.relations)
        order = np.argsort(relation, kind="stable")
        found, starts = np.unique(relation[order], return_index=True)
        groups = np.split(order, starts[1:])
        return {self.relations[r]: self._of_group(group) for r, group in zip(found, groups, strict=True)}

    def as_dict(self, relations: bool = False) -> dict[str, Any]:
        """The JSON shape of every evaluation: what was asked, then the metrics by side and tie rule."""
        result: dict[str, Any] = {
            "dataset": self.dataset,
            "split": self.split,
            "evidence": self.evidence,
            "protocol": self.protocol,
            "queries": self.queries,
            "seconds": self.seconds,
        }
        result |= {"budget": self.budget} if self.budget else {}
        for side in self.sides:
            result[side] = {rule: self.metrics(side, rule) for rule in TIE_RULES}
        if relations:
            result["relations"] = self.by_relation()
        return result

    def table(self) -> list[dict[str, str | float]]:
        """One row for each side and tie rule: side, ties, queries and the metrics."""
        return [
            {
                "side": side,
                "ties": rule,
                "queries": int(np.count_nonzero(self._on(side, self.asked))),
                **self.metrics(side, rule),
            }
            for side in self.sides
            for rule in TIE_RULES
        ]

    def _on(self, side: Side, queries: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of the queries [k, 3] belong to a side, [k]."""
        if side == "both":
            return np.ones(len(queries), dtype=bool)
        is_tail: NDArray[np.bool_] = queries[:, 1] < len(self.relations)
        return is_tail if side == "tail" else ~is_tail

    def _of_group(self, group: NDArray[np.intp]) -> dict[str, Any]:
        result: dict[str, Any] = {"queries": len(group)}
        values = query_metrics(self.ranks.select(group))
        for side in self.sides:
            mask = self._on(side, self.asked[group])
            result[side] = mean_metrics({name: column[mask] for name, column in values.items()})
        return result


RANKS: Declaration = {
    "asked": Declared("int32", ("queries", 3), least=0),
    **{name: Declared("int64", ("queries",), least=0) for name in ("better", "tied", "candidates")},
}
KEPT = ("dataset", "split", "evidence", "protocol", "seconds", "sides", "relations")


def save_ranks(path: str | Path, report: Report, data: Mapping[str, str]) -> None:
    """Write a report with all its ranks; `data` is the fingerprint of what was evaluated."""
    arrays: Arrays = {"asked": report.asked, "better": report.ranks.better, "tied": report.ranks.tied}
    arrays["candidates"] = report.ranks.candidates
    about = {name: getattr(report, name) for name in KEPT} | {"data": dict(data)}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    metadata = {"report": json.dumps(about, ensure_ascii=False)}
    write_sealed(Path(path), lambda file: write_arrays(file, arrays, metadata))


def load_ranks(path: str | Path) -> tuple[Report, dict[str, str]]:
    """The report, and the fingerprint of its data."""
    try:
        arrays, metadata = parse_arrays(read_sealed(Path(path)), RANKS)
        about: dict[str, Any] = json.loads(metadata["report"])
        data: dict[str, str] = dict(about.pop("data"))
        about |= {name: tuple(about[name]) for name in ("sides", "relations")}
        asked = arrays.pop("asked")
        if asked.size and asked[:, 1].max() >= 2 * len(about["relations"]):
            raise WrongArraysError("asked holds relations without a name")
        return Report(**about, asked=asked, ranks=Ranks(**arrays)), data
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RNNLogicError(f"{path}: cannot be read ({error}); run the evaluation again") from None
