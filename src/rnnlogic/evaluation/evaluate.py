"""Ask every query of a split, rank the answers, report the metrics."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget, check_time, growing
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.base.types import Tick
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.kernels import Known, Reached, rank_candidates
from rnnlogic.evaluation.ranks import (
    NegativeSampler,
    Pairs,
    Ranks,
    UndefinedScoreError,
    query_metrics,
    rank_answers,
    refuse_nan,
)
from rnnlogic.evaluation.report import FULL_RANKING, Report, Side
from rnnlogic.features.base import NO_CUTS
from rnnlogic.features.table import Scored

Split = Literal["valid", "test"]

SCORE_BYTES = 16 << 20  # scores of one chunk by default; with more, memory is not reused
FIRST_SAMPLE = 20  # facts that are asked first under a budget, in any case
QUERIES = 256  # of one chunk at least, where only the entities that rules reach are scored
GROUPS: dict[Side, tuple[Side, ...]] = {
    "both": ("both", "tail", "head"),
    "tail": ("tail",),
    "head": ("head",),
}


@runtime_checkable
class Scorer(Protocol):
    """Anything that scores all entities as answers of (head, relation, ?)."""

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E] from the facts of `graph` for heads [B] and relations [B] in 0..2R-1.

        -inf marks an entity that is not reached; NaN is not allowed.
        """
        ...


@runtime_checkable
class RuleBased(Protocol):
    """A scorer that knows which entities rules reach; its chunks may run side by side, also elsewhere."""

    threads: int | None

    @property
    def embedding(self) -> Scorer | None:
        """With an embedding, all entities have scores."""

    def scored(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> Iterator[Scored]:
        """Scores of the entities that rules reach, some queries at a time, in any order."""


def evaluate(
    scorer: Scorer,
    dataset: Dataset,
    split: Split = "test",
    evidence: Evidence = "train",
    sides: Side = "both",
    chunk: int | None = None,
    progress: Tick | None = None,
    most_facts: int | None = None,
    negatives: int | None = None,
    seed: int = 0,
    budget: Budget = UNLIMITED,
    constraints: Constraints | None = None,
) -> Report:
    """Rank the answers of a split by any scorer, other known answers left out.

    A fact (h, r, t) asks (h, r, ?) with answer t (tail side) and (t, r^-1, ?) with answer h (head side).

    Args:
        scorer: What scores the answers of queries.
        dataset: All of its facts tell which answers are known.
        split: The facts that are asked for.
        evidence: The facts that queries are grounded on; they must not contain the split.
        sides: Whether to ask for tails, heads or both.
        chunk: How many queries to score at a time. It changes memory and speed, never the result.
        progress: Called after each step.
        most_facts: Of a split with more facts, ask a fixed random sample of this size.
        negatives: Rank each answer among this many sampled entities that are no known answers; by default
            among all.
        seed: Decides which entities are sampled.
        budget: The time. As large a sample is asked as there is time for.
        constraints: Answers that break them count as not reached: they come after all that rules reach.

    Returns:
        The report with metrics such as MRR; print it to read it.

    Raises:
        RNNLogicError: If the split has no facts, if the evidence contains them, or if a score is NaN.

    Examples:
        >>> print(evaluate(model.scorer, model.dataset, "valid"))
    """
    if budget.is_limited:
        total = min(len(_facts(dataset, split)), most_facts or 1 << 62)
        asked_for = scorer, dataset, split, evidence, sides, chunk, progress
        report, size = growing(
            lambda most: evaluate(*asked_for, most, negatives, seed, constraints=constraints),
            FIRST_SAMPLE,
            total,
            budget,
        )
        if size == total:
            return report
        budget.cut("evaluate", f"a sample of {size:,} of {total:,} facts")
        return replace(report, protocol=f"{report.protocol}; a sample of {size:,} of {total:,} facts")
    started = time.perf_counter()
    _check_settings(split, evidence, sides, chunk, negatives)
    sampler = None if negatives is None else NegativeSampler(negatives, seed)
    facts = _facts(dataset, split)
    if most_facts is not None and len(facts) > most_facts:
        facts = facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:most_facts])]
    asked = _queries(facts, sides, dataset.vocab.num_relations)
    by_reach = isinstance(scorer, RuleBased) and scorer.embedding is None and sampler is None
    fitting = SCORE_BYTES // (8 * dataset.vocab.num_entities)
    size = chunk or max(QUERIES if by_reach else 1, fitting)
    shared = _Shared(
        scorer, dataset.graph(evidence), KnownAnswers(dataset.graph("all")), sampler, by_reach, constraints
    )
    chunks = [asked[start : start + size] for start in range(0, len(asked), size)]
    parts: list[Ranks] = []
    mrr_sum, done, cuts = 0.0, 0, NO_CUTS.copy()
    for ranks, left_out in _ranked(chunks, shared, dataset.vocab):
        parts.append(ranks)
        cuts += left_out
        if progress is not None:
            mrr_sum += math.fsum(query_metrics(ranks)["mrr"])
            done += len(ranks)
            progress(done, len(asked), f"MRR {mrr_sum / done:.3f}")
    return Report(
        dataset=dataset.name,
        split=split,
        evidence=evidence,
        protocol=_protocol(negatives, seed, constraints),
        seconds=time.perf_counter() - started,
        sides=GROUPS[sides],
        relations=dataset.vocab.relations,
        asked=asked,
        ranks=Ranks.concatenate(parts),
        cuts=cuts,
    )


class KnownAnswers:
    """All answers of (head, relation, ?) in a graph, for many queries at once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def pairs(self, heads: NDArray[np.int32], relations: NDArray[np.int32]) -> Pairs:
        """(query, answer) pairs of queries heads [B], relations [B], in order."""
        return self._graph.tails_within(*self._graph.spans(heads, relations))


def _protocol(negatives: int | None, seed: int, constraints: Constraints | None) -> str:
    ruled_out = "" if constraints is None else "; answers that break constraints come last"
    if negatives is None:
        return FULL_RANKING + ruled_out
    return f"ranked among {negatives:,} sampled negatives (seed {seed}), known answers left out{ruled_out}"


def _check_settings(
    split: Split, evidence: Evidence, sides: Side, chunk: int | None, negatives: int | None
) -> None:
    if negatives is not None and negatives < 1:
        raise RNNLogicError(f"there must be at least 1 sampled negative, not {negatives}")
    if sides not in GROUPS:
        raise RNNLogicError(f"unknown sides {sides!r}; choose one of {', '.join(GROUPS)}")
    if chunk is not None and chunk < 1:
        raise RNNLogicError(f"chunk must be at least 1 query, not {chunk}")
    if evidence not in EVIDENCE_SPLITS:
        raise RNNLogicError(f"facts={evidence!r} is unknown; choose train or train+valid")
    if split in EVIDENCE_SPLITS[evidence]:
        raise RNNLogicError(
            f"split {split!r} cannot be evaluated with known facts {evidence!r}: these contain"
            " the facts asked for; use 'train' for valid, 'train' or 'train+valid' for test"
        )


def _facts(dataset: Dataset, split: Split) -> Triples:
    facts: Triples = dataset.facts(split)
    if len(facts) == 0:
        raise RNNLogicError(
            f"dataset {dataset.name!r} has no facts in split {split!r}, so there is nothing to evaluate;"
            " choose another split, or load data that has this one"
        )
    return facts


def both_sides(facts: Triples, num_relations: int) -> NDArray[np.int32]:
    """The queries [n, 3] of facts, both sides: sorted by relation, head, answer."""
    return _queries(facts, "both", num_relations)


def _queries(facts: Triples, sides: Side, num_relations: int) -> NDArray[np.int32]:
    """Queries [n, 3] (head, relation in 0..2R-1, answer), sorted by relation, head, answer."""
    tail_side = facts
    head_side = facts[:, [2, 1, 0]] + np.array([0, num_relations, 0], dtype=facts.dtype)
    blocks = {"both": [tail_side, head_side], "tail": [tail_side], "head": [head_side]}[sides]
    asked = np.concatenate(blocks)
    return asked[np.lexsort((asked[:, 2], asked[:, 0], asked[:, 1]))]


class _Shared(NamedTuple):
    """What the chunks of an evaluation share."""

    scorer: Scorer
    graph: Graph
    known: KnownAnswers
    sampler: NegativeSampler | None
    by_reach: bool  # whether answers are ranked by the entities that rules reach
    constraints: Constraints | None = None


_Ranked = tuple[Ranks, NDArray[np.int64]]  # and what the budget left out [3]


def _ranked(chunks: list[NDArray[np.int32]], shared: _Shared, vocab: Vocab) -> Iterator[_Ranked]:
    """The ranks of each chunk [B, 3], in order; in other scorers than ours only one chunk is at work."""
    done = 0
    side_by_side = isinstance(shared.scorer, RuleBased) and shared.sampler is None
    try:
        if not side_by_side:
            parts: Iterator[_Ranked] = (_rank_chunk(shared, queries) for queries in chunks)
        else:
            assert isinstance(shared.scorer, RuleBased)
            parts = map_ordered(_rank_chunk, chunks, shared, shared.scorer.threads)
        for part in parts:
            yield part
            done += 1
    except UndefinedScoreError as error:
        head, relation, _ = chunks[done][error.row]
        question = f"({vocab.entities[head]}, {vocab.relation_name(relation)}, ?)"
        entity = vocab.entities[error.entity]
        raise RNNLogicError(
            f"the scorer returned NaN for {entity!r} as an answer of {question}; every score must be a"
            " number, or -inf for an entity that is not reached (did training diverge?)"
        ) from error


def _rank_chunk(shared: _Shared, queries: NDArray[np.int32]) -> _Ranked:
    """Ranks of queries [B, 3]; equal questions (head, relation) are adjacent and scored once."""
    check_time()
    heads, relations, answers = np.ascontiguousarray(queries.T)
    is_new = np.append(True, (heads[1:] != heads[:-1]) | (relations[1:] != relations[:-1]))
    question = np.cumsum(is_new) - 1
    rows, known = shared.known.pairs(heads, relations)
    if shared.by_reach:
        assert isinstance(shared.scorer, RuleBased)
        ptr, entity, values, cuts = _reached(shared, heads[is_new], relations[is_new], question)
        known_ptr = np.searchsorted(rows, np.arange(len(heads) + 1))
        size = shared.graph.num_entities
        reached, others = Reached(ptr, entity, values), Known(known_ptr, known.astype(np.int32, copy=False))
        return Ranks(*rank_candidates(reached, question, answers, others, size)), cuts
    scores = shared.scorer.score(shared.graph, heads[is_new], relations[is_new])  # [questions, E]
    expected_shape = (int(is_new.sum()), shared.graph.num_entities)
    if scores.shape != expected_shape:
        raise ValueError(f"the scorer returned an array of shape {scores.shape}, expected {expected_shape}")
    if shared.constraints is not None:
        refuse_nan(scores)
        scores, every = scores.copy(), np.arange(shared.graph.num_entities)
        asked = zip(heads[is_new].tolist(), relations[is_new].tolist(), strict=True)
        for row, (head, relation) in zip(scores, asked, strict=True):
            row[~shared.constraints.allowed(head, relation, every)] = -np.inf
    if not is_new.all():
        scores = scores[question]  # [B, E]
    rank = rank_answers if shared.sampler is None else shared.sampler.rank
    return rank(scores, answers, (rows, known)), NO_CUTS


def _reached(
    shared: _Shared, heads: NDArray[np.int32], relations: NDArray[np.int32], question: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Where the candidates of each question begin [questions+1], candidates, scores, and what was cut [3]."""
    assert isinstance(shared.scorer, RuleBased)
    chunks = list(shared.scorer.scored(shared.graph, heads, relations))
    sizes = np.zeros(len(heads) + 1, np.int64)
    for chunk in chunks:
        sizes[chunk.queries + 1] = np.diff(chunk.ptr)
    ptr = np.cumsum(sizes)
    entity, values = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
    for chunk in chunks:
        for i, place in enumerate(chunk.queries.tolist()):
            part = slice(chunk.ptr[i], chunk.ptr[i + 1])
            entity[ptr[place] : ptr[place + 1]] = chunk.entity[part]
            values[ptr[place] : ptr[place + 1]] = chunk.values[part]
    if np.isnan(values).any():
        first = int(np.argmax(np.isnan(values)))
        asked = int(np.searchsorted(ptr, first, "right")) - 1
        raise UndefinedScoreError(int(np.argmax(question == asked)), int(entity[first]))
    if shared.constraints is not None:
        for i, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
            own = slice(ptr[i], ptr[i + 1])
            values[own][~shared.constraints.allowed(head, relation, entity[own])] = -np.inf
    return ptr, entity, values, sum((chunk.cuts for chunk in chunks), NO_CUTS)


class FrequencyScorer:
    """Scores an entity by how often it is a tail of the query's relation, whatever the head."""

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Number of facts relation(?, entity), -inf where there is none, [B, E]."""
        scores = np.empty((len(heads), graph.num_entities))
        for relation in np.unique(relations):
            _, tails = graph.edges(relation)
            counts = np.bincount(tails, minlength=graph.num_entities)
            scores[relations == relation] = np.where(counts > 0, counts, -np.inf)
        return scores
