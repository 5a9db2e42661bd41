"""Rules that say the same in other words: they predict the same pairs, or nearly the same.

Uncle by brother and father, or by nephew and back: two bodies that join the same entities of a graph. This is
meant for the rules that are shown together, not for hundreds of thousands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.grounding.ground import Grounder
from rnnlogic.rules.ruleset import RuleSet

OVERLAP = 0.9  # pairs that both predict / pairs that either does
HEADS = 2000  # x that are looked at, a random sample where there are more
SEED = 0


def groups_of_same(
    graph: Graph,
    rules: RuleSet,
    overlap: float = OVERLAP,
    most_heads: int = HEADS,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """For each rule [n] the first rule in the list that says the same; a rule that is new stands for itself.

    Two rules say the same if they have the same head relation and the pairs that they predict overlap so far.
    Rules that predict nothing are all different.
    """
    pairs = predicted_pairs(graph, rules, most_heads, threads)
    first = np.arange(len(rules))
    leaders: dict[int, list[int]] = {}
    for i, head in enumerate(rules.heads.tolist()):
        known = leaders.setdefault(head, [])
        alike = [leader for leader in known if _overlap(pairs[leader], pairs[i]) >= overlap]
        if alike:
            first[i] = alike[0]
        else:
            known.append(i)
    return first


def predicted_pairs(
    graph: Graph, rules: RuleSet, most_heads: int = HEADS, threads: int | None = None
) -> list[NDArray[np.int64]]:
    """The pairs x * E + y that each rule predicts, ascending; of a sample of x where there are many."""
    heads = np.arange(graph.num_entities)
    if len(heads) > most_heads:
        heads = np.sort(np.random.default_rng(SEED).permutation(len(heads))[:most_heads])
    found: list[list[NDArray[np.int64]]] = [[] for _ in range(len(rules))]
    grounder = Grounder(graph, rules, threads)
    for relation in rules.head_relations().tolist():
        for part in grounder.ground(heads, relation):
            columns = part.columns()
            key = heads[columns.query] * graph.num_entities + columns.entity
            order = np.argsort(columns.rule, kind="stable")
            rule, starts = np.unique(columns.rule[order], return_index=True)
            for i, keys in zip(rule.tolist(), np.split(key[order], starts[1:]), strict=False):
                found[i].append(keys)
    return [np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64) for parts in found]


def _overlap(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    either = len(one) + len(other) - both
    return both / either if either else 0.0
