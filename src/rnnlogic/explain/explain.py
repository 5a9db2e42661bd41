"""Why an answer has its score: ideas, the contribution of each rule, and the concrete paths behind it."""

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
from rnnlogic.explain.asked import Asked
from rnnlogic.explain.chosen import Reason, choose
from rnnlogic.explain.comparison import Comparison
from rnnlogic.explain.dependence import Dependence, asked_without_itself, depends_on, supports_by_rule
from rnnlogic.explain.explanation import Explanation
from rnnlogic.explain.ideas import Question
from rnnlogic.explain.parts import Share, shares
from rnnlogic.explain.reasons import Contribution, Idea, Rank, Record
from rnnlogic.explain.records import Records, without_one
from rnnlogic.explain.scores import as_fact, rank_of, share_of, without
from rnnlogic.explain.walks import facts_of, labelled_facts, named_facts, shown_paths
from rnnlogic.features.chains.paths import Path
from rnnlogic.predictors.base import AnswerScorer, Contributions
from rnnlogic.rules.rule import Feature, Rule, format_rule

__all__ = [
    "DETAILED",
    "Basis",
    "Comparison",
    "Contribution",
    "Explanation",
    "Idea",
    "Probability",
    "Rank",
    "compare_on",
    "explain_on",
    "facts_of",
    "labelled_facts",
    "named_facts",
]

DETAILED = 10  # rules for which paths are looked up
REASON_PATHS = 8  # of a rule, among which one is looked for that rests on facts of its own
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
    scores, parts, is_known = asked.scores, asked.parts, asked.is_known
    others = basis.other_answers(question)
    rank, chance = _place(basis, asked, scores, others)
    hidden = as_fact(question, graph.num_relations) if is_known else None
    find = cache(lambda rule: shown_paths(graph, question, rule, REASON_PATHS, hidden))

    def dependence(told: Explanation) -> Dependence | None:
        without_it = asked_without_itself(graph, vocab, basis.scorer, question, others)
        first = [one.path for one in told.reasons[:1] if one.path is not None and one.path.relations]
        values = [(one.chain, one.contribution) for one in told.contributions]
        return depends_on(without_it, scores, first, lambda: [*supports_by_rule(values, vocab, find)])

    return Explanation(
        vocab,
        head,
        relation,
        tail,
        float(scores[tail]),
        share_of(scores, tail, graph.neighbours(head, relation)),
        rank,
        rank_of(scores, tail, np.empty(0, np.int32)),
        is_known,
        _contributions(graph, vocab, basis.scorer, parts, question, is_known, basis.records),
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


def _contributions(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    parts: Contributions,
    question: Question,
    is_hidden: bool,
    records: Records | None,
) -> tuple[Contribution, ...]:
    """The parts as rules with names, the strongest first."""
    parts_of_score = shares(graph, scorer.rules, parts, question, is_hidden)
    found = []
    for one, record in zip(parts_of_score, _records(parts_of_score, records, is_hidden), strict=True):
        record = record if records is None else records.reviewed(one.rule, record)
        numbers, because = (one.weight, one.walks, one.value), tuple[str, ...]()
        if one.is_best:
            trust = scorer.rules.trust[one.place]
            because = (f"the most trusted rule that reaches it ({trust:.0%}): its weight includes that",)
        found.append(
            Contribution(format_rule(one.rule, vocab), *numbers, (), one.phi, one.rule, because, record)
        )
    return tuple(found)


def _records(parts: Sequence[Share], records: Records | None, is_hidden: bool) -> list[Record | None]:
    """The record of each part: of a rule with constants as counted here, of a chain as the model has it."""
    chains = [
        one.place
        for one in parts
        if records is not None
        and one.place is not None
        and one.counted is None
        and not isinstance(one.rule, Feature)
    ]
    known = dict(zip(chains, records.of(chains), strict=True)) if records is not None else {}
    found = list[Record | None]()
    for one in parts:
        if one.counted is not None:
            found.append(Record(one.counted.support, one.counted.holders, one.counted.confidence))
        else:
            record = known.get(one.place) if one.place is not None else None
            found.append(without_one(record) if is_hidden else record)
    return found


def _detailed(strongest: Sequence[Contribution], ideas: Sequence[Idea], detailed: int | None) -> set[Rule]:
    """The rules that get paths: the strongest of all, and the strongest of each idea."""
    first = None if detailed is None else min(detailed, PER_IDEA)
    of_ideas = (rule for idea in ideas for rule in idea.rules[:first])
    return {rule.chain for rule in (*strongest[:detailed], *of_ideas)}


def _with_paths(told: Explanation, graph: Graph, rules: set[Rule], limit: int) -> Explanation:
    """The explanation with paths for some rules."""
    hidden = told.question if told.is_known else None

    def paths_of(rule: Rule) -> tuple[Path, ...]:
        if told.find_paths is not None and limit <= REASON_PATHS:
            return told.find_paths(rule)[:limit]
        return shown_paths(graph, told.question, rule, limit, hidden)

    return replace(
        told,
        contributions=tuple(
            replace(one, paths=paths_of(one.chain)) if one.chain in rules else one
            for one in told.contributions
        ),
    )


def first_reason(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    question: Question,
    parts: Contributions,
    records: Records,
) -> Reason | None:
    """The reason that an explanation names first, by the parts of the score; None without rules."""
    is_known = graph.has(*question)
    rules = _contributions(graph, vocab, scorer, parts, question, is_known, records)
    hidden = question if is_known else None

    def find(rule: Rule) -> tuple[Path, ...]:
        return shown_paths(graph, question, rule, REASON_PATHS, hidden)

    return next(iter(choose(rules, find, vocab, 1.0, most=1)), None)
