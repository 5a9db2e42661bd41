"""The one facade: learn rules for a knowledge graph, answer questions with them, and say why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from rnnlogic.answering.answers import Answer, Known, best_answers
from rnnlogic.answering.calibration.calibration import (
    Calibration,
    calibrate,
    pack_calibration,
    unpack_calibration,
)
from rnnlogic.answering.explain import DETAILED, Comparison, Explanation, compare, explain
from rnnlogic.answering.listing import Choice, RuleInfo, Sort, list_rules
from rnnlogic.answering.tables import Listed
from rnnlogic.answering.transfer import Transfer, dataset_with, transfer
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.lock import exclusive
from rnnlogic.base.types import Arrays, Progress, Tick, silent
from rnnlogic.config import Config, Variant, changed, make_config, preset_for
from rnnlogic.data.dataset import EVIDENCE_SPLITS, Dataset, Evidence, load_dataset
from rnnlogic.evaluation.evaluate import Split, evaluate
from rnnlogic.evaluation.report import Report, Side
from rnnlogic.learning.given import edits_of, generating
from rnnlogic.learning.result import Learned
from rnnlogic.predictors.base import Predictor
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.runs.embedding import Given, obtain_embedding, save_with_run
from rnnlogic.runs.fitted import load_fitted
from rnnlogic.runs.folder import Run
from rnnlogic.runs.given import RuleSource, read_given, rule_lines, rules_of_fit

if TYPE_CHECKING:
    from rnnlogic.answering.calibration.level import Level
    from rnnlogic.answering.completion.complete import NewFact
    from rnnlogic.base.types import Progress
    from rnnlogic.data.vocab import Vocab
    from rnnlogic.learning.result import Store

Part = TypeVar("Part")


class RNNLogic:
    """Learns rules and their weights; then predicts, explains, evaluates.

    Without settings a packaged set is taken that suits the dataset and the variant: `rnnlogic`, or
    `rnnlogic-emb`, where an embedding scores the paths.
    """

    def __init__(
        self, config: Config | Mapping[str, Any] | None = None, variant: Variant | None = None
    ) -> None:
        given = make_config(dict(config)) if isinstance(config, Mapping) else config
        self._given = given if given is None or variant is None else changed(given, {"variant": variant})
        self._variant: Variant = variant or "rnnlogic"
        self._config = self._given
        self._dataset: Dataset | None = None
        self._learned: Learned | None = None
        self._calibration: Calibration | None = None
        self.transfer: Transfer | None = None  # how the relations fit, if the rules come from another graph

    def __repr__(self) -> str:
        if self._dataset is None or self._learned is None:
            return "RNNLogic(not fitted)"
        return f"RNNLogic({len(self._learned.rules):,} rules for {self._dataset.name})"

    def fit(
        self,
        dataset: Any,
        run: str | Path | None = None,
        progress: Progress | None = None,
        max_minutes: float | None = None,
        restart: bool = False,
        embeddings: Given = None,
        rules: RuleSource | None = None,
        generate: bool | None = None,
    ) -> RNNLogic:
        """Learn from anything that `load_dataset` takes.

        With a folder `run` finished stages are kept there: an interrupted fit resumes, and a finished one is
        only loaded, unless `restart`. After `max_minutes` no EM round starts.
        `embeddings` is a folder that `rnnlogic embed` made or a `RotatE`, for the variants with embeddings;
        without it they train one first. For `plus-emb` without path scores it may be anything that scores
        answers, such as a `PyKEENScorer`; such a fit has no run folder.

        `rules` (a rule file, a run folder, a `RuleSet`, texts) are always among the final ones; with
        `generate=False` they are the only ones. RNNLogic+ generates none beside given ones unless told to.
        """
        with exclusive(run):
            return self._fit(dataset, run, progress, max_minutes, restart, embeddings, rules, generate)

    def _fit(
        self,
        dataset: Any,
        run: str | Path | None,
        progress: Progress | None,
        max_minutes: float | None,
        restart: bool,
        embeddings: Given,
        rules: RuleSource | None,
        generate: bool | None,
    ) -> RNNLogic:
        from rnnlogic.learning.learn import learn
        from rnnlogic.learning.result import MemoryStore

        deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
        data = load_dataset(dataset)
        config = self._given or preset_for(data, self._variant)
        given = rules_of_fit(rules, data.vocab, None if restart else run)
        config = generating(config, given, generate)
        edits_of(config, given, data.vocab)  # refuses what does not fit before anything is written
        folder = (
            None
            if run is None
            else Run.start(run, data, config, restart, rule_lines(given.rules, data.vocab))
        )
        embedding = obtain_embedding(data, config, embeddings, folder, progress or silent)
        if folder is not None and folder.finished:
            return self._take(data, config, folder.learned(embedding), folder.calibration())
        store: Store = folder or MemoryStore()
        self._take(data, config, learn(data, config, store, progress or silent, deadline, embedding, given))
        if folder is not None:
            folder.save_calibration(*pack_calibration(self.calibration(progress)))
            folder.finish(self.learned)
        return self

    def predict(
        self,
        head: str,
        relation: str,
        k: int = 10,
        evidence: Evidence = "train",
        known: Known = "drop",
    ) -> list[Answer]:
        """The k best answers of (head, relation, ?); `relation^-1` asks for heads.

        Facts that are in the evidence already are left out, or with `known="keep"` only marked. Candidates
        are the entities that some rule reaches, or all entities where the embedding has a say too. They come
        by score; `probability` is the chance that the fact is true (docs/probability.md).
        """
        return self.predict_many([(head, relation)], k, evidence, known)[0]

    def predict_many(
        self,
        queries: Sequence[tuple[str, str]],
        k: int = 10,
        evidence: Evidence = "train",
        known: Known = "drop",
    ) -> list[list[Answer]]:
        """`predict` for many (head, relation) at once, on all threads."""
        vocab = self.dataset.vocab
        heads = np.array([vocab.entity_id(head) for head, _ in queries], np.int32)
        relations = np.array([vocab.relation_id(relation) for _, relation in queries], np.int32)
        graph, level = self.dataset.graph(evidence), self.level(evidence)
        found = best_answers(graph, vocab, self.scorer, level, heads, relations, k, known)
        return [Listed(answers) for answers in found]

    @overload
    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        paths: int = 3,
        evidence: Evidence = "train",
        detailed: int | None = DETAILED,
    ) -> Explanation: ...

    @overload
    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        paths: int = 3,
        evidence: Evidence = "train",
        detailed: int | None = DETAILED,
        *,
        instead: str,
    ) -> Comparison: ...

    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        paths: int = 3,
        evidence: Evidence = "train",
        detailed: int | None = DETAILED,
        instead: str | None = None,
    ) -> Explanation | Comparison:
        """Why relation(head, tail) has its score: ideas, the rules of each idea, and paths of the strongest.

        With another answer `instead`, why the two scores differ. Print the result, or show it in a notebook.
        """
        vocab = self.dataset.vocab
        asked = vocab.entity_id(head), vocab.relation_id(relation), vocab.entity_id(tail)
        graph, known = self.dataset.graph(evidence), self.dataset.graph("all")
        level = self.level(evidence)

        def probability(*fact: int) -> float:
            return float(level.probabilities(graph, self.scorer, np.array([fact]))[0])

        if instead is None:
            return explain(graph, vocab, self.scorer, *asked, known, paths, detailed, probability)
        other = vocab.entity_id(instead)
        return compare(graph, vocab, self.scorer, *asked, other, known, paths, detailed, probability)

    def rules(
        self,
        relation: str | None = None,
        top: int | None = None,
        sort: Sort = "weight",
        min_confidence: float = 0.0,
        min_support: int = 0,
        max_length: int | None = None,
        use: bool = False,
        progress: Progress | None = None,
    ) -> list[RuleInfo]:
        """Rules by relation, best first; of one relation only, or only the `top` of each.

        `sort="use"` puts those first that decide most on validation facts; this and `use` count it. The other
        figures are AMIE's on the training facts.
        """
        learned, choice = self.learned, Choice(top, sort, min_confidence, min_support, max_length, use)
        every = learned.rules.head_relations().tolist()
        wanted = every if relation is None else [self.dataset.vocab.relation_id(relation)]
        return list_rules(learned, self.dataset, wanted, choice, progress or silent)

    def evaluate(
        self,
        split: Split = "test",
        evidence: Evidence = "train",
        sides: Side = "both",
        progress: Tick | None = None,
        negatives: int | None = None,
        seed: int = 0,
    ) -> Report:
        """Rank the answers of a split by the rules, among all entities or so many sampled ones."""
        return evaluate(
            self.scorer,
            self.dataset,
            split,
            evidence,
            sides,
            progress=progress,
            negatives=negatives,
            seed=seed,
        )

    def complete(
        self,
        relation: str | None = None,
        min_probability: float = 0.0,
        most: int = 1000,
        evidence: Evidence = "all",
        progress: Progress | None = None,
    ) -> Iterator[NewFact]:
        """The most probable facts that the evidence does not hold, best first, each with a reason.

        They come one by one once all questions have been asked; memory does not grow with their number.
        """
        from rnnlogic.answering.completion.complete import complete

        wanted = _relations(self.dataset.vocab, relation)
        level, graph = self.level(evidence, progress), self.dataset.graph(evidence)
        limits = min_probability, most, progress or silent
        return complete(graph, self.dataset.vocab, self.scorer, level, wanted, *limits)

    def calibration(self, progress: Progress | None = None) -> Calibration:
        """How probable facts are for each kind of evidence; made by `fit`, or now if it was not."""
        for evidence in EVIDENCE_SPLITS:
            self.level(cast("Evidence", evidence), progress)
        return _fitted(self._calibration)

    def level(self, evidence: Evidence = "train", progress: Progress | None = None) -> Level:
        """How probable facts are that this evidence does not hold."""
        if evidence not in EVIDENCE_SPLITS:
            raise UnknownNameError("evidence", evidence, EVIDENCE_SPLITS)
        levels = {} if self._calibration is None else self._calibration.levels
        if evidence not in levels:
            seed = self.config.seed
            made = calibrate(self.dataset, self.scorer, progress or silent, seed, [evidence])
            self._calibration = Calibration(levels | made.levels)
        return _fitted(self._calibration).levels[evidence]

    def on(self, graph: Any) -> RNNLogic:
        """A model with the same rules and weights on another graph, of anything that `load_dataset` takes.

        Entities may be others; relations are matched by name. `transfer` of the new model tells which had no
        match and how many rules were dropped for it.
        """
        dataset = load_dataset(graph)
        learned, report = transfer(self.learned, self.dataset.vocab, dataset)
        moved = RNNLogic(self.config)._take(dataset, self.config, learned)
        moved.transfer = report
        return moved

    def with_facts(self, facts: Iterable[Sequence[str]]) -> RNNLogic:
        """A model whose evidence holds these facts (head, relation, tail) too; this one stays as it is.

        Nothing is learned anew, so it is quick. New entities are welcome, except where there is an embedding.
        """
        dataset = dataset_with(self.dataset, facts, new_entities=self.scorer.embedding is None)
        more = RNNLogic(self.config)._take(dataset, self.config, self.learned)
        more.transfer = self.transfer
        return more

    def with_rules(self, rules: RuleSource) -> RNNLogic:
        """A model that uses these rules too, though it was not trained on them; this one stays as it is.

        Only RNNLogic+ with vectors by an LSTM can tell what a rule is worth that it has never seen.
        """
        from rnnlogic.mining.statistics import rule_statistics, training_queries
        from rnnlogic.predictors.plus.unseen import with_unseen_rules

        given, known = read_given(rules, self.dataset.vocab).rules, self.learned
        new = RuleSet.from_rules(rule for rule in given if rule not in known.rules)
        graph, most = self.dataset.graph("train"), self.config.mine.queries_per_relation
        statistics = rule_statistics(graph, new, training_queries(graph, most, 0))
        learned = Learned(
            with_unseen_rules(known.predictor, new),
            np.append(known.log_prior, np.full(len(new), np.nan)),
            np.append(known.support, statistics.support),
            np.append(known.confidence, statistics.confidence),
        )
        more = RNNLogic(self.config)._take(self.dataset, self.config, learned)
        more.transfer = self.transfer
        return more

    def save(self, folder: str | Path) -> Path:
        """Write a run folder that `load` reads back; it must be new or empty."""
        run = Run.create(folder, self.dataset, self.config)
        if self.scorer.embedding is not None:
            save_with_run(self.scorer.embedding, self.dataset.vocab, run)
        if self._calibration is not None:
            run.save_calibration(*pack_calibration(self._calibration))
        run.finish(self.learned)
        return run.folder

    @classmethod
    def load(cls, folder: str | Path) -> RNNLogic:
        """A fitted model from its run folder, which holds or names all it needs."""
        fitted = load_fitted(folder)
        return cls()._take(fitted.dataset, fitted.config, fitted.learned, fitted.calibration)

    @property
    def dataset(self) -> Dataset:
        """The data it was fitted on."""
        return _fitted(self._dataset)

    @property
    def learned(self) -> Learned:
        """Rules, weights and statistics."""
        return _fitted(self._learned)

    @property
    def config(self) -> Config:
        """The settings; before `fit`, those given."""
        return _fitted(self._config)

    @property
    def scorer(self) -> Predictor:
        """The predictor, which is a scorer for `evaluate`."""
        return self.learned.predictor

    def _take(
        self,
        dataset: Dataset,
        config: Config,
        learned: Learned,
        calibration: tuple[Arrays, dict[str, Any]] | None = None,
    ) -> RNNLogic:
        self._dataset, self._config, self._learned = dataset, config, learned
        self._calibration = (
            None if calibration is None else unpack_calibration(*calibration, dataset.vocab.num_relations)
        )
        return self


def _relations(vocab: Vocab, name: str | None) -> list[int]:
    """Ids of one relation or of all, without inverses."""
    if name is None:
        return list(range(vocab.num_relations))
    relation = vocab.relation_id(name)
    if relation >= vocab.num_relations:
        raise RNNLogicError(f"facts are written the way round that the graph has them: ask for {name[:-3]!r}")
    return [relation]


def _fitted(part: Part | None) -> Part:
    if part is None:
        raise RNNLogicError("the model is not fitted yet; call fit(dataset) or RNNLogic.load(folder)")
    return part
