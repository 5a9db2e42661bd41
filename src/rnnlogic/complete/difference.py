"""How two models differ: rules that came, went or changed, and proposals that did."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rnnlogic.complete.complete import NewFact
from rnnlogic.explain.listing import RuleInfo
from rnnlogic.render.page import Card, Section, Table

LEAST_WEIGHT, LEAST_CHANCE = 0.01, 0.05  # smaller changes are not told
Item = TypeVar("Item")


@dataclass(frozen=True)
class Changes(Generic[Item]):
    """Items of the first model only, of the second only, and of both with other figures."""

    went: tuple[Item, ...]
    came: tuple[Item, ...]
    changed: tuple[tuple[Item, Item], ...]

    @staticmethod
    def between(
        before: Iterable[Item],
        after: Iterable[Item],
        key: Callable[[Item], Hashable],
        is_other: Callable[[Item, Item], bool],
    ) -> Changes[Item]:
        """What changed between two lists, in their order."""
        old: Mapping[Hashable, Item] = {key(one): one for one in before}
        new: Mapping[Hashable, Item] = {key(one): one for one in after}
        both = [(old[name], new[name]) for name in new if name in old]
        return Changes(
            tuple(one for name, one in old.items() if name not in new),
            tuple(one for name, one in new.items() if name not in old),
            tuple(pair for pair in both if is_other(*pair)),
        )


@dataclass(frozen=True)
class Difference:
    """What is different in the second of two models."""

    rules: Changes[RuleInfo]
    proposals: Changes[NewFact]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            name: {
                "went": [one.as_dict() for one in changes.went],
                "came": [one.as_dict() for one in changes.came],
                "changed": [{"before": a.as_dict(), "after": b.as_dict()} for a, b in changes.changed],
            }
            for name, changes in (("rules", self.rules), ("proposals", self.proposals))
        }

    def card(self, before: str, after: str, most: int | None = None) -> Card:
        """All of it as a page, or the first of each kind; strong changes come first."""
        sections = [
            _section("Rules that came", RULES, map(_rule, self.rules.came), most),
            _section("Rules that went", RULES, map(_rule, self.rules.went), most),
            _section("Rules that changed", CHANGED_RULES, _changed_rules(self.rules), most),
            _section("Proposals that came", FACTS, map(_fact, self.proposals.came), most),
            _section("Proposals that went", FACTS, map(_fact, self.proposals.went), most),
            _section("Proposals that changed", CHANGED_FACTS, _changed_facts(self.proposals), most),
        ]
        return Card(f"From {before} to {after}", tuple(sections))


RULES = ("rule", "weight", "support", "confidence")
CHANGED_RULES = ("rule", "weight", "weight now", "support", "support now", "confidence", "confidence now")
FACTS = ("head", "relation", "tail", "probability")
CHANGED_FACTS = ("head", "relation", "tail", "probability", "probability now")


def difference(
    rules: tuple[Iterable[RuleInfo], Iterable[RuleInfo]],
    proposals: tuple[Iterable[NewFact], Iterable[NewFact]],
) -> Difference:
    """What changed between the rules, and between the proposals, of two models."""
    return Difference(
        Changes.between(*rules, key=lambda rule: rule.text, is_other=_is_other_rule),
        Changes.between(
            *proposals,
            key=lambda fact: (fact.head, fact.relation, fact.tail),
            is_other=lambda a, b: abs(a.probability - b.probability) >= LEAST_CHANCE,
        ),
    )


def _is_other_rule(before: RuleInfo, after: RuleInfo) -> bool:
    records = [(one.predictions, one.support) for one in (before, after)]
    return records[0] != records[1] or abs(before.weight - after.weight) >= LEAST_WEIGHT


def _section(
    title: str, headers: tuple[str, ...], rows: Iterable[tuple[Any, ...]], most: int | None
) -> Section:
    every = tuple(rows)
    shown = every[:most]
    more = (f"The first {len(shown):,} of {len(every):,}.",) if len(shown) < len(every) else ()
    return Section(f"{title}: {len(every):,}", more, Table(headers, shown) if shown else None)


def _rule(rule: RuleInfo) -> tuple[Any, ...]:
    return rule.label or rule.text, round(rule.weight, 3), rule.support, round(rule.confidence, 3)


def _fact(fact: NewFact) -> tuple[Any, ...]:
    return *(fact.shown(name) for name in ("head", "relation", "tail")), round(fact.probability, 3)


def _changed_rules(changes: Changes[RuleInfo]) -> list[tuple[Any, ...]]:
    pairs = sorted(changes.changed, key=lambda pair: -abs(pair[0].weight - pair[1].weight))
    rows = [(_rule(a), _rule(b)) for a, b in pairs]
    return [(a[0], a[1], b[1], a[2], b[2], a[3], b[3]) for a, b in rows]


def _changed_facts(changes: Changes[NewFact]) -> list[tuple[Any, ...]]:
    pairs = sorted(changes.changed, key=lambda pair: -abs(pair[0].probability - pair[1].probability))
    return [(*_fact(a), _fact(b)[-1]) for a, b in pairs]
