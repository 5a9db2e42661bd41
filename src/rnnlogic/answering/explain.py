"""Why an answer has its score: the contribution of each rule, and the concrete paths behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rnnlogic.answering.answers import softmax
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.ranks import Ranks, rank_answers
from rnnlogic.grounding.paths import Path, paths
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import format_rule

DETAILED = 10  # rules for which paths are looked up


@dataclass(frozen=True)
class Rank:
    """Place of an answer among all entities."""

    better: int
    tied: int  # the answer included
    candidates: int

    @property
    def mean(self) -> float:
        """The mean of the places that the answer shares with those tied with it."""
        return self.better + (self.tied + 1) / 2

    def text(self) -> str:
        """For people: the place, or the range of tied places."""
        first, last = self.better + 1, self.better + self.tied
        place = f"{first:,}" if first == last else f"{first:,} to {last:,} (tied)"
        return f"{place} of {self.candidates:,}"


@dataclass(frozen=True)
class Contribution:
    """What one rule adds to the score: its weight times the feature of its number of paths, times phi.

    In RNNLogic+ it is the score minus the score without the rule.
    """

    rule: str
    weight: float
    count: int
    contribution: float
    paths: tuple[Path, ...]  # the first ones; empty beyond the rules that are shown in detail
    phi: float | None = (
        None  # the embedding's score of all these paths, which share their ends; None: without
    )

    def as_dict(self, vocab: Vocab) -> dict[str, Any]:
        """Plain values for JSON; a path is a list of facts with names, in the direction of the graph."""
        return {
            "rule": self.rule,
            "weight": self.weight,
            "count": self.count,
            "phi": self.phi,
            "contribution": self.contribution,
            "paths": [[list(fact) for fact in named_facts(path, vocab)] for path in self.paths],
        }


@dataclass(frozen=True)
class Explanation:
    """A fact, its score, and what makes it up.

    The contributions, and what the embedding adds, sum to the score, unless each rule was left out in turn.
    """

    vocab: Vocab
    head: int
    relation: int  # 0..2R-1
    tail: int
    score: float  # -inf if the answer is no candidate
    probability: float
    filtered_rank: Rank
    raw_rank: Rank
    is_known: bool  # the fact is in the evidence; it was hidden while rules were applied, as in training
    contributions: tuple[Contribution, ...]  # of every rule that reaches the answer, the strongest first
    embedding: float | None = None  # what the embedding adds by itself; None where it has no say
    kind: Literal["sum", "leave-one-out"] = "sum"  # what contributions are

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = self.vocab
        return {
            "head": names.entities[self.head],
            "relation": names.relation_name(self.relation),
            "tail": names.entities[self.tail],
            "score": self.score if math.isfinite(self.score) else None,
            "probability": self.probability,
            "rank": self.filtered_rank.mean,
            "raw_rank": self.raw_rank.mean,
            "is_known": self.is_known,
            "embedding": self.embedding,
            "contributions": self.kind,
            "rules": [contribution.as_dict(names) for contribution in self.contributions],
        }

    def lines(self, rules: int | None = DETAILED) -> Iterator[str]:
        """For people: the verdict, then the strongest rules (all with None) with their paths."""
        names = self.vocab
        head, tail = names.entity_label(self.head), names.entity_label(self.tail)
        yield f"{names.relation_label(self.relation)}({head}, {tail})"
        if self.is_known:
            yield "  The fact is in the graph; it was hidden, in both directions, to apply the rules."
        if not math.isfinite(self.score):
            yield f"  No rule reaches this answer: rank {self.filtered_rank.text()}."
            return
        yield f"  probability {self.probability:.4f}, score {self.score:.4f}"
        yield (
            f"  rank {self.filtered_rank.text()} (other known answers left out), {self.raw_rank.text()} (all)"
        )
        yield f"  {len(self.contributions):,} rule(s) reach it"
        if self.kind == "leave-one-out":
            yield "  Beside each rule: the score minus the score without it; these need not sum to the score."
        if self.embedding is not None:
            yield ""
            yield f"{self.embedding:+9.4f}  by the embedding itself"
        shown = self.contributions[:rules]
        for contribution in shown:
            yield from _contribution_lines(contribution, names)
        rest = self.contributions[len(shown) :]
        if rest and self.kind == "leave-one-out":
            yield ""
            yield f"           {len(rest):,} more rule(s)"
        elif rest:
            total = math.fsum(contribution.contribution for contribution in rest)
            yield ""
            yield f"{total:+9.4f}  by {len(rest):,} more rule(s)"


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
) -> Explanation:
    """Explain (head, relation, tail) on the evidence `graph`, ranked against all facts of `known`.

    If the fact itself is in the evidence it is hidden in both directions, as in training. The probability is
    the softmax over all candidates, other answers in the evidence left out. The `detailed` strongest rules
    come with up to `limit` paths each.
    """
    is_known = graph.has(head, relation, tail)
    hidden = (head, relation, tail) if is_known else None
    scores = np.full((1, graph.num_entities), -np.inf)
    for chunk in scorer.scored(graph, [head], relation, tail if is_known else None):
        chunk.fill(scores)
    parts = scorer.contributions(graph, head, relation, tail, is_known)
    contributions = []
    for place, i in enumerate(np.argsort(-np.abs(parts.values), kind="stable")):
        rule = scorer.rules[parts.rule[i]]
        shown = detailed is None or place < detailed
        found = paths(graph, head, rule, tail, limit, hidden).paths if shown else ()
        numbers = float(parts.weight[i]), int(parts.count[i]), float(parts.values[i])
        phi = None if parts.phi is None else float(parts.phi[i])
        contributions.append(Contribution(format_rule(rule, vocab), *numbers, found, phi))
    return Explanation(
        vocab,
        head,
        relation,
        tail,
        float(scores[0, tail]),
        _probability(scores[0], tail, graph.neighbours(head, relation)),
        _rank(scores[0], tail, known.neighbours(head, relation)),
        _rank(scores[0], tail, np.empty(0, np.int32)),
        is_known,
        tuple(contributions),
        parts.rest,
        parts.kind,
    )


def named_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The facts of a path with names, each in the direction in which it is in the graph."""
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in facts_of(path, vocab)]


def labelled_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The same with names for people."""
    entity, relation = vocab.entity_label, vocab.relation_label
    return [(entity(h), relation(r), entity(t)) for h, r, t in facts_of(path, vocab)]


def facts_of(path: Path, vocab: Vocab) -> Iterator[tuple[int, int, int]]:
    """The facts of a path as ids, each in the direction in which it is in the graph."""
    for source, relation, target in zip(path.entities, path.relations, path.entities[1:], strict=False):
        if relation >= vocab.num_relations:
            source, relation, target = target, vocab.inverse(relation), source
        yield source, relation, target


def _probability(scores: NDArray[np.float64], tail: int, known: NDArray[np.int32]) -> float:
    if scores[tail] == -np.inf:
        return 0.0
    others = scores.copy()
    others[known[known != tail]] = -np.inf
    return float(softmax(others)[tail])


def _rank(scores: NDArray[np.float64], tail: int, known: NDArray[np.int32]) -> Rank:
    filtered = np.zeros(len(known), np.int64), known
    ranks: Ranks = rank_answers(scores[None, :], np.array([tail]), filtered)
    return Rank(int(ranks.better[0]), int(ranks.tied[0]), int(ranks.candidates[0]))


def _contribution_lines(contribution: Contribution, vocab: Vocab) -> Iterator[str]:
    yield ""
    yield f"{contribution.contribution:+9.4f}  {contribution.rule}"
    number = f"{contribution.count:,} path" + ("s" if contribution.count != 1 else "")
    phi = "" if contribution.phi is None else f", phi {contribution.phi:.4f}"
    yield f"           weight {contribution.weight:.4f}, {number}{phi}"
    for path in contribution.paths:
        yield f"             {path.text(vocab)}"
    if len(contribution.paths) < contribution.count and contribution.paths:
        yield f"             ... {contribution.count - len(contribution.paths):,} more"
