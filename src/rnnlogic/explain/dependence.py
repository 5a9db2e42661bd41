"""What an answer depends on: few facts without which it is no longer first, found greedily and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.ideas import Question
from rnnlogic.explain.parts import shares
from rnnlogic.explain.reasons import Rank
from rnnlogic.explain.scores import all_scores, as_fact, rank_of, without
from rnnlogic.explain.walks import facts_of
from rnnlogic.features.chains.paths import Fact, Path, first_paths
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import Feature, Rule

MOST_FACTS = 8
RULES, PATHS = 10, 10  # facts are looked for on so many paths of the strongest rules
PACE = 0.5  # of the lead that an even pace would have cost: with less, the search gives up half-way
ENOUGH = 1.2  # of the lead that facts must cost by estimate before the question is scored without them


@dataclass(frozen=True)
class Dependence:
    """The smallest set of facts found without which the answer is no longer alone in the first place."""

    facts: tuple[Fact, ...]  # empty if none was found within the limits of the search
    rank: Rank | None  # the place of the answer without them
    is_reached: bool = True  # whether a rule still reaches it

    def text(self) -> str:
        """For people: how many facts there are, and what becomes of the answer without them."""
        if self.rank is None:
            return f"No set of up to {MOST_FACTS} facts was found without which it would not be first."
        number, them = ("1 fact", "it") if len(self.facts) == 1 else (f"{len(self.facts)} facts", "them")
        place = f"it drops to rank {self.rank.text()}" if self.is_reached else "no rule reaches it"
        return f"This answer depends on {number}. Without {them} {place}."

    def as_dict(self, vocab: Vocab) -> dict[str, Any]:
        """Plain values for JSON."""
        entity, relation = vocab.entities, vocab.relations
        return {
            "facts": [[entity[h], relation[r], entity[t]] for h, r, t in self.facts],
            "rank": None if self.rank is None else self.rank.mean,
            "is_reached": self.is_reached,
        }


class Support(NamedTuple):
    """What speaks for an answer: so much of its score rests on these paths alike."""

    value: float
    paths: tuple[frozenset[Fact], ...]


class Case(NamedTuple):
    """The question, the facts it is asked on, and other answers that do not count."""

    graph: Graph  # without the fact itself
    vocab: Vocab
    scorer: AnswerScorer
    question: Question
    known: NDArray[np.int32]


@dataclass(frozen=True)
class _Standing:
    """The known facts without some, and where that leaves the answer."""

    removed: tuple[Fact, ...]
    graph: Graph
    rank: Rank
    lead: float  # over the best other answer

    @property
    def is_first(self) -> bool:
        return self.rank.mean == 1 and self.lead > -np.inf


def asked_without_itself(
    graph: Graph, vocab: Vocab, scorer: AnswerScorer, question: Question, known: NDArray[np.int32]
) -> Case:
    """A question on a graph from which its own fact is taken out."""
    fewer = without(graph, [as_fact(question, vocab.num_relations)])
    return Case(fewer, vocab, scorer.apart(), question, known)


def depends_on(
    case: Case,
    scores: NDArray[np.float64],
    first: Sequence[Path],
    supports: Callable[[], Sequence[Support]],
) -> Dependence | None:
    """The facts that an answer in first place depends on; None if it is not alone there.

    The first fact is one of the paths `first`, which people read as the reason; then those follow that cost
    most by estimate, until scoring without them shows that the answer has fallen. At the end every fact is
    put back that is not needed, those of the reason last.
    """
    proof = {fact for path in first for fact in facts_of(path, case.vocab)}
    start = standing = _standing(case, (), case.graph, scores)
    if not start.is_first:
        return None
    supported = list(supports())
    while standing.is_first:
        facts = [] if _is_hopeless(start, standing) else _next(supported, standing, proof)
        if not facts:
            return Dependence((), None)
        standing = _scored(case, (*standing.removed, *facts))
        if standing.is_first:
            supported = list(supports_of(case, standing.graph))
    standing = _smaller(case, standing, proof)
    return Dependence(standing.removed, standing.rank, standing.lead > -np.inf)


def _is_hopeless(start: _Standing, now: _Standing) -> bool:
    """Whether the search has used up its facts, or gets on too slowly to end in time."""
    number = len(now.removed)
    is_slow = start.lead - now.lead < PACE * start.lead * number / MOST_FACTS
    return number >= MOST_FACTS or (number >= MOST_FACTS // 2 and is_slow)


def _next(supports: Sequence[Support], standing: _Standing, proof: set[Fact]) -> list[Fact]:
    """Facts that together cost the lead by estimate, the dearest first, but one of the proof before all."""
    found = list[Fact]()
    every = sorted({fact for one in supports for path in one.paths for fact in path})
    if not every:
        return found
    with_fact = _paths_with(supports, every)
    gone, in_proof = np.zeros(len(with_fact), bool), np.array([fact in proof for fact in every])
    is_left = np.ones(len(every), bool)
    while len(standing.removed) + len(found) < MOST_FACTS:
        before = float(_lost(supports, gone[:, None])[0])
        if found and before > ENOUGH * standing.lead:
            break
        is_begun = not proof.isdisjoint({*standing.removed, *found})
        left = np.flatnonzero(is_left & (in_proof | is_begun))
        left = left if len(left) else np.flatnonzero(is_left)
        costs = _lost(supports, gone[:, None] | with_fact[:, left]) - before
        if not len(costs) or costs.max() <= 0:
            break
        best = int(left[np.argmax(costs)])
        found.append(every[best])
        is_left[best] = False
        gone |= with_fact[:, best]
    return found


def _paths_with(supports: Sequence[Support], facts: Sequence[Fact]) -> NDArray[np.bool_]:
    """Which of all paths [p], support by support, hold which facts [p, f]."""
    place = {fact: i for i, fact in enumerate(facts)}
    paths = [path for one in supports for path in one.paths]
    found = np.zeros((len(paths), len(facts)), bool)
    for row, path in zip(found, paths, strict=True):
        row[[place[fact] for fact in path]] = True
    return found


def _lost(supports: Sequence[Support], gone: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What all supports add no longer, by estimate, if these of their paths are gone [p, cases]."""
    sizes = [len(one.paths) for one in supports]
    parts = np.split(gone, np.cumsum(sizes)[:-1])
    values = [
        one.value * part.sum(axis=0) / max(len(part), 1) for one, part in zip(supports, parts, strict=True)
    ]
    return np.asarray(
        np.cumsum(values, axis=0)[-1]
    )  # one after another: each case has the sum that it had alone


def _scored(case: Case, removed: tuple[Fact, ...]) -> _Standing:
    """Where the answer stands without some facts."""
    graph = without(case.graph, removed)
    return _standing(case, removed, graph, all_scores(graph, case.scorer, case.question))


def _standing(case: Case, removed: tuple[Fact, ...], graph: Graph, scores: NDArray[np.float64]) -> _Standing:
    tail = case.question.tail
    rivals = np.delete(scores, np.append(case.known, tail)).max(initial=-np.inf)
    lead = -np.inf if scores[tail] == -np.inf else float(scores[tail] - rivals)
    return _Standing(removed, graph, rank_of(scores, tail, case.known), lead)


def supports_of(case: Case, graph: Graph) -> Iterator[Support]:
    """What speaks for the answer on some facts: the paths of its strongest rules."""
    head, relation, tail = case.question
    parts = case.scorer.contributions(graph, head, relation, tail)
    found = [
        (one.rule, one.value)
        for one in shares(graph, case.scorer.rules, parts, case.question, is_hidden=False)
    ]
    yield from supports_by_rule(found, case.vocab, lambda rule: first_paths(graph, head, rule, tail, PATHS))


def supports_by_rule(
    values: Sequence[tuple[Rule, float]], vocab: Vocab, find: Callable[[Rule], Sequence[Path]]
) -> Iterator[Support]:
    """The paths of the strongest rules for an answer, or against it if there are no others."""
    chains = [(rule, value) for rule, value in values if not isinstance(rule, Feature | Condition)]
    strong = [(rule, value) for rule, value in chains if value > 0] or chains
    for rule, value in strong[:RULES]:
        yield Support(abs(value), tuple(frozenset(facts_of(path, vocab)) for path in find(rule)[:PATHS]))


def _smaller(case: Case, standing: _Standing, proof: set[Fact]) -> _Standing:
    """The same without the facts that turn out not to be needed."""
    if len(standing.removed) == 1:
        return standing
    for fact in sorted(standing.removed, key=lambda fact: fact in proof):
        fewer = _scored(case, tuple(other for other in standing.removed if other != fact))
        standing = standing if fewer.is_first else fewer
    return standing
