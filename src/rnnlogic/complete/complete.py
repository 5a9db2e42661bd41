"""The most probable missing facts of a graph: all questions are asked, and a bounded number of facts kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Progress
from rnnlogic.calibrate.level import Level, asked_direction
from rnnlogic.calibrate.standing import new_answers, straight
from rnnlogic.complete.possible import PossibleFacts
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.explain import named_facts
from rnnlogic.features.chains.paths import Fact, Path, paths
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import Rule, format_rule, mirrored

SPARE = 4  # facts that get a second look for each one wanted
LEAST_SPARE = 2000
BLOCK = 1024  # questions of a unit of work
SMALL_BLOCK = 512  # with a budget
QUESTIONS, SECOND = 0.5, 0.6  # shares of a budget; reasons take the rest


@dataclass(frozen=True)
class NewFact:
    """A missing fact, how probable it is, and the strongest reason for it."""

    head: str
    relation: str
    tail: str
    probability: float
    rule: str | None  # the rule that adds most to its score; None if only an embedding speaks for it
    path: str | None  # one walk of that rule from head to tail
    facts: tuple[tuple[str, str, str], ...]  # the facts of that walk
    labels: Mapping[str, str] = field(default_factory=dict)  # what people see of head, ..., path, if labelled

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
        }
        return values | ({"labels": dict(self.labels)} if self.labels else {})

    def shown(self, name: str) -> str | None:
        """Head, relation, tail, rule or path as people see it."""
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
    for done, i in enumerate(best.tolist(), 1):
        if budget.is_over:
            budget.cut("reasons", f"{done - 1:,} of the {len(best):,} facts found are given")
            return
        head, relation, tail = facts[i].tolist()
        rule, path = strongest_reason(graph, scorer, head, relation, tail)
        progress("reasons", done, len(best), "")
        yield _named(vocab, (head, relation, tail), float(probability[i]), rule, path)


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
    facts = chosen.facts()
    if budget.is_limited:
        return _looked_twice(graph, scorer, level, facts, progress, budget.share(SECOND))
    probability = np.zeros(len(facts))
    present = np.unique(facts[:, 1])
    for done, relation in enumerate(present.tolist(), 1):
        rows = facts[:, 1] == relation
        probability[rows] = level.probabilities(graph, scorer, facts[rows])
        progress("second look", done, len(present), "")
    return facts, probability


def _looked_twice(
    graph: Graph, scorer: AnswerScorer, level: Level, facts: Triples, progress: Progress, budget: Budget
) -> tuple[Triples, NDArray[np.float64]]:
    """Of facts [n, 3], best first, those that there is time for, and their probabilities."""
    blocks = np.split(facts, range(SMALL_BLOCK, len(facts), SMALL_BLOCK))
    looks = (level.probabilities(graph, scorer, block) for block in blocks)
    found: list[NDArray[np.float64]] = []
    for probability in budget.timely(looks):
        found.append(probability)
        progress("second look", len(found), len(blocks), "")
    done = sum(map(len, found))
    if done < len(facts):
        budget.cut("second look", f"at {done:,} of {len(facts):,} facts")
    return facts[:done], np.concatenate([np.zeros(0), *found])


def strongest_reason(
    graph: Graph, scorer: AnswerScorer, head: int, relation: int, tail: int
) -> tuple[Rule | None, Path | None]:
    """The rule that adds most to relation(head, tail), with one walk of it.

    Rules of the inverse relation, where only they reach it, are turned round.
    """
    asked = asked_direction(scorer.rules, relation, graph.num_relations)
    for question in (asked, graph.inverse(asked)):
        ends = (head, tail) if question < graph.num_relations else (tail, head)
        parts = scorer.contributions(graph, ends[0], question, ends[1])
        is_chain = ~scorer.rules.are_features[parts.rule]
        if is_chain.any():
            best = np.argmax(np.where(is_chain, parts.values, -np.inf))
            rule = scorer.rules[int(parts.rule[best])]
            if question >= graph.num_relations:
                rule = mirrored(rule, graph.num_relations)
            return rule, paths(graph, head, rule, tail, limit=1).paths[0]
    return None, None


class Shortlist:
    """The facts of the highest values so far; holds at most twice as many as asked for."""

    def __init__(self, size: int) -> None:
        self._size, self._held, self._least = size, 0, -np.inf
        self._parts: list[tuple[NDArray[np.float64], Triples]] = []

    def add(self, values: NDArray[np.float64], facts: Triples) -> None:
        """Offer facts [n, 3] with their values [n]; of equal ones the first stay."""
        kept = values > self._least
        self._parts.append((values[kept], facts[kept]))
        self._held += int(kept.sum())
        if self._held > 2 * self._size:
            self._cut()

    def facts(self) -> Triples:
        """The facts [n, 3], best first."""
        return self.best()[1]

    def best(self) -> tuple[NDArray[np.float64], Triples]:
        """Values [n] and facts [n, 3], best first."""
        self._cut()
        return self._parts[0]

    def _cut(self) -> None:
        none = (np.empty(0), np.empty((0, 3), np.int32))
        values, facts = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        best = np.argsort(-values, kind="stable")[: self._size]
        self._parts, self._held = [(values[best], facts[best])], len(best)
        if len(best) == self._size:
            self._least = float(values[best[-1]])


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
    for (_, heads), (values, facts, left_out) in zip(blocks, budget.timely(found), strict=False):
        chosen.add(values, facts)
        if shared.possible is not None:
            shared.possible.left_out += left_out
        done += len(heads)
        progress("questions", done, total, "")
    if done < total:
        budget.cut("complete", f"asked {done:,} of {total:,} questions, entities with most facts first")


def _propose(shared: _Shared, block: Block) -> tuple[NDArray[np.float64], Triples, int]:
    """The best of what is new in a block: values and facts, and how many were not possible."""
    graph, (relation, heads) = shared.graph, block
    asked = asked_direction(shared.scorer.rules, relation, graph.num_relations)
    chosen, left_out = Shortlist(shared.number), 0
    for found in new_answers(graph, shared.scorer, heads, asked):
        values = shared.level.one_way.logits(found.features(), asked)
        columns = (heads[found.question], np.full(len(found), asked), found.entity)
        facts = straight(np.stack(columns, axis=1), graph.num_relations)
        if shared.possible is not None:
            kept = shared.possible.keeps(facts)
            left_out += int((~kept).sum())
            values, facts = values[kept], facts[kept]
        chosen.add(values, facts)
    return *chosen.best(), left_out
