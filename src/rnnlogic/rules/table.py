"""Rules with figures: weights, statistics, and whatever else a file says about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rnnlogic.rules.rule import Rule
from rnnlogic.rules.ruleset import RuleSet

WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class RuleTable:
    """A rule set with named columns; a column has one value per rule, None where it is unknown."""

    rules: RuleSet
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        odd = [name for name, values in self.columns.items() if len(values) != len(self.rules)]
        if odd:
            raise ValueError(f"columns {odd} must have one value for each of {len(self.rules)} rules")

    def __len__(self) -> int:
        return len(self.rules)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Rule, Mapping[str, Any]]]) -> RuleTable:
        """Collect rules with their figures; only the first of repeated rules is kept."""
        distinct: dict[Rule, Mapping[str, Any]] = {}
        for rule, figures in rows:
            distinct.setdefault(rule, figures)
        names = dict.fromkeys(name for figures in distinct.values() for name in figures)
        columns = {name: [figures.get(name) for figures in distinct.values()] for name in names}
        return cls(RuleSet.from_rules(distinct), columns)

    def column(self, name: str) -> Sequence[Any]:
        """The values of a column; all None if there is no such column."""
        return self.columns.get(name, [None] * len(self))

    def row(self, i: int) -> dict[str, Any]:
        """The known figures of rule i."""
        values = {name: column[i] for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value is not None}

    def rows(self) -> Iterator[tuple[Rule, dict[str, Any]]]:
        """Every rule with its known figures."""
        return ((rule, self.row(i)) for i, rule in enumerate(self.rules))

    def take(self, ids: ArrayLike) -> RuleTable:
        """The rules of distinct ids, in that order."""
        wanted = np.asarray(ids, np.int64)
        columns = {name: [values[i] for i in wanted.tolist()] for name, values in self.columns.items()}
        return RuleTable(self.rules[wanted], columns)

    def with_columns(self, columns: Mapping[str, Sequence[Any]]) -> RuleTable:
        """The same rules with more columns; these replace columns of the same name."""
        return RuleTable(self.rules, {**self.columns, **columns})

    def heaviest(self, relation: int | None = None, top: int | None = None) -> RuleTable:
        """Rules by relation, heaviest first; of one relation if given, and at most `top` of each if given."""
        weights = np.array(self.column(WEIGHT), np.float64)
        relations = self.rules.head_relations().tolist() if relation is None else [relation]
        blocks = [self.rules.by_head(head) for head in relations]
        picked = [ids[np.argsort(-weights[ids], kind="stable")][:top] for ids in blocks]
        return self.take(np.concatenate(picked) if picked else [])
