"""What an answer hangs on: few facts without which it is no longer first, found greedily and checked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.ideas import Question
from rnnlogic.explain.parts import shares
from rnnlogic.explain.reasons import Rank
from rnnlogic.explain.scores import all_scores, as_fact, rank_of, without
from rnnlogic.explain.walks import facts_of
from rnnlogic.features.chains.paths import Fact, paths
from rnnlogic.predictors.base import AnswerScorer
from rnnlogic.rules.rule import Feature

MOST_FACTS = 8
TRIED = 2  # facts that are tried in every step; the score is computed anew for each
RULES, PATHS = 10, 10  # facts are looked for on so many paths of the strongest rules
PACE = 0.5  # of the lead that an even pace would have cost: with less, the search gives up half-way


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


@dataclass(frozen=True)
class _Standing:
    """The evidence without some facts, and where it leaves the answer."""

    removed: tuple[Fact, ...]
    graph: Graph
    rank: Rank
    lead: float  # over the best other answer

    @property
    def is_first(self) -> bool:
        return self.rank.mean == 1 and self.lead > -np.inf


def depends_on(
    graph: Graph, vocab: Vocab, scorer: AnswerScorer, question: Question, known: Graph
) -> Dependence | None:
    """The facts that an answer in first place hangs on; None if it is not alone there.

    In every step the fact is removed that costs the answer most of its lead, among those on the paths of its
    strongest rules; at the end every fact is put back that was not needed.
    """
    search = _Search(graph, vocab, scorer, question, known)
    first = standing = search.standing(())
    if not first.is_first:
        return None
    while standing.is_first:
        facts = [] if _is_hopeless(first, standing) else search.candidates(standing.graph)
        if not facts:
            return Dependence((), None)
        tried = [search.standing((*standing.removed, fact)) for fact in facts]
        standing = min(tried, key=lambda one: (one.is_first, one.lead))
    standing = search.smaller(standing)
    return Dependence(standing.removed, standing.rank, standing.lead > -np.inf)


def _is_hopeless(first: _Standing, now: _Standing) -> bool:
    """Whether the search has used up its facts, or gets on too slowly to end in time."""
    number = len(now.removed)
    is_slow = first.lead - now.lead < PACE * first.lead * number / MOST_FACTS
    return number == MOST_FACTS or (number >= MOST_FACTS // 2 and is_slow)


class _Search:
    """Scores a question again and again, with fewer facts."""

    def __init__(
        self, graph: Graph, vocab: Vocab, scorer: AnswerScorer, question: Question, known: Graph
    ) -> None:
        self._vocab, self._scorer, self._question = vocab, scorer.apart(), question
        self._graph = without(graph, [as_fact(question, vocab.num_relations)])
        self._known = known.neighbours(question.head, question.relation)

    def standing(self, removed: tuple[Fact, ...]) -> _Standing:
        """Where the answer stands without some facts."""
        graph = without(self._graph, removed)
        scores, tail = all_scores(graph, self._scorer, self._question), self._question.tail
        rank = rank_of(scores, tail, self._known)
        rivals = np.delete(scores, np.append(self._known, tail)).max(initial=-np.inf)
        lead = -np.inf if scores[tail] == -np.inf else float(scores[tail] - rivals)
        return _Standing(removed, graph, rank, lead)

    def candidates(self, graph: Graph) -> list[Fact]:
        """The facts on which most of the score rests, by the paths of the strongest rules."""
        head, relation, tail = self._question
        parts = self._scorer.contributions(graph, head, relation, tail)
        found = shares(graph, self._scorer.rules, parts, self._question, is_hidden=False)
        is_for = any(one.value > 0 for one in found)
        strong = [one for one in found if one.value > 0] if is_for else found
        weight: dict[Fact, float] = defaultdict(float)
        for one in strong[:RULES]:
            if not isinstance(one.rule, Feature):
                walks = paths(graph, head, one.rule, tail, PATHS).paths
                for path in walks:
                    for fact in set(facts_of(path, self._vocab)):
                        weight[fact] += abs(one.value) / len(walks)
        return sorted(weight, key=lambda fact: (-weight[fact], fact))[:TRIED]

    def smaller(self, standing: _Standing) -> _Standing:
        """The same without the facts that turn out not to be needed."""
        for fact in standing.removed[:-1]:
            fewer = self.standing(tuple(other for other in standing.removed if other != fact))
            standing = standing if fewer.is_first else fewer
        return standing
