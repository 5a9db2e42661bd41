"""Rules with figures: weights, statistics, whatever a file told of each."""

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
    """A rule set with columns by name; a column has one value a rule, None where it is not known."""

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
        """Rules with their figures; of repeated rules the first stays."""
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
        """What is known of rule i."""
        values = {name: column[i] for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value is not None}

    def rows(self) -> Iterator[tuple[Rule, dict[str, Any]]]:
        """Every rule with what is known of it."""
        return ((rule, self.row(i)) for i, rule in enumerate(self.rules))

    def take(self, ids: ArrayLike) -> RuleTable:
        """The rules of different ids, in that order."""
        wanted = np.asarray(ids, np.int64)
        columns = {name: [values[i] for i in wanted.tolist()] for name, values in self.columns.items()}
        return RuleTable(self.rules[wanted], columns)

    def with_columns(self, columns: Mapping[str, Sequence[Any]]) -> RuleTable:
        """The same rules with more columns; those of the same name are replaced."""
        return RuleTable(self.rules, {**self.columns, **columns})

    def heaviest(self, relation: int | None = None, top: int | None = None) -> RuleTable:
        """Rules by relation, heaviest first; of one relation only, or only the `top` of each."""
        weights = np.array(self.column(WEIGHT), np.float64)
        relations = self.rules.head_relations().tolist() if relation is None else [relation]
        blocks = [self.rules.by_head(head) for head in relations]
        picked = [ids[np.argsort(-weights[ids], kind="stable")][:top] for ids in blocks]
        return self.take(np.concatenate(picked) if picked else [])
