"""The reason of a proposal: the rule that `explain` names first, with one path, found without the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Tick, no_tick
from rnnlogic.calibrate.level import asked_direction
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import Question, comes_back
from rnnlogic.explain.reasons import TRIED, first_reason
from rnnlogic.explain.records import Records
from rnnlogic.features.base import Query
from rnnlogic.features.chains.paths import Fact, Path, first_paths
from rnnlogic.features.sources import terms_of
from rnnlogic.predictors.base import AnswerScorer, Contributions
from rnnlogic.rules.rule import CLOSE, Chain, ReadingOrder, Rule, mirrored, reading_order

STEPS = 2000  # entities at which a path is looked for one by one; then all paths are laid out at once


Found = tuple[Rule | None, Path | None]


class _Known(NamedTuple):
    """What decides between rules, whatever fact is asked about."""

    confidence: float
    worth: float  # of equally short rules, that which is right often and seldom wrong
    order: ReadingOrder  # short ones first
    rule: Rule


class Reasons:
    """Finds reasons on one graph; what it learns about rules is kept."""

    def __init__(self, graph: Graph, vocab: Vocab, scorer: AnswerScorer, records: Records) -> None:
        self._graph, self._vocab, self._scorer, self._records = graph, vocab, scorer, records
        self._known: dict[int, _Known] = {}
        self._features: dict[int, str] = {}  # names of features, by place among the rules

    def of_many(
        self, facts: Sequence[Fact], tick: Tick = no_tick
    ) -> dict[Fact, tuple[Rule | None, Path | None]]:
        """`of` for many facts: each question is grounded once, and all rules are counted together."""
        asked = sorted(facts, key=self.question)
        parts: dict[Fact, Contributions] = {}
        for done, fact in enumerate(asked):
            parts[fact] = self._scorer.contributions(
                self._graph, *self.question(fact), self._graph.has(*fact)
            )
            tick(done, 2 * len(asked))
        every = np.concatenate([np.empty(0, np.int64), *(self._counted(one) for one in parts.values())])
        self._about(np.unique(every).tolist())
        found = {}
        for done, fact in enumerate(asked, len(asked) + 1):
            found[fact] = self.of(fact, parts[fact])
            tick(done, 2 * len(asked))
        return found

    def question(self, fact: Fact) -> Question:
        """The question that proposes a fact: by its relation, or by the inverse if only that has rules."""
        head, relation, tail = fact
        asked = asked_direction(self._scorer.rules, relation, self._graph.num_relations)
        return Question(head, asked, tail) if asked == relation else Question(tail, asked, head)

    def of(self, fact: Fact, parts: Contributions | None = None) -> Found:
        """The rule and one path of it, from head to tail; none if no rule reaches the fact.

        Rules of the inverse relation, where only they reach it, are turned round. A known fact is hidden. The
        parts of the score by its question may be known.
        """
        graph, (head, asked, tail) = self._graph, self.question(fact)
        for question in (Question(head, asked, tail), Question(tail, graph.inverse(asked), head)):
            found = self._by(question, parts)
            parts = None
            if found is not None:
                rule, path = found
                number = graph.num_relations
                if question.relation < number:
                    return rule, path
                rule = mirrored(rule, number)
                if path is not None and not isinstance(rule, Chain):
                    return rule, first_paths(graph, fact[0], rule, fact[2], 1, fact)[0]
                return rule, None if path is None else _reversed(path, number)
        return None, None

    def _by(self, question: Question, parts: Contributions | None) -> tuple[Rule, Path | None] | None:
        graph, is_known = self._graph, self._graph.has(*question)
        if parts is None:
            parts = self._scorer.contributions(graph, *question, is_known)
        if not len(parts.rule):
            return None
        if not is_known and question.head != question.tail and not self._has_terms(parts, question):
            picked = self._pick(parts, question)
            if picked is not None:
                return picked
        told = first_reason(graph, self._vocab, self._scorer, question, parts, self._records)
        return None if told is None else (told.rule.chain, told.path)

    def _has_terms(self, parts: Contributions, question: Question) -> bool:
        """Whether a feature adds something that belongs to rules which no model holds."""
        places = parts.rule[self._scorer.rules.are_features[parts.rule]].tolist()
        for place in places:
            if place not in self._features:
                self._features[place] = str(getattr(self._scorer.rules[place], "name", ""))
        asked = Query(*question, False)
        return any(terms_of(self._graph, self._features[place], asked) for place in places)

    def _counted(self, parts: Contributions) -> NDArray[np.int64]:
        """The rules [n] that add to an answer, features left out."""
        is_rule = (parts.values > 0) & ~self._scorer.rules.are_features[parts.rule]
        return np.asarray(parts.rule[is_rule], np.int64)

    def _pick(self, parts: Contributions, question: Question) -> tuple[Rule, Path] | None:
        """As `explain.reasons` picks: the shortest of the rules whose confidence is close to the best."""
        values = dict(zip(parts.rule.tolist(), parts.values.tolist(), strict=True))
        places = self._counted(parts).tolist()
        known = dict(zip(places, self._about(places), strict=True))
        found: dict[int, Path | None] = {}

        def path(place: int) -> Path | None:
            if place not in found:
                found[place] = self._path(known[place].rule, question)
            return found[place]

        by_confidence = sorted(
            places, key=lambda one: (-known[one].confidence, known[one].order, -values[one])
        )
        best = next((one for one in by_confidence[:TRIED] if path(one) is not None), None)
        if best is None:
            return None
        good = [one for one in places if known[one].confidence >= CLOSE * known[best].confidence]
        good.sort(key=lambda one: (known[one].order, -known[one].worth, -values[one]))
        for one in (*good[:TRIED], best):
            there = path(one)
            if there is not None:
                return known[one].rule, there
        return None

    def _about(self, places: list[int]) -> list[_Known]:
        new = [place for place in places if place not in self._known]
        for place, record in zip(new, self._records.of(new), strict=True):
            rule = self._scorer.rules[place]
            record = self._records.reviewed(rule, record)
            confidence = 0.0 if record is None else record.standing
            worth = 0.0 if record is None else record.right * record.standing
            order = reading_order(rule, self._graph.num_relations)
            self._known[place] = _Known(confidence, worth, order, rule)
        return [self._known[place] for place in places]

    def _path(self, rule: Rule, question: Question) -> Path | None:
        """The first path without a detour, in the order of entity ids."""
        head, _, tail = question
        if isinstance(rule, Chain):
            found = simple_path(self._graph, head, rule.body, tail)
            if found is not None:
                return Path(found, rule.body)
        every = first_paths(self._graph, head, rule, tail, 1)
        return next((path for path in every if comes_back(path) is None), None)


def simple_path(graph: Graph, head: int, body: tuple[int, ...], tail: int) -> tuple[int, ...] | None:
    """The entities of the first path that visits none twice; None if none was found within STEPS."""
    left = [STEPS]

    def onward(path: tuple[int, ...]) -> tuple[int, ...] | None:
        step = len(path) - 1
        if step == len(body) - 1:
            return (*path, tail) if graph.has(path[-1], body[step], tail) else None
        following = graph.neighbours(path[-1], body[step])
        if step == len(body) - 2:
            behind = graph.neighbours(tail, graph.inverse(body[-1]))
            following = np.intersect1d(following, behind, assume_unique=True)
        for entity in following.tolist():
            left[0] -= 1
            if left[0] < 0:
                return None
            if entity != tail and entity not in path:
                found = onward((*path, entity))
                if found is not None:
                    return found
        return None

    return onward((head,))


def _reversed(path: Path, num_relations: int) -> Path:
    """The path from its other end."""
    body = tuple(
        step + num_relations if step < num_relations else step - num_relations
        for step in reversed(path.relations)
    )
    return Path(path.entities[::-1], body)
