"""Explains answers on known facts: the score of one, what each rule adds to it, and the paths behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rnnlogic.constraints.constraints import Constraints
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.answers import POOL, best_by_score
from rnnlogic.explain.dependence import Case, Dependence, depends_on, supports_by_rule
from rnnlogic.explain.explanation import Comparison, Explanation
from rnnlogic.explain.question import Asked, Question, Rank, as_fact, rank_of, share_of, without
from rnnlogic.explain.reasons import REASON_PATHS, Contribution, Idea, contributions, paths_on
from rnnlogic.explain.records import Records
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import Rule

DETAILED = 10  # rules for which paths are looked up
PER_IDEA = 2  # and as many more of each idea, so that the rules it shows rest on different facts

# That facts [n, 3] (head, relation, tail) are true, by a scorer that may know one question already.
Probability = Callable[[AnswerScorer, NDArray[np.integer]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Basis:
    """What explanations rest on: the known facts, a scorer, and what is known about its rules."""

    graph: Graph  # to which rules are applied
    vocab: Vocab
    scorer: AnswerScorer
    known: Graph  # facts that are no rivals of an answer
    probability: Probability | None = None  # None: not calibrated
    records: Records | None = None
    rejected: Sequence[int] = ()  # answers of the question that somebody rejected
    constraints: Constraints | None = None  # answers that break one are no rivals

    def other_answers(self, question: Question) -> NDArray[np.int32]:
        """Answers that are no rivals [n], ascending."""
        head, relation, tail = question
        known = self.known.neighbours(head, relation)
        rejected = np.array([one for one in self.rejected if one != tail], np.int32)
        if len(rejected):
            known = np.union1d(known, rejected).astype(np.int32)
        if self.constraints is not None:
            every = np.arange(self.graph.num_entities)
            broken = np.flatnonzero(~self.constraints.allowed(head, relation, every))
            known = np.union1d(known, broken[broken != tail]).astype(np.int32)
        return known

    def on_whole_graph(self) -> Probability | None:
        """Probabilities of facts where this scorer sees them, whichever facts another one lacks."""
        find, scorer = self.probability, self.scorer
        return None if find is None else lambda _, facts: find(scorer, facts)


def explain_on(
    basis: Basis, question: Question, limit: int = 3, detailed: int | None = DETAILED
) -> Explanation:
    """Explain an answer.

    If the fact itself is known it is hidden in both directions, as in training. The `detailed` strongest
    rules, and the strongest of each idea, come with up to `limit` paths each; None: all do.
    """
    told = _explain(basis, question)
    return _with_paths(told, basis.graph, _detailed(told.contributions, told.ideas, detailed), limit)


def compare_on(
    basis: Basis, question: Question, instead: int, limit: int = 3, detailed: int | None = DETAILED
) -> Comparison:
    """Explain why one answer has another score than the other one.

    Both are scored on the same facts: if they are known, both are taken out.
    """
    graph, asked = basis.graph, [question, question._replace(tail=instead)]
    fewer = without(graph, [as_fact(one, graph.num_relations) for one in asked])
    scorer = basis.scorer if fewer is graph else basis.scorer.apart()
    reduced = replace(basis, graph=fewer, scorer=scorer, probability=basis.on_whole_graph())
    told = [_explain(reduced, one) for one in asked]
    found = Comparison(told[0], told[1])
    strongest = sorted(
        (rule for idea in found.ideas for rule in idea.rules), key=lambda rule: -abs(rule.contribution)
    )
    shown = _detailed(strongest, found.ideas, detailed)
    first, second = (_with_paths(one, fewer, shown, limit) for one in told)
    hidden = [graph.has(*one) for one in asked]
    return Comparison(replace(first, is_known=hidden[0]), replace(second, is_known=hidden[1]))


def _explain(basis: Basis, question: Question) -> Explanation:
    """An explanation without paths."""
    graph, vocab = basis.graph, basis.vocab
    head, relation, tail = question
    asked = Asked(basis.scorer, graph, question)
    scores, parts = asked.scores, asked.parts
    others = basis.other_answers(question)
    rank, chance = _place(basis, asked, scores, others)
    find = cache(paths_on(graph, question))

    def dependence(told: Explanation) -> Dependence | None:
        first = told.reasons[0].path if told.reasons else None
        case = Case.of(graph, vocab, basis.scorer, question, others, first)
        values = [(one.chain, one.contribution) for one in told.contributions]
        return depends_on(case, scores, lambda: [*supports_by_rule(values, vocab, find)])

    return Explanation(
        vocab,
        head,
        relation,
        tail,
        float(scores[tail]),
        share_of(scores, tail, graph.neighbours(head, relation)),
        rank,
        rank_of(scores, tail, np.empty(0, np.int32)),
        asked.is_known,
        contributions(graph, vocab, basis.scorer, parts, question, basis.records),
        parts.rest,
        parts.kind,
        chance,
        best_other=float(np.delete(scores, np.append(others, tail)).max(initial=-np.inf)),
        find_dependence=dependence,
        find_paths=find,
        records=basis.records,
        broken="" if basis.constraints is None else basis.constraints.reason(*question),
        doubt="" if basis.constraints is None else basis.constraints.doubt(*question),
    )


def _place(
    basis: Basis, asked: Asked, scores: NDArray[np.float64], others: NDArray[np.int32]
) -> tuple[Rank, float | None]:
    """The place of the answer in the list that `best_answers` gives, and its probability."""
    head, relation, tail = asked.question
    rank = rank_of(scores, tail, others)
    if basis.probability is None:
        return rank, None
    entity = np.setdiff1d(np.flatnonzero(scores > -np.inf), others[others != tail])
    pool = entity[best_by_score(scores[entity], entity, POOL)]
    if tail not in pool:
        return rank, float(basis.probability(asked, np.array([[head, relation, tail]]))[0])
    facts = np.stack([np.full_like(pool, head), np.full_like(pool, relation), pool], axis=1)
    chance = basis.probability(asked, facts)
    own, score = chance[pool == tail][0], scores[pool]
    is_better = (chance > own) | ((chance == own) & (score > scores[tail]))
    is_tied = (chance == own) & (score == scores[tail])
    return Rank(int(is_better.sum()), int(is_tied.sum()), rank.candidates), float(own)


def _detailed(strongest: Sequence[Contribution], ideas: Sequence[Idea], detailed: int | None) -> set[Rule]:
    """The rules that get paths: the strongest of all, and the strongest of each idea."""
    first = None if detailed is None else min(detailed, PER_IDEA)
    of_ideas = (rule for idea in ideas for rule in idea.rules[:first])
    return {rule.chain for rule in (*strongest[:detailed], *of_ideas)}


def _with_paths(told: Explanation, graph: Graph, rules: set[Rule], limit: int) -> Explanation:
    """The explanation with paths for some rules."""
    find = told.find_paths if limit <= REASON_PATHS else paths_on(graph, told.question, limit)
    shown = (
        replace(one, paths=find(one.chain)[:limit]) if one.chain in rules else one
        for one in told.contributions
    )
    return replace(told, contributions=tuple(shown))
