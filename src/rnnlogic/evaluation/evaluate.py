"""Ask every query of a split, rank the answers, report the metrics."""

from __future__ import annotations

import math
import time
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Tick
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence
from rnnlogic.data.graph import Graph, Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.metrics import query_metrics
from rnnlogic.evaluation.ranks import Pairs, Ranks, UndefinedScoreError, rank_answers
from rnnlogic.evaluation.report import FULL_RANKING, Report, Side
from rnnlogic.evaluation.sampled import NegativeSampler

Split = Literal["valid", "test"]

SCORE_BYTES = 16 << 20  # scores of one chunk by default; with more, memory is not reused
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
) -> Report:
    """Rank the answers of a split, filtered against all facts, with queries grounded on `evidence`.

    A fact (h, r, t) asks (h, r, ?) with answer t (tail side) and (t, r^-1, ?) with answer h (head side).
    `chunk` queries are scored at a time; it changes memory and speed, never the result. Of a split with more
    than `most_facts` a fixed random sample is asked. With `negatives`, each answer is ranked among that many
    entities that are not known answers, drawn with `seed`, instead of among all.
    """
    started = time.perf_counter()
    _check_settings(split, evidence, sides, chunk, negatives)
    sampler = None if negatives is None else NegativeSampler(negatives, seed)
    facts = _facts(dataset, split)
    if most_facts is not None and len(facts) > most_facts:
        facts = facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:most_facts])]
    asked = _queries(facts, sides, dataset.vocab.num_relations)
    size = chunk or max(1, SCORE_BYTES // (8 * dataset.vocab.num_entities))
    graph, known = dataset.graph(evidence), KnownAnswers(dataset.graph("all"))
    parts: list[Ranks] = []
    mrr_sum = 0.0
    for start in range(0, len(asked), size):
        queries = asked[start : start + size]
        parts.append(_rank_chunk(scorer, graph, known, queries, dataset.vocab, sampler))
        if progress is not None:
            mrr_sum += math.fsum(query_metrics(parts[-1])["mrr"])
            done = start + len(queries)
            progress(done, len(asked), f"MRR {mrr_sum / done:.3f}")
    return Report(
        dataset=dataset.name,
        split=split,
        evidence=evidence,
        protocol=_protocol(negatives, seed),
        seconds=time.perf_counter() - started,
        sides=GROUPS[sides],
        relations=dataset.vocab.relations,
        asked=asked,
        ranks=Ranks.concatenate(parts),
    )


def reciprocal_ranks(scorer: Scorer, dataset: Dataset, facts: Triples) -> NDArray[np.float64]:
    """Expected reciprocal ranks of the answers of some facts, both sides, by training facts."""
    asked = _queries(facts, "both", dataset.vocab.num_relations)
    size = max(1, SCORE_BYTES // (8 * dataset.vocab.num_entities))
    graph, known = dataset.graph("train"), KnownAnswers(dataset.graph("all"))
    chunks = (asked[start : start + size] for start in range(0, len(asked), size))
    ranks = [_rank_chunk(scorer, graph, known, chunk, dataset.vocab, None) for chunk in chunks]
    return query_metrics(Ranks.concatenate(ranks))["mrr"]


class KnownAnswers:
    """All answers of (head, relation, ?) in a graph, for many queries at once."""

    def __init__(self, graph: Graph) -> None:
        self._arrays, self._num_entities = graph.arrays, graph.num_entities
        relation_of_row = np.repeat(np.arange(2 * graph.num_relations), np.diff(graph.arrays.relation_rows))
        self._row_keys = relation_of_row * graph.num_entities + graph.arrays.row_head  # ascending, int64

    def pairs(self, heads: NDArray[np.int32], relations: NDArray[np.int32]) -> Pairs:
        """(query, answer) pairs of queries heads [B], relations [B], in order; each must have an answer."""
        rows = np.searchsorted(self._row_keys, relations.astype(np.int64) * self._num_entities + heads)
        starts, ends = self._arrays.row_edges[rows], self._arrays.row_edges[rows + 1]
        lengths = ends - starts
        queries = np.repeat(np.arange(len(heads)), lengths)
        place_in_row = np.arange(len(queries)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return queries, self._arrays.tails[starts[queries] + place_in_row]


def _protocol(negatives: int | None, seed: int) -> str:
    if negatives is None:
        return FULL_RANKING
    return f"ranked among {negatives:,} sampled negatives (seed {seed}), known answers left out"


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
        raise RNNLogicError(f"unknown evidence {evidence!r}; choose train or train+valid")
    if split in EVIDENCE_SPLITS[evidence]:
        raise RNNLogicError(
            f"split {split!r} cannot be evaluated with evidence {evidence!r}: that evidence contains"
            " the facts asked for; use evidence 'train' for valid, 'train' or 'train+valid' for test"
        )


def _facts(dataset: Dataset, split: Split) -> Triples:
    facts: Triples = dataset.facts(split)
    if len(facts) == 0:
        raise RNNLogicError(
            f"dataset {dataset.name!r} has no facts in split {split!r}, so there is nothing to evaluate;"
            " choose another split, or load data that has this one"
        )
    return facts


def _queries(facts: Triples, sides: Side, num_relations: int) -> NDArray[np.int32]:
    """Queries [n, 3] (head, relation in 0..2R-1, answer), sorted by relation, head, answer."""
    tail_side = facts
    head_side = facts[:, [2, 1, 0]] + np.array([0, num_relations, 0], dtype=facts.dtype)
    blocks = {"both": [tail_side, head_side], "tail": [tail_side], "head": [head_side]}[sides]
    asked = np.concatenate(blocks)
    return asked[np.lexsort((asked[:, 2], asked[:, 0], asked[:, 1]))]


def _rank_chunk(
    scorer: Scorer,
    graph: Graph,
    known: KnownAnswers,
    queries: NDArray[np.int32],
    vocab: Vocab,
    sampler: NegativeSampler | None,
) -> Ranks:
    """Ranks of queries [B, 3]; equal questions (head, relation) are adjacent and scored once."""
    heads, relations, answers = np.ascontiguousarray(queries.T)
    is_new = np.append(True, (heads[1:] != heads[:-1]) | (relations[1:] != relations[:-1]))
    scores = scorer.score(graph, heads[is_new], relations[is_new])  # [questions, E]
    expected_shape = (int(is_new.sum()), graph.num_entities)
    if scores.shape != expected_shape:
        raise ValueError(f"the scorer returned an array of shape {scores.shape}, expected {expected_shape}")
    if not is_new.all():
        scores = scores[np.cumsum(is_new) - 1]  # [B, E]
    try:
        rank = rank_answers if sampler is None else sampler.rank
        return rank(scores, answers, known.pairs(heads, relations))
    except UndefinedScoreError as error:
        head, relation, _ = queries[error.row]
        question = f"({vocab.entities[head]}, {vocab.relation_name(relation)}, ?)"
        entity = vocab.entities[error.entity]
        raise RNNLogicError(
            f"the scorer returned NaN for {entity!r} as an answer of {question}; every score must be a"
            " number, or -inf for an entity that is not reached (did training diverge?)"
        ) from error
