"""Pairs that a rule predicts rightly and wrongly, to be looked at."""

from __future__ import annotations

from typing import NamedTuple

from rnnlogic.data.graph import Graph
from rnnlogic.features.chains.paths import Path, paths
from rnnlogic.features.ground import Grounder
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Feature, Rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.figures import random_blocks

LOOKED_AT = 20_000  # predictions at most
FIRST = 64  # entities to begin with


class Examples(NamedTuple):
    """One walk for each of some pairs (X, Y) that the body of a rule joins."""

    right: list[Path]  # pairs that are facts of the head
    wrong: list[Path]  # pairs that are not among the known facts: wrong, or unknown so far


def rule_examples(
    graph: Graph, known: Graph, rule: Rule, most: int = 5, seed: int = 0, among: RuleSet | None = None
) -> Examples:
    """Up to `most` examples of each kind from random entities X; one for each X, as far as possible.

    Walks are those of `graph`; whether a pair is a fact is looked up in `known`. A feature speaks about the
    answers that the rules `among` reach, and has no walks.
    """
    right: list[tuple[int, int]] = []
    wrong: list[tuple[int, int]] = []
    looked, place = 0, 0
    rules = RuleSet.from_rules([rule])
    if isinstance(rule, Feature) and among is not None:
        own = among.by_head(rule.head)
        rules, place = among[own], [among[int(i)] for i in own].index(rule)
    grounder = Grounder(graph, rules, threads=1)
    for starts in random_blocks(graph.num_entities, FIRST, seed):
        for part in grounder.ground(starts, rule.head):
            rows = part.columns()
            is_own = rows.rule == place
            x = starts[rows.query[is_own]]
            for pair in zip(x.tolist(), rows.entity[is_own].tolist(), strict=True):
                found = right if known.has(pair[0], rule.head, pair[1]) else wrong
                found.append(pair)
            looked += len(part.entity)
        if looked >= LOOKED_AT or min(len({x for x, _ in found}) for found in (right, wrong)) >= most:
            break
    return Examples(*(_walks(graph, rule, found, most) for found in (right, wrong)))


def _walks(graph: Graph, rule: Rule, pairs: list[tuple[int, int]], most: int) -> list[Path]:
    first: dict[int, tuple[int, int]] = {}
    for x, y in pairs:
        first.setdefault(x, (x, y))
    chosen = list(dict.fromkeys([*first.values(), *pairs]))[:most]
    if isinstance(rule, Feature | Condition):
        return [Path(pair, ()) for pair in chosen]
    return [paths(graph, x, rule, y, limit=1).paths[0] for x, y in chosen]
