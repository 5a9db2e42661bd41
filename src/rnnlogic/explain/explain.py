"""Why an answer has its score: ideas, the contribution of each rule, and the concrete paths behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.comparison import Comparison
from rnnlogic.explain.dependence import depends_on
from rnnlogic.explain.explanation import Explanation
from rnnlogic.explain.ideas import Question
from rnnlogic.explain.parts import Share, shares
from rnnlogic.explain.reasons import Contribution, Idea, Rank, Record
from rnnlogic.explain.records import Records, without_one
from rnnlogic.explain.scores import all_scores, as_fact, rank_of, share_of, without
from rnnlogic.explain.walks import facts_of, labelled_facts, named_facts, shown_paths
from rnnlogic.predictors.base import AnswerScorer, Contributions
from rnnlogic.rules.rule import Feature, Rule, format_rule

__all__ = [
    "DETAILED",
    "Comparison",
    "Contribution",
    "Explanation",
    "Idea",
    "Probability",
    "Rank",
    "compare",
    "explain",
    "facts_of",
    "labelled_facts",
    "named_facts",
]

DETAILED = 10  # rules for which paths are looked up
REASON_PATHS = 8  # of a rule, among which one is looked for that rests on facts of its own
PER_IDEA = 6  # and as many more of each idea, so that the rules it shows rest on different facts

Probability = Callable[[int, int, int], float]  # that a fact (head, relation, tail) is true


def explain(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    head: int,
    relation: int,
    tail: int,
    known: Graph,
    limit: int = 3,
    detailed: int | None = DETAILED,
    probability: Probability | None = None,
    records: Records | None = None,
) -> Explanation:
    """Explain (head, relation, tail) on the evidence `graph`, ranked against all facts of `known`.

    If the fact itself is in the evidence it is hidden in both directions, as in training. The `detailed`
    strongest rules, and the strongest of each idea, come with up to `limit` paths each; None: all do.
    """
    told = _explain(graph, vocab, scorer, Question(head, relation, tail), known, probability, records)
    return _with_paths(told, graph, _detailed(told.contributions, told.ideas, detailed), limit)


def compare(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    head: int,
    relation: int,
    tail: int,
    instead: int,
    known: Graph,
    limit: int = 3,
    detailed: int | None = DETAILED,
    probability: Probability | None = None,
    records: Records | None = None,
) -> Comparison:
    """Explain why (head, relation, tail) has another score than (head, relation, instead).

    Both are scored on the same evidence: if they are facts in it, both are taken out.
    """
    asked = [Question(head, relation, one) for one in (tail, instead)]
    evidence = without(graph, [as_fact(one, graph.num_relations) for one in asked])
    scorer = scorer if evidence is graph else scorer.apart()
    told = [_explain(evidence, vocab, scorer, one, known, probability, records) for one in asked]
    found = Comparison(told[0], told[1])
    strongest = sorted(
        (rule for idea in found.ideas for rule in idea.rules), key=lambda rule: -abs(rule.contribution)
    )
    shown = _detailed(strongest, found.ideas, detailed)
    first, second = (_with_paths(one, evidence, shown, limit) for one in told)
    hidden = [graph.has(*one) for one in asked]
    return Comparison(replace(first, is_known=hidden[0]), replace(second, is_known=hidden[1]))


def _explain(
    graph: Graph,
    vocab: Vocab,
    scorer: AnswerScorer,
    question: Question,
    known: Graph,
    probability: Probability | None,
    records: Records | None,
) -> Explanation:
    """An explanation without paths."""
    head, relation, tail = question
    is_known = graph.has(*question)
    scores = all_scores(graph, scorer, question, is_known)
    parts = scorer.contributions(graph, *question, is_known)
    return Explanation(
        vocab,
        head,
        relation,
        tail,
        float(scores[tail]),
        share_of(scores, tail, graph.neighbours(head, relation)),
        rank_of(scores, tail, known.neighbours(head, relation)),
        rank_of(scores, tail, np.empty(0, np.int32)),
        is_known,
        _contributions(graph, vocab, scorer, parts, question, is_known, records),
        parts.rest,
        parts.kind,
        None if probability is None else probability(*question),
        partial(depends_on, graph, vocab, scorer, question, known),
        lambda rule: shown_paths(graph, question, rule, REASON_PATHS, question if is_known else None),
    )


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
    return replace(
        told,
        contributions=tuple(
            replace(one, paths=shown_paths(graph, told.question, one.chain, limit, hidden))
            if one.chain in rules
            else one
            for one in told.contributions
        ),
    )
