"""What a predictor must offer.

A predictor scores answers by the rules that reach them. It is one folder with one class, named in `table.py`:
it learns from grounded training queries (`fit`), scores (`scored`), says what each rule adds to an answer
(`contributions`), becomes arrays and comes back (`pack`, `unpack`), and moves to another graph or refuses
(`moved`). Nothing outside its folder knows which one is at work.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Arrays, Feature, Progress, Recent, silent
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.graph import Graph
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.features.ground import CHUNK_QUERIES, CHUNK_RESULTS, Grounder
from rnnlogic.features.table import Candidates, Scored, no_candidates, transformed
from rnnlogic.predictors.table import entry
from rnnlogic.rules.ruleset import RuleSet

Weights = NDArray[np.float64]  # [rules]


class RuleValues:
    """Values of rules whose paths all count alike."""

    scores_paths = False  # whether an embedding scores them

    def __init__(self, rules: RuleSet, feature: Feature) -> None:
        self.rules, self.feature = rules, feature

    def features(self, candidates: Candidates) -> NDArray[np.float64]:
        """The feature [n] of each rule at each candidate."""
        return transformed(candidates, self.feature)

    def phi(self, candidates: Candidates) -> NDArray[np.float32] | None:
        """The embedding's score [n] of the paths of each rule to each candidate; None where all are 1."""
        del candidates
        return None

    def examples(self, candidates: Candidates) -> NDArray[np.float32]:
        """Feature times path score [n], to learn weights from."""
        value, phi = transformed(candidates, self.feature, np.float32), self.phi(candidates)
        return value if phi is None else value * phi

    def of(self, rules: RuleSet) -> RuleValues:
        """The same for other rules."""
        return RuleValues(rules, self.feature)

    def scorer(self, weights: NDArray[np.float64], threads: int | None) -> AnswerScorer:
        """Weighted rules as something that answers."""
        from rnnlogic.predictors.loglinear.predictor import RuleScorer

        return RuleScorer(self.rules, weights, self.feature, threads)


@dataclass(frozen=True, eq=False)
class Contributions:
    """The score of one answer in parts: `values` and `rest` sum to it, unless each rule was left out."""

    rule: NDArray[np.int64]  # [n] ids of the rules that reach the answer
    count: NDArray[Any]  # [n] walks
    weight: NDArray[np.float64]  # [n]
    phi: NDArray[np.float32] | None  # [n] path scores; None where all are 1
    values: NDArray[np.float64]  # [n] what each rule adds
    rest: float | None  # what the embedding adds by itself; None where it has no say
    kind: Literal["sum", "leave-one-out"] = (
        "sum"  # values: summands, or the score minus that without the rule
    )
    best: int | None = None  # the part of the best rule, if being that adds to it


class AnswerScorer(ABC):
    """Rules that answer queries: all that evaluation, answers and explanations need to know of them."""

    rules: RuleSet

    @abstractmethod
    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of all candidates of (head, relation, ?), some queries at a time, in any order.

        The facts (head, relation, hidden) are not looked at, in both directions, where `hidden` is given.
        """

    @abstractmethod
    def contributions(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> Contributions:
        """The score of one answer in parts; the fact itself may be hidden."""

    def scored_with_parts(
        self, graph: Graph, head: int, relation: int, tail: int, is_hidden: bool = False
    ) -> tuple[list[Scored], Contributions]:
        """The scores of one question, and the score of one answer in parts."""
        hidden = tail if is_hidden else None
        parts = self.contributions(graph, head, relation, tail, is_hidden)
        return list(self.scored(graph, [head], relation, hidden)), parts

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] of all entities as answers of (head, relation, ?); -inf for those that are none."""
        scores = np.full((len(heads), graph.num_entities), -np.inf)
        for chunk in self.scored(graph, heads, relations):
            chunk.fill(scores)
        return scores

    def apart(self) -> Self:
        """The same with caches of its own: for graphs that are asked little, whose traces nobody needs."""
        other = copy.copy(self)
        caches = {name: copy.copy(value) for name, value in vars(self).items() if isinstance(value, Recent)}
        vars(other).update(caches)
        return other


class Note(Protocol):
    """Notes figures of a stage in the log of the fit."""

    def __call__(self, stage: str, started: float, **figures: Any) -> None:
        """`started` is a value of time.perf_counter()."""


def no_note(stage: str, started: float, **figures: Any) -> None:
    """Note nothing."""
    del stage, started, figures


def make_at_once(stage: str, make: Callable[[], Arrays]) -> Arrays:
    """Keep no stage."""
    del stage
    return make()


@dataclass(frozen=True, eq=False)
class Task:
    """What a predictor learns from: rules and the facts of a dataset."""

    dataset: Dataset
    rules: RuleSet
    config: Config
    threads: int
    embedding: Scorer | None = None
    weights: Weights | None = None  # of the rules, if a run has learned them for the same feature
    progress: Progress = silent
    note: Note = no_note
    keep: Callable[[str, Callable[[], Arrays]], Arrays] = make_at_once  # a finished stage is not done again
    budget: Budget = UNLIMITED
    may_fail: bool = False  # raise TimeIsUp if the budget does not suffice for any weights


class Move(NamedTuple):
    """Rules on their way to another graph."""

    kept: NDArray[np.bool_]  # [rules] those whose relations are all there
    rules: RuleSet  # these, in the ids of the other graph
    relations: NDArray[np.int32]  # [2R] new id of every relation, -1 if it is not there
    num_relations: int  # of the other graph, without inverses


class Predictor(AnswerScorer):
    """A fitted predictor. Its fields are what it has learned."""

    uses_evidence: ClassVar[bool] = False  # whether rules may be named evidence
    uses_constants: ClassVar[bool] = False  # whether rules may have constants, or stand for the most trusted
    rules: RuleSet
    weights: Weights  # one number per rule, by which people sort them
    feature: Feature
    lift: Weights | None = None  # [rules] see `loglinear.fit`; told by `fit` and kept beside the predictor

    @classmethod
    @abstractmethod
    def fit(cls, task: Task) -> Self:
        """Learn from the training queries; the rules may become fewer, and keep their order."""

    @abstractmethod
    def pack(self) -> Arrays:
        """What was learned, as arrays; rules and embedding are kept elsewhere."""

    @classmethod
    def arrays(cls, config: Config) -> Declaration:
        """What `pack` gives with these settings; anything else is refused when a run is read."""
        del config
        return {"weights": Declared("float64", ("rules",))}

    @classmethod
    @abstractmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[Any]], rules: RuleSet, config: Config, embedding: Scorer | None
    ) -> Self:
        """The predictor that `pack` gave these arrays."""

    @abstractmethod
    def moved(self, move: Move) -> Self:
        """The predictor on another graph; RNNLogicError if it cannot go there."""

    def reduced(self, rules: RuleSet, weights: Weights) -> Self | None:
        """The predictor with these rules and weights; None if its score is not a weighted sum of rules."""
        del rules, weights
        return None

    @property
    def embedding(self) -> Scorer | None:
        """The embedding that it uses; with one it knows only the entities that it was trained with."""
        return None

    @classmethod
    def values(cls, rules: RuleSet, config: Config, embedding: Scorer | None) -> RuleValues:
        """What weights multiply while EM learns rules for this predictor."""
        del embedding
        return RuleValues(rules, config.predictor.feature)


def predictor_class(name: str) -> type[Predictor]:
    """The class of a predictor, by its name in the table."""
    module, _, kind = entry(name).predictor.partition(":")
    found: type[Predictor] = getattr(import_module(module), kind)
    return found


def reaching(grounder: Grounder, head: int, relation: int, tail: int, is_hidden: bool) -> Candidates:
    """The candidate `tail` with the rules that lead to it from `head`; no candidate if there are none.

    The last question is kept: whoever asks about several of its answers grounds it once.
    """
    if not is_hidden:
        found = grounder.last_question.get(
            (head, relation), lambda: next(grounder.candidates([head], relation), None)
        )
        return no_candidates(relation, head) if found is None else found.at(tail)
    for candidates in grounder.candidates([head], relation, tail if is_hidden else None):
        return candidates.at(tail)
    return no_candidates(relation, head)


class _Piece(NamedTuple):
    """Some queries of one relation."""

    positions: NDArray[np.int64]  # [q] in the batch
    relation: int
    heads: NDArray[np.int32]  # [q]
    hidden: NDArray[np.int32] | None  # [q]


class PiecePredictor(Predictor):
    """Candidates are the entities that a rule reaches; all entities where something else has a say too."""

    threads: int | None
    _grounders: Recent[Grounder]

    @abstractmethod
    def sums(self, candidates: Candidates) -> NDArray[np.float64]:
        """The score by rules [c] of every candidate that a rule reaches."""

    @abstractmethod
    def elsewhere(self, graph: Graph, heads: NDArray[np.int32], relation: int) -> NDArray[np.float64] | None:
        """What is added to the score by rules [B, E]; None if nothing is."""

    def unreached(self, relation: int) -> float:
        """The score by rules of an entity that none reaches, where all are candidates."""
        del relation
        return 0.0

    def scored(
        self, graph: Graph, heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None = None
    ) -> Iterator[Scored]:
        """Scores of all candidates, a piece of the queries of one relation at a time."""
        pieces = _pieces(heads, relations, hidden)
        return map_ordered(_score, pieces, (self, self.on(graph)), self.threads, _size, CHUNK_RESULTS)

    def on(self, graph: Graph) -> Grounder:
        """The rules made ready for a graph; the last one is kept. Pieces are grounded on one thread each."""
        return self._grounders.get(graph, lambda: Grounder(graph, self.rules, threads=1))

    def rest(self, graph: Graph, head: int, relation: int, tail: int) -> float | None:
        """What is added to the score by rules of one answer."""
        rows = self.elsewhere(graph, np.array([head], np.int32), relation)
        return None if rows is None else float(rows[0, tail])


def _score(shared: tuple[PiecePredictor, Grounder], piece: _Piece) -> Scored:
    predictor, grounder = shared
    parts = list(grounder.candidates(piece.heads, piece.relation, piece.hidden))
    query = np.concatenate([np.empty(0, np.int64), *(part.query for part in parts)])
    entity = np.concatenate([np.empty(0, np.int32), *(part.entity for part in parts)])
    sums = np.concatenate([np.empty(0), *(predictor.sums(part) for part in parts)])
    rows = predictor.elsewhere(grounder.graph, piece.heads, piece.relation)
    size = len(piece.positions)
    if rows is None:
        return Scored(piece.positions, np.searchsorted(query, np.arange(size + 1)), entity, sums)
    unreached = predictor.unreached(piece.relation)
    rows += unreached
    rows[query, entity] += sums - unreached
    everything = np.tile(np.arange(grounder.graph.num_entities, dtype=np.int32), size)
    return Scored(piece.positions, np.arange(size + 1) * rows.shape[1], everything, rows.ravel())


def _size(scored: Scored) -> int:
    return len(scored.entity)


def _pieces(heads: ArrayLike, relations: ArrayLike, hidden: ArrayLike | None) -> list[_Piece]:
    head = np.atleast_1d(np.asarray(heads, np.int32))
    relation = np.broadcast_to(np.asarray(relations, np.int64), head.shape)
    answer = None if hidden is None else np.broadcast_to(np.asarray(hidden, np.int32), head.shape)
    return [
        _Piece(piece, int(relation[piece[0]]), head[piece], None if answer is None else answer[piece])
        for piece in positions_by_relation(relation)
    ]


def positions_by_relation(relation: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the queries, at most CHUNK_QUERIES of one relation in each piece."""
    order = np.argsort(relation, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(relation[order])) + 1)
    starts = [(block, first) for block in blocks for first in range(0, len(block), CHUNK_QUERIES)]
    return [block[first : first + CHUNK_QUERIES] for block, first in starts]
