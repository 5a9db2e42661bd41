"""A run as it is served: the model, an index of its names, and what its questions cost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import printable
from rnnlogic.base.types import Progress, Recent
from rnnlogic.complete.complete import NewFact
from rnnlogic.complete.reason import Reasons
from rnnlogic.data.dataset import Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.explain.answers import Answer, Known
from rnnlogic.explain.explanation import Comparison, Explanation
from rnnlogic.explain.listing import MANY, RuleInfo, Sort
from rnnlogic.features.chains.cost import Cost
from rnnlogic.model import RNNLogic
from rnnlogic.render.tables import Listed
from rnnlogic.runs.fitted import label_run, template_run
from rnnlogic.runs.folder import Run
from rnnlogic.serve.limits import Limits
from rnnlogic.serve.problems import ProblemError
from rnnlogic.serve.search import NameIndex

EXPLAINED = 20  # an explanation asks its question about so often: to see what the answer hangs on
NEAREST = 3
MEASURED = 1000  # validation facts asked to see how well relations are answered
LISTINGS = 16  # lists of rules that are kept

Question = tuple[str, str]  # head, relation


@dataclass(eq=False)
class Served:
    """One run. Everything here may be called from many threads at once."""

    name: str
    folder: Path
    model: RNNLogic
    limits: Limits
    _costs: dict[Evidence, Cost] = field(default_factory=dict)
    _listings: Recent[list[RuleInfo]] = field(default_factory=lambda: Recent(LISTINGS))
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    answered: dict[str, dict[str, Any]] | None = None  # validation metrics by relation, once measured
    edition: int = 0  # grows when names are changed

    @property
    def vocab(self) -> Vocab:
        """The names."""
        return self.model.dataset.vocab

    @property
    def graph(self) -> Graph:
        """All known facts, accepted ones among them."""
        return self.model.graph("all")

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """Facts of each entity [E]."""
        arrays = self.graph.arrays
        found = np.bincount(arrays.row_head, np.diff(arrays.row_edges), self.vocab.num_entities)
        return found.astype(np.int64)

    @property
    def reasons(self) -> Reasons:
        """Finds the first reason for a fact on all known facts."""
        model = self.model
        return Reasons(self.graph, self.vocab, model.scorer, model.records)

    @cached_property
    def relation_sizes(self) -> NDArray[np.int64]:
        """Facts of each relation, inverses included [2R]."""
        arrays = self.graph.arrays
        return np.diff(arrays.row_edges[arrays.relation_rows])

    @cached_property
    def entities(self) -> NameIndex:
        """Entities by name and label."""
        labels = [self.vocab.entity_label(i) for i in range(self.vocab.num_entities)]
        return NameIndex(self.vocab.entities, labels, self.degree)

    @cached_property
    def relations(self) -> NameIndex:
        """Relations by name and label."""
        number = self.vocab.num_relations
        labels = [self.vocab.relation_label(i) for i in range(number)]
        return NameIndex(self.vocab.relations, labels, self.relation_sizes[:number])

    def entity(self, name: str) -> int:
        """The id of an entity by name or label."""
        known = self.vocab.has_entity(name) or self.vocab.entities_like(name)
        if not known and self.entities.is_unknown(name):
            # Of maybe millions of names, the index finds the nearest in no time.
            near = [self.vocab.entities[one.id] for one in self.entities.find(name[:100], NEAREST)]
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            raise ProblemError(404, f"unknown entity {name[:100]!r}{hint}", nearest=near)
        return self.vocab.entity_id(name)

    def relation(self, name: str) -> int:
        """The id of a relation by name or label; with ^-1, of its inverse."""
        return self.vocab.relation_id(name)

    def name_entity(self, name: str, label: str) -> None:
        """Show an entity by a label, here and in the run folder."""
        one = self.vocab.entities[self.entity(name)]
        label_run(self.folder, {one: label})
        self._rename(self.model.with_labels({one: label}))

    def say_relation(self, name: str, text: str, turned: str) -> None:
        """Say a relation by a template, here and in the run folder."""
        one = self.vocab.relations[self.relation(name)]
        templates = {one: (text, turned) if turned else text}
        template_run(self.folder, templates)
        self._rename(self.model.with_templates(templates))

    def _rename(self, model: RNNLogic) -> None:
        """Show other names from now on; what was made with the old ones is forgotten."""
        self.model = model
        self._listings = Recent(LISTINGS)
        for kept in ("entities", "relations"):
            self.__dict__.pop(kept, None)
        self.edition += 1
        _ = self.entities, self.relations  # here, where nobody else waits for them

    def question(self, head: str | None, relation: str, tail: str | None) -> Question:
        """A question as (head, relation, ?); for heads it is turned round."""
        if (head is None) == (tail is None):
            raise ProblemError(422, "give either head or tail; /v1/explain takes both")
        asked = self.relation(relation)
        if head is None:
            assert tail is not None
            return self.vocab.entities[self.entity(tail)], self.vocab.relation_name(self.vocab.inverse(asked))
        return self.vocab.entities[self.entity(head)], self.vocab.relation_name(asked)

    def proposable(self, name: str) -> int:
        """The id of a relation that facts can be written with."""
        one = self.relation(name)
        if one >= self.vocab.num_relations:
            raise ProblemError(422, "facts are written the way round that the graph has them: leave out ^-1")
        return one

    def cost(self, evidence: Evidence) -> Cost:
        """What questions cost on some evidence."""
        if evidence not in self._costs:
            self._costs[evidence] = Cost(self.model.dataset.graph(evidence), self.model.learned.rules)
        return self._costs[evidence]

    def cost_of_answers(self, question: Question, k: int, evidence: Evidence) -> float:
        """Steps to answer a question, and to ask for each answer the other way round."""
        head, relation = self.entity(question[0]), self.relation(question[1])
        cost, back = self.cost(evidence), self.vocab.inverse(relation)
        return 2 * cost.of_question(head, relation) + k * cost.of_any_question(back)

    def predict(
        self,
        questions: Sequence[Question],
        k: int,
        evidence: Evidence,
        known: Known,
        allow_violations: bool = False,
    ) -> list[Listed[Answer]]:
        """The best answers of each question."""
        steps = sum(self.cost_of_answers(question, k, evidence) for question in questions)
        self.limits.refuse_dear(steps, "ask fewer questions, or for fewer answers")
        return self.model.predict_many(questions, k, evidence, known, allow_violations)

    def explain(
        self, head: str, relation: str, tail: str, instead: str | None, paths: int, evidence: Evidence
    ) -> Explanation | Comparison:
        """Why an answer has its score, or why it is better than another one."""
        ends = [self.vocab.entities[self.entity(name)] for name in (head, tail)]
        asked = self.cost(evidence).of_question(self.entity(head), self.relation(relation))
        self.limits.refuse_dear(
            EXPLAINED * asked, "the head has too many facts for the rules of the relation"
        )
        if instead is None:
            return self.model.explain(ends[0], relation, ends[1], paths, evidence)
        other = self.vocab.entities[self.entity(instead)]
        return self.model.explain(ends[0], relation, ends[1], paths, evidence, instead=other)

    def complete(
        self,
        relation: str | None,
        min_probability: float,
        most: int,
        evidence: Evidence,
        progress: Progress,
        allow_violations: bool = False,
    ) -> Iterator[NewFact]:
        """The most probable facts that the evidence does not hold."""
        wanted = range(self.vocab.num_relations) if relation is None else [self.proposable(relation)]
        cost = self.cost(evidence)
        steps = self.vocab.num_entities * sum(cost.of_any_question(one) for one in wanted)
        seconds = self.limits.long_seconds
        if steps > self.limits.steps / self.limits.seconds * seconds:
            raise ProblemError(
                422, f"this query is too expensive: about {steps:.0e} steps; ask for one relation"
            )
        return self.model.complete(
            relation, min_probability, most, evidence, progress, allow_violations=allow_violations
        )

    def rules(
        self,
        relation: str | None,
        sort: Sort = "use",
        min_confidence: float = 0.0,
        min_support: int = 0,
        max_length: int | None = None,
    ) -> list[RuleInfo]:
        """Rules by relation, best first; the lists asked for last are kept."""
        rules = self.model.learned.rules
        wanted = None if relation is None else self.relation(relation)
        number = len(rules) if wanted is None else len(rules.by_head(wanted))
        if number > MANY:
            raise ProblemError(422, f"{number:,} rules are too many to list; ask for one relation")
        key = (wanted, sort, min_confidence, min_support, max_length)
        return self._listings.get(
            key,
            lambda: self.model.rules(
                relation,
                sort=sort,
                min_confidence=min_confidence,
                min_support=min_support,
                max_length=max_length,
            ),
        )

    def warm_up(self) -> None:
        """Make ready what the first requests need: names, compiled code, calibration."""
        _ = self.entities, self.relations, self.vocab.has_entity("")
        rules = self.model.learned.rules
        for evidence in ("all", "train"):
            for relation in rules.head_relations().tolist()[:1]:
                name, head = self.vocab.relation_name(relation), self.vocab.entities[0]
                self.model.predict(head, name, 1, evidence)
                self.model.explain(head, name, head, evidence=evidence)

    def measure(self) -> None:
        """See how well each relation is answered on validation facts, if no report of the run says it."""
        with self._measuring:
            if self.answered is not None:
                return
            self.answered = self._reported()
            if self.answered is not None:
                return
            dataset = self.model.dataset
            if not len(dataset.valid):
                self.answered = {}
                return
            self.answered = evaluate(
                self.model.scorer.apart(), dataset, "valid", most_facts=MEASURED
            ).by_relation()

    def _reported(self) -> dict[str, dict[str, Any]] | None:
        """What the run's report says of each relation; None without one, or if it cannot be read."""
        try:
            report = Run.open(self.folder).report("valid") or {}
        except RNNLogicError as problem:
            told = printable(str(problem))
            logging.getLogger("uvicorn.error").warning("%s; relations are measured again", told)
            return None
        found = report.get("relations")
        return found if isinstance(found, dict) else None


def load_runs(folders: Sequence[str | Path], limits: Limits) -> dict[str, Served]:
    """Runs by the names of their folders."""
    runs: dict[str, Served] = {}
    for folder in folders:
        path = Path(folder).resolve()
        if path.name in runs:
            raise RNNLogicError(f"two runs are called {path.name!r}; serve runs whose folders differ in name")
        runs[path.name] = Served(path.name, path, RNNLogic.load(path), limits)
    return runs
