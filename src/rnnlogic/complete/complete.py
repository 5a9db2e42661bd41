"""The most probable missing facts of a graph: all questions are asked, and a bounded number of facts kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Progress
from rnnlogic.calibrate.level import Level, asked_direction
from rnnlogic.calibrate.proposals import (
    FEATURES,
    Standing,
    new_answers,
    one_way,
    straight,
    together,
    turned,
)
from rnnlogic.calibrate.proposals import chosen as chosen_of
from rnnlogic.complete.possible import PossibleFacts
from rnnlogic.complete.reason import Found, Reasons
from rnnlogic.constraints.constraints import Codes
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import facts_of, named_facts
from rnnlogic.explain.records import Records
from rnnlogic.features.chains.paths import Fact, Path
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import Rule, format_rule

SPARE = 4  # facts that get a second look for each one wanted
LEAST_SPARE = 2000
BLOCK = 1024  # questions of a unit of work
TOGETHER = 1000  # facts for which reasons are looked up together, question by question
SMALL_BLOCK = 512  # with a budget
QUESTIONS, SECOND = 0.5, 0.6  # shares of a budget; reasons take the rest


@dataclass(frozen=True)
class NewFact:
    """A missing fact, how probable it is, and the first reason for it.

    Attributes:
        head: Where the fact begins.
        relation: The relation of the fact.
        tail: Where the fact ends.
        probability: The chance that it is true.
        rule: The rule that `explain` names first; None if only an embedding reaches the fact.
        path: One walk of that rule from head to tail.
        facts: The facts of that walk.
        labels: What people see of head, relation, tail, rule and path, where they have labels.
        told: The weight and the sources of each of the facts, where any has some.
    """

    head: str
    relation: str
    tail: str
    probability: float
    rule: str | None
    path: str | None
    facts: tuple[tuple[str, str, str], ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    told: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "probability": self.probability,
            "rule": self.rule,
            "path": self.path,
            "facts": [list(fact) for fact in self.facts],
        } | ({"told": [dict(one) for one in self.told]} if self.told else {})
        return values | ({"labels": dict(self.labels)} if self.labels else {})

    def shown(self, name: str) -> str | None:
        """A part of it as people see it.

        Args:
            name: One of head, relation, tail, rule and path.

        Returns:
            Its label, or its name if it has none.
        """
        text: str | None = getattr(self, name)
        return self.labels.get(name, text)


def complete(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    level: Level,
    relations: Sequence[int],
    min_probability: float,
    most: int,
    progress: Progress,
    possible: PossibleFacts | None = None,
    budget: Budget = UNLIMITED,
    records: Records | None = None,
) -> Iterator[NewFact]:
    """The `most` most probable facts of some relations (< R) that are not in the graph, best first.

    Facts are proposed by the rules of their relation (by those of its inverse if it has none). The best by
    this question alone, SPARE times as many as wanted, are then asked for the other way round too, and ranked
    by the probability that follows from both. Facts that are not possible are never proposed. With a budget,
    entities with most facts are asked about first, and facts without a reason in time are not given.
    """
    number = max(SPARE * most, LEAST_SPARE)
    facts, probability = proposed_facts(graph, scorer, level, relations, number, progress, possible, budget)
    best = np.lexsort((facts[:, 2], facts[:, 0], facts[:, 1], -probability))
    best = best[probability[best] >= min_probability][:most]
    reasons, done = Reasons(graph, vocab, scorer, records or Records(graph, scorer.rules)), 0
    for block in np.split(best, range(TOGETHER, len(best), TOGETHER)):
        rows = [(head, relation, tail) for head, relation, tail in facts[block].tolist()]
        found: dict[Fact, Found] = {}
        if not budget.is_limited:
            found = reasons.of_many(rows, partial(progress, "reasons"))
        for fact, chance in zip(rows, probability[block].tolist(), strict=True):
            if budget.is_over:
                budget.cut("reasons", f"{done:,} of the {len(best):,} facts found are given")
                return
            rule, path = found[fact] if fact in found else reasons.of(fact)
            done += 1
            progress("reasons", done, len(best), "")
            yield _named(vocab, fact, chance, rule, path)


def _named(vocab: Vocab, fact: Fact, probability: float, rule: Rule | None, path: Path | None) -> NewFact:
    head, relation, tail = fact
    found = NewFact(
        vocab.entities[head],
        vocab.relations[relation],
        vocab.entities[tail],
        probability,
        None if rule is None else format_rule(rule, vocab),
        None if path is None else path.text(vocab, labels=False),
        () if path is None else tuple(named_facts(path, vocab)),
        told=()
        if path is None or vocab.notes is None
        else tuple(map(vocab.notes.as_dict, facts_of(path, vocab))),
    )
    shown = {
        "head": vocab.entity_label(head),
        "relation": vocab.relation_label(relation),
        "tail": vocab.entity_label(tail),
        "rule": None if rule is None else format_rule(rule, vocab, labels=True),
        "path": None if path is None else path.text(vocab),
    }
    if all(getattr(found, key) == text for key, text in shown.items()):
        return found
    return replace(found, labels={key: text for key, text in shown.items() if text is not None})


def relations_named(vocab: Vocab, name: str | None) -> list[int]:
    """Ids of one relation or of all, without inverses."""
    if name is None:
        return list(range(vocab.num_relations))
    relation = vocab.relation_id(name)
    if relation >= vocab.num_relations:
        raise RNNLogicError(f"facts are written the way round that the graph has them: ask for {name[:-3]!r}")
    return [relation]


def proposed_facts(
    graph: Graph,
    scorer: AnswerScorer,
    level: Level,
    relations: Sequence[int],
    number: int,
    progress: Progress,
    possible: PossibleFacts | None = None,
    budget: Budget = UNLIMITED,
) -> tuple[Triples, NDArray[np.float64]]:
    """The `number` best new facts [n, 3] by the question that proposes them, and their probabilities [n]."""
    chosen = Shortlist(number)
    answered = set(scorer.rules.head_relations().tolist())
    wanted = [r for r in relations if asked_direction(scorer.rules, r, graph.num_relations) in answered]
    blocks = _questions(graph, wanted, budget)
    _ask(_Shared(graph, scorer, level, number, possible), blocks, chosen, progress, budget.share(QUESTIONS))
    best = chosen.best()
    if budget.is_limited:
        return _looked_twice(graph, scorer, level, best, progress, budget.share(SECOND))
    probability = np.zeros(len(best.facts))
    present = np.unique(best.facts[:, 1])
    for done, relation in enumerate(present.tolist(), 1):
        rows = best.facts[:, 1] == relation
        probability[rows] = _both_ways(graph, scorer, level, Offered(*(column[rows] for column in best)))
        progress("second look", done, len(present), "")
    return best.facts, probability


def _both_ways(graph: Graph, scorer: AnswerScorer, level: Level, offered: Offered) -> NDArray[np.float64]:
    """Probabilities [n] of new facts: their own question was asked before, so only the other one is now."""
    facts = offered.facts
    asked = np.array(
        [asked_direction(scorer.rules, r, graph.num_relations) for r in range(graph.num_relations)]
    )
    is_straight = asked[facts[:, 1]] < graph.num_relations
    own = Standing(offered.features, offered.answers)
    back = np.where(is_straight[:, None], turned(facts, graph.num_relations), facts)
    other = one_way(graph, scorer, back)
    features, ways = together(chosen_of(is_straight, own, other), chosen_of(is_straight, other, own))
    return level.of_features(features, ways, facts[:, 1])


def _looked_twice(
    graph: Graph, scorer: AnswerScorer, level: Level, best: Offered, progress: Progress, budget: Budget
) -> tuple[Triples, NDArray[np.float64]]:
    """Of facts [n, 3], best first, those that there is time for, and their probabilities."""
    starts = range(0, len(best.facts), SMALL_BLOCK)
    blocks = [best.at(slice(start, start + SMALL_BLOCK)) for start in starts]
    looks = (_both_ways(graph, scorer, level, block) for block in blocks)
    found: list[NDArray[np.float64]] = []
    for probability in budget.timely(looks):
        found.append(probability)
        progress("second look", len(found), len(blocks), "")
    done = sum(map(len, found))
    if done < len(best.facts):
        budget.cut("second look", f"at {done:,} of {len(best.facts):,} facts")
    return best.facts[:done], np.concatenate([np.zeros(0), *found])


class Offered(NamedTuple):
    """Facts as their question proposes them, and their standing among its answers."""

    value: NDArray[np.float64]  # [n] the higher, the better
    facts: Triples  # [n, 3]
    features: NDArray[np.float64]  # [n, FEATURES]
    answers: NDArray[np.int64]  # [n] new answers of the question

    def at(self, places: Any) -> Offered:
        """Those at some places: a mask, indices or a slice."""
        return Offered(self.value[places], self.facts[places], self.features[places], self.answers[places])


NOTHING = Offered(
    np.empty(0), np.empty((0, 3), np.int32), np.empty((0, len(FEATURES))), np.empty(0, np.int64)
)


class Shortlist:
    """The facts of the highest values so far; holds at most twice as many as asked for."""

    def __init__(self, size: int) -> None:
        self._size, self._held, self._least = size, 0, -np.inf
        self._parts: list[Offered] = []

    def add(self, offered: Offered) -> None:
        """Offer facts; of equal ones the first stay."""
        kept = offered.value > self._least
        self._parts.append(offered.at(kept))
        self._held += int(kept.sum())
        if self._held > 2 * self._size:
            self._cut()

    def best(self) -> Offered:
        """What is held, best first."""
        self._cut()
        return self._parts[0]

    def _cut(self) -> None:
        if not self._parts:
            self._parts = [NOTHING]
        offered = Offered(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        best = np.argsort(-offered.value, kind="stable")[: self._size]
        self._parts, self._held = [offered.at(best)], len(best)
        if len(best) == self._size:
            self._least = float(offered.value[best[-1]])


Block = tuple[int, NDArray[np.int32]]  # a relation, and heads


def _questions(graph: Graph, relations: Sequence[int], budget: Budget) -> list[Block]:
    """All heads for each relation in turn; with a budget, blocks of heads for all relations in turn."""
    if not budget.is_limited:
        blocks = np.split(
            np.arange(graph.num_entities, dtype=np.int32), range(BLOCK, graph.num_entities, BLOCK)
        )
        return [(relation, heads) for relation in relations for heads in blocks]
    degree = np.bincount(graph.arrays.tails, minlength=graph.num_entities)  # inverses included
    order = np.argsort(-degree, kind="stable").astype(np.int32)
    blocks = np.split(order, range(SMALL_BLOCK, graph.num_entities, SMALL_BLOCK))
    return [(relation, heads) for heads in blocks for relation in relations]


class _Shared(NamedTuple):
    graph: Graph
    scorer: AnswerScorer
    level: Level
    number: int  # facts that are kept in all
    possible: PossibleFacts | None


def _ask(
    shared: _Shared, blocks: Sequence[Block], chosen: Shortlist, progress: Progress, budget: Budget
) -> None:
    """Ask (head, relation, ?) and keep the best of what is new, until the time is up."""
    done, total = 0, sum(len(heads) for _, heads in blocks)
    found = map_ordered(_propose, blocks, shared, getattr(shared.scorer, "threads", None))
    for (_, heads), (offered, codes) in zip(blocks, budget.timely(found), strict=False):
        chosen.add(offered)
        if shared.possible is not None:
            shared.possible.count(codes)
        done += len(heads)
        progress("questions", done, total, "")
    if done < total:
        budget.cut("complete", f"asked {done:,} of {total:,} questions, entities with most facts first")


def _propose(shared: _Shared, block: Block) -> tuple[Offered, Codes]:
    """The best of what is new in a block, and what the others break."""
    graph, (relation, heads) = shared.graph, block
    asked = asked_direction(shared.scorer.rules, relation, graph.num_relations)
    chosen, broken = Shortlist(shared.number), [np.zeros(0, np.int8)]
    for found in new_answers(graph, shared.scorer, heads, asked):
        features = found.features()
        values = shared.level.one_way.logits(features, asked)
        columns = (heads[found.question], np.full(len(found), asked), found.entity)
        facts = straight(np.stack(columns, axis=1), graph.num_relations)
        offered = Offered(values, facts, features, found.answers)
        if shared.possible is not None:
            codes = shared.possible.codes(facts)
            broken.append(codes[codes > 0])
            offered = offered.at(codes == 0)
        chosen.add(offered)
    return chosen.best(), np.concatenate(broken)
