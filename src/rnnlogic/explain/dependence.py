"""Critical facts: few facts without which an answer loses the first place, and its first reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import Question, Rank, all_scores, as_fact, facts_of, rank_of, without
from rnnlogic.explain.reasons import shares
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
    """The smallest set of facts found without which the answer loses the first place and its first reason."""

    facts: tuple[Fact, ...]  # empty if none was found within the limits of the search
    rank: Rank | None  # the place of the answer without them
    is_reached: bool = True  # whether a rule still reaches it

    def text(self) -> str:
        """For people: how many facts there are, and what becomes of the answer without them."""
        if self.rank is None:
            return f"No set of up to {MOST_FACTS} facts was found whose removal takes the first place away."
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

    def lost(self, removed: set[Fact]) -> float:
        """What it adds no longer without some facts, by estimate."""
        gone = sum(not removed.isdisjoint(path) for path in self.paths)
        return self.value * gone / max(len(self.paths), 1)


class _Standing(NamedTuple):
    """The known facts without some, and where that leaves the answer."""

    removed: tuple[Fact, ...]
    graph: Graph
    rank: Rank
    lead: float  # over the best other answer

    @property
    def is_first(self) -> bool:
        return self.rank.mean == 1 and self.lead > -np.inf


class Case(NamedTuple):
    """The question, the facts it is asked on, what its first reason rests on, and what is no rival."""

    graph: Graph  # without the fact itself
    vocab: Vocab
    scorer: AnswerScorer
    question: Question
    known: NDArray[np.int32]  # other answers that do not count
    proof: frozenset[Fact]  # facts of the first reason; empty if it has none

    @staticmethod
    def of(
        graph: Graph,
        vocab: Vocab,
        scorer: AnswerScorer,
        question: Question,
        known: NDArray[np.int32],
        first: Path | None,
    ) -> Case:
        """A question on a graph from which its own fact is taken out, and the path of its first reason."""
        fewer = without(graph, [as_fact(question, vocab.num_relations)])
        proof = frozenset() if first is None else frozenset(facts_of(first, vocab))
        return Case(fewer, vocab, scorer.apart(), question, known, proof)

    def standing(self, removed: tuple[Fact, ...], scores: NDArray[np.float64] | None = None) -> _Standing:
        """Where the answer stands without some facts; its scores may be known."""
        graph, tail = without(self.graph, removed), self.question.tail
        scores = all_scores(graph, self.scorer, self.question) if scores is None else scores
        rivals = np.delete(scores, np.append(self.known, tail)).max(initial=-np.inf)
        lead = -np.inf if scores[tail] == -np.inf else float(scores[tail] - rivals)
        return _Standing(removed, graph, rank_of(scores, tail, self.known), lead)

    def breaks(self, removed: Sequence[Fact]) -> bool:
        """Whether the first reason does not hold without some facts."""
        return not self.proof or not self.proof.isdisjoint(removed)

    def supports(self, graph: Graph) -> Iterator[Support]:
        """What speaks for the answer on some facts: the paths of its strongest rules."""
        head, relation, tail = self.question
        parts = self.scorer.contributions(graph, head, relation, tail)
        every = shares(graph, self.scorer.rules, parts, self.question, is_hidden=False)
        values = [(one.rule, one.value) for one in every]
        return supports_by_rule(values, self.vocab, lambda rule: first_paths(graph, head, rule, tail, PATHS))


def depends_on(
    case: Case, scores: NDArray[np.float64], supports: Callable[[], Sequence[Support]]
) -> Dependence | None:
    """The facts that an answer in first place depends on; None if it is not alone there.

    The facts of the first reason are tried first, one by one. If none is enough, the search begins with the
    one that costs most; then those follow that cost most by estimate, until scoring without them shows that
    the answer has fallen. At the end every fact is put back that is not needed.
    """
    start = case.standing((), scores)
    if not start.is_first:
        return None
    supported, tried = list(supports()), list[_Standing]()
    for fact in sorted(case.proof, key=lambda fact: (-sum(one.lost({fact}) for one in supported), fact)):
        tried.append(case.standing((fact,)))
        if not tried[-1].is_first:
            break
    standing = min(tried, key=lambda one: (one.is_first, one.lead), default=start)
    if tried and standing.is_first:
        supported = list(case.supports(standing.graph))
    while standing.is_first:
        facts = [] if _is_hopeless(start, standing) else _next(supported, standing)
        if not facts:
            return Dependence((), None)
        standing = case.standing((*standing.removed, *facts))
        supported = list(case.supports(standing.graph)) if standing.is_first else []
    standing = _smaller(case, standing)
    return Dependence(standing.removed, standing.rank, standing.lead > -np.inf)


def _is_hopeless(start: _Standing, now: _Standing) -> bool:
    """Whether the search has used up its facts, or gets on too slowly to end in time."""
    number = len(now.removed)
    is_slow = start.lead - now.lead < PACE * start.lead * number / MOST_FACTS
    return number >= MOST_FACTS or (number >= MOST_FACTS // 2 and is_slow)


def _next(supports: Sequence[Support], standing: _Standing) -> list[Fact]:
    """Facts that together cost the lead by estimate, those that cost most first."""
    found, every = list[Fact](), sorted({fact for one in supports for path in one.paths for fact in path})
    with_fact = _paths_with(supports, every)
    gone, is_left = np.zeros(len(with_fact), bool), np.ones(len(every), bool)
    while is_left.any() and len(standing.removed) + len(found) < MOST_FACTS:
        before = float(_lost(supports, gone[:, None])[0])
        if found and before > ENOUGH * standing.lead:
            break
        left = np.flatnonzero(is_left)
        costs = _lost(supports, gone[:, None] | with_fact[:, left]) - before
        if costs.max() <= 0:
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
    parts = np.split(gone, np.cumsum([len(one.paths) for one in supports])[:-1])
    found = np.zeros(gone.shape[1])
    for one, part in zip(supports, parts, strict=True):
        found += one.value * part.sum(axis=0) / max(len(part), 1)
    return found


def supports_by_rule(
    values: Sequence[tuple[Rule, float]], vocab: Vocab, find: Callable[[Rule], Sequence[Path]]
) -> Iterator[Support]:
    """The paths of the strongest rules for an answer, or against it if there are no others."""
    chains = [(rule, value) for rule, value in values if not isinstance(rule, Feature | Condition)]
    strong = [(rule, value) for rule, value in chains if value > 0] or chains
    for rule, value in strong[:RULES]:
        yield Support(abs(value), tuple(frozenset(facts_of(path, vocab)) for path in find(rule)[:PATHS]))


def _smaller(case: Case, standing: _Standing) -> _Standing:
    """The same without the facts that turn out not to be needed, those of the first reason last."""
    if len(standing.removed) == 1:
        return standing
    for fact in sorted(standing.removed, key=lambda fact: fact in case.proof):
        left = tuple(other for other in standing.removed if other != fact)
        if case.breaks(left) and not (fewer := case.standing(left)).is_first:
            standing = fewer
    return standing
