"""What falls if facts go: accepted facts and proposals that lose support, and the reason they lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlogic.calibrate.level import Level
from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.reason import Reasons
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import named_facts
from rnnlogic.explain.records import Records
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import format_rule

LEAST_CHANCE = 0.05  # a smaller loss of probability is not told, unless a threshold is crossed
Named = tuple[str, str, str]
About = tuple[tuple[Graph, Graph], Vocab, AnswerScorer, Level]  # known facts before and after


@dataclass(frozen=True)
class Fallen:
    """An accepted fact or a proposal that is less probable without some facts."""

    head: str
    relation: str
    tail: str
    is_accepted: bool
    before: float  # probability
    after: float
    reason: str | None  # the rule that is its reason before
    lost: tuple[Named, ...]  # facts of that reason that go
    instead: str | None  # the rule that is its reason after; None if no rule reaches it

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"lost": [list(fact) for fact in self.lost]}


def what_falls(
    about: About,
    accepted: Iterable[Named],
    proposals: Sequence[NewFact],
    gone: frozenset[Named],
    threshold: float | None,
    records: Records,
) -> list[Fallen]:
    """Facts that fall below the threshold, or by LEAST_CHANCE without one; the greatest loss first.

    Accepted facts are hidden while they are asked for, so their probability is that of their support.
    """
    (graph, less), vocab, scorer, level = about
    wanted = {fact: True for fact in accepted if fact not in gone and _is_named(fact, vocab)}
    wanted |= {(one.head, one.relation, one.tail): False for one in proposals}
    if not wanted:
        return []
    ids = [(vocab.entity_id(h), vocab.relations.index(r), vocab.entity_id(t)) for h, r, t in wanted]
    before, after = (level.probabilities(one, scorer, np.array(ids)) for one in (graph, less))
    reasons = [Reasons(one, vocab, scorer.apart(), records) for one in (graph, less)]
    found = []
    for i, (fact, is_accepted) in enumerate(wanted.items()):
        is_low = after[i] < threshold <= before[i] if threshold is not None else False
        if is_low or (threshold is None and before[i] - after[i] >= LEAST_CHANCE):
            (rule, path), (instead, _) = (one.of(ids[i]) for one in reasons)
            facts = () if path is None else named_facts(path, vocab)
            lost = tuple(one for one in facts if one in gone)
            texts = [None if one is None else format_rule(one, vocab) for one in (rule, instead)]
            chances = float(before[i]), float(after[i])
            found.append(Fallen(*fact, is_accepted, *chances, texts[0], lost, texts[1]))
    return sorted(found, key=lambda one: one.after - one.before)


def _is_named(fact: Named, vocab: Vocab) -> bool:
    return fact[1] in vocab.relations and vocab.has_entity(fact[0]) and vocab.has_entity(fact[2])
