"""From a dataset to weighted rules: mine, pre-train the generator, EM rounds, final rules, final weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import Budget, TimeIsUp
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.memory import reuse_memory
from rnnlogic.base.types import Arrays, Progress, no_tick
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.features.chains.sampling.budget import cuts_in_words
from rnnlogic.fit.compact.compact import compacted, pack_frontier
from rnnlogic.fit.compact.teacher import teacher_of
from rnnlogic.fit.em import EMState, Numbers, em_round, numbers_of_rules
from rnnlogic.fit.evidence import with_evidence
from rnnlogic.fit.final import final_rules
from rnnlogic.fit.generators import new_generator, pack_generator, with_parameters
from rnnlogic.fit.given import NOTHING_GIVEN, Edits, GivenRules, edits_of
from rnnlogic.fit.preliminary import STAGE as FIRST
from rnnlogic.fit.preliminary import with_first_rules
from rnnlogic.fit.result import (
    FIGURES,
    FRONTIER,
    Learned,
    Store,
    noted_cuts,
    pack_learned,
    unpack_learned,
)
from rnnlogic.fit.stages import CheckedStore
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.threads import torch_threads
from rnnlogic.generator.train import fit_generator
from rnnlogic.mining.mine import best_per_head, mine_rules
from rnnlogic.predictors.base import Predictor, Task, predictor_class
from rnnlogic.rules.ruleset import RuleSet, pack_rules, unpack_rules
from rnnlogic.statistics.statistics import rule_statistics, training_queries, trust_of

# Shares of the time that is left when a stage begins, under a budget; the rest is for calibration and files
MINE, PRETRAIN, ROUNDS, FINAL, WEIGHTS, COMPACT = 0.35, 0.2, 0.35, 0.3, 0.55, 0.6
RULES_PER_SECOND, LEAST_RULES = 200, 20  # of mined rules, for each second left; measured on FB15k-237


def learn(
    dataset: Dataset,
    config: Config,
    store: Store,
    progress: Progress,
    deadline: float | None = None,
    embedding: Scorer | None = None,
    given: GivenRules = NOTHING_GIVEN,
) -> Learned:
    """Learn rules and fit a predictor on them; stages found in the store are skipped.

    Every stage keeps to its share of the time until `deadline` (a value of time.monotonic()) and logs what it
    left out. Given rules are pinned; without `config.generate` the fit uses only these and the rules
    pinned in the settings.
    """
    reuse_memory()
    edits = edits_of(config, given, dataset.vocab)
    threads, kept = config.threads or default_threads(), CheckedStore(store, config, dataset.vocab)
    budget = noted_cuts(deadline, kept)
    edits = edits.for_predictor(predictor_class(config.variant).uses_constants)
    job = _Job(dataset, config, kept, progress, threads, embedding, edits, budget)
    with torch_threads(1):  # torch's sums depend on the number of threads; ours do not
        return job.compact(*job.full(*job.rules()))


@dataclass(frozen=True, eq=False)
class _Job:
    """One fit: what all stages share."""

    dataset: Dataset
    config: Config
    store: Store
    progress: Progress
    threads: int
    embedding: Scorer | None
    edits: Edits
    budget: Budget

    @property
    def predictor(self) -> type[Predictor]:
        """The class of the predictor."""
        return predictor_class(self.config.variant)

    def full(self, rules: RuleSet, log_prior: NDArray[np.float64]) -> tuple[Learned, bool]:
        """The full model, and whether a compact one is made of it."""
        is_sum = self.predictor.reduced is not Predictor.reduced
        wanted = self.config.compact.enabled and self.config.generate and len(self.dataset.valid) > 0
        saved = self.kept("full", lambda: self.learned_in_time(rules, log_prior))
        return unpack_learned(saved, self.config, self.embedding), wanted and is_sum

    @property
    def first(self) -> Arrays | None:
        """The preliminary model, if it may stand in for one that there is no time for."""
        return (
            self.store.load(FIRST) if self.budget.is_limited and self.config.variant == "rnnlogic" else None
        )

    def learned_in_time(self, rules: RuleSet, log_prior: NDArray[np.float64]) -> Arrays:
        """The full model, or the preliminary one if there is no time for any weights."""
        try:
            return pack_learned(self.learned(rules, log_prior))
        except TimeIsUp:
            assert self.first is not None
            self.budget.cut("weights", "none learned: the model is the preliminary one")
            return self.first

    def compact(self, full: Learned, wanted: bool) -> Learned:
        """The compact model, if one is wanted."""
        if not wanted:
            return full
        saved = self.kept("compact", lambda: pack_learned(self.compact_in_time(full)))
        return unpack_learned(saved, self.config, self.embedding)

    def compact_in_time(self, full: Learned) -> Learned:
        """The compact model, or the full one if there is no time for it."""
        try:
            return self.compacted(full)
        except TimeIsUp:
            self.budget.cut("compact", f"skipped: the model keeps all {len(full.rules):,} rules")
            return full

    def compacted(self, full: Learned) -> Learned:
        """The compact model; TimeIsUp if its share of the time does not suffice."""
        predictor, config, started = full.predictor, self.config, time.perf_counter()
        fixed = self.edits.pinned | self.edits.constants
        teacher = teacher_of(full, self.dataset, config, fixed.find(full.rules) >= 0)
        budget = self.budget.share(COMPACT)
        with budget.enforced():
            found = compacted(teacher, self.threads, partial(self.progress, "compact"), budget)
        few = predictor.reduced(full.rules[found.rules], found.weights)
        assert few is not None
        level = found.levels[found.chosen]
        self.note("compact", started, rules=level.rules, valid_mrr=level.mrr, drop=level.drop)
        self.store.save(FRONTIER, pack_frontier(found) | {"full_rules": np.array(len(full.rules))})
        return Learned(few, *(getattr(full, name)[found.rules] for name in FIGURES))

    def learned(self, rules: RuleSet, log_prior: NDArray[np.float64]) -> Learned:
        """A predictor fitted on rules, and figures of those it uses."""
        figures = self.figures(rules)
        rules = rules.trusted(trust_of(*figures))
        task = self.task(rules)
        if self.config.generate:
            rank = np.where(self.edits.pinned.find(rules) >= 0, np.nan, log_prior)
            task, kept = with_evidence(task, self.predictor, self.edits.banned, rank)
            task = replace(task, rules=task.rules | self.edits.constants)
            log_prior = np.append(log_prior[kept], np.full(len(task.rules) - len(kept), np.nan))
        started = time.perf_counter()
        predictor = self.predictor.fit(task)
        self.note("weights", started, rules=len(task.rules))
        used = predictor.rules
        places, known = task.rules.find(used), rules.find(used)
        new = np.flatnonzero(known < 0)
        support, confidence = (
            np.append(*columns) for columns in zip(figures, self.figures(used[new]), strict=True)
        )
        known[new] = len(rules) + np.arange(len(new))
        return Learned(predictor, log_prior[places], support[known], confidence[known])

    def figures(self, rules: RuleSet) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Support and confidence of rules [n]; 0 for features, as being right says little of them."""
        graph, config = self.dataset.graph("train"), self.config
        support, confidence = np.zeros(len(rules), np.int64), np.zeros(len(rules))
        bodies = np.flatnonzero(~rules.are_features)
        if len(bodies):
            started, tick = time.perf_counter(), partial(self.progress, "rule figures")
            number = config.final.figures_queries or config.mine.queries_per_relation
            queries = training_queries(graph, number, config.seed)
            time_left = self.budget.share(COMPACT / 2)
            statistics = rule_statistics(graph, rules[bodies], queries, self.threads, tick, time_left)
            if cut := cuts_in_words(statistics.cuts):
                self.note("rule figures", started, budget=cut)
            support[bodies], confidence[bodies] = statistics.support, statistics.confidence
        return support, confidence

    def task(self, rules: RuleSet) -> Task:
        """What the predictor learns from."""
        known = None if self.config.generate else self.edits.weights
        told, budget = (self.progress, self.note, self.kept), self.budget.share(WEIGHTS)
        given = self.threads, self.embedding, known
        return Task(self.dataset, rules, self.config, *given, *told, budget, self.first is not None)

    def kept(self, stage: str, make: Callable[[], Arrays]) -> Arrays:
        """The result of a stage: from the store, or made now and kept there."""
        saved = self.store.load(stage)
        if saved is None:
            saved = make()
            self.store.save(stage, saved)
        return saved

    def rules(self) -> tuple[RuleSet, NDArray[np.float64]]:
        """The rules to use and their log-probabilities; nan for rules that were only given."""
        if not self.config.generate:
            return self.edits.pinned, np.full(len(self.edits.pinned), np.nan)
        saved = self.kept("rules", self.generated)
        return unpack_rules(saved), saved["log_prior"]

    def generated(self) -> Arrays:
        """The generator's best rules and the pinned ones, after mining, pre-training and EM.

        Where the time does not suffice for the generator, the best mined rules.
        """
        graph, settings, banned = self.dataset.graph("train"), self.config.final, self.edits.banned
        per_mined, lengths = self.config.generator.rules_per_mined, self.config.choice.lengths
        try:
            generator = self.rounds(self.start())
            self.progress("final rules", 0, 1)
            wanted = numbers_of_rules(graph, settings.rules, per_mined, self.mined)
            with self.budget.share(FINAL).enforced():
                ranked = final_rules(generator, wanted, settings, self.store, self.threads, banned, lengths)
        except TimeIsUp:
            self.budget.cut("generator", "left out: the rules are those that mining found")
            return self.mined_rules()
        rules, log_prior = self.edits.with_pinned(*ranked, generator.log_probs)
        return pack_rules(rules) | {"log_prior": log_prior}

    @property
    def mined(self) -> Numbers | None:
        """How many rules of each relation [2R] mining kept; None without mining."""
        saved = self.store.load("mined")
        if saved is None:
            return None
        return np.bincount(unpack_rules(saved).heads, minlength=2 * self.dataset.vocab.num_relations)

    def mined_rules(self) -> Arrays:
        """The best mined rules and the pinned ones, without log-probabilities."""
        mined, quality, _ = self.mine()
        relations = max(len(mined.head_relations()), 1)
        affordable = int(min(RULES_PER_SECOND * self.budget.left / relations, 1 << 30))
        number = min(self.config.final.rules, max(LEAST_RULES, affordable))
        first, ids = self.store.load(FIRST), best_per_head(mined, quality, number)
        best = with_first_rules(first if self.budget.is_limited else None, mined[ids])
        unknown = np.full(len(best), np.nan)
        rules, log_prior = self.edits.with_pinned(best, unknown, lambda more: np.full(len(more), np.nan))
        return pack_rules(rules) | {"log_prior": log_prior}

    def start(self) -> EMState:
        """What the first round starts from; with replay, mined rules count as the selection of a round."""
        no_rules = RuleSet.from_rules([]), np.zeros(0)
        if not self.config.em.replay and not self.config.generator.pretrain_steps:  # no use for mined rules
            return EMState(0, new_generator(self.dataset, self.config), *no_rules)
        mined, quality, is_cut = self.mine()
        if is_cut:
            raise TimeIsUp
        generator = self.pretrain(mined, quality)
        if not self.config.em.replay:
            return EMState(0, generator, *no_rules)
        totals = np.bincount(mined.heads, quality)[mined.heads]
        return EMState(0, generator, mined, quality / np.maximum(totals, 1e-300))  # no rule may be any good

    def mine(self) -> tuple[RuleSet, NDArray[np.float64], bool]:
        """Candidate rules, their quality, and whether the time was up before all was looked at."""
        saved = self.store.load("mined")
        if saved is None:
            started = time.perf_counter()
            budget = self.budget.share(MINE)
            rules, statistics, joined = mine_rules(
                self.dataset.graph("train"),
                self.config.mine,
                self.config.max_length,
                self.edits.banned,
                self.config.seed,
                self.threads,
                partial(self.progress, "mine"),
                budget,
            )
            is_cut = budget.is_over or (budget.is_limited and not statistics.support.any())
            if not statistics.support.any() and not is_cut:
                raise RNNLogicError(
                    "no rule was found whose paths join the ends of training facts; if rules are banned, ban "
                    "fewer; to learn only the weights of given rules, use --rules FILE --no-generate"
                )
            quality = statistics.quality(self.config.mine.smoothing)
            saved = pack_rules(rules) | {"quality": quality, "joined": joined}
            saved |= {"is_cut": np.array(True)} if is_cut else {}
            self.note("mined", started, rules=len(rules), budget=cuts_in_words(statistics.cuts))
            self.store.save("mined", saved)
        return unpack_rules(saved), saved["quality"], "is_cut" in saved

    def pretrain(self, rules: RuleSet, quality: NDArray[np.float64]) -> RuleGenerator:
        """A generator pre-trained on the mined rules, weighted by their quality."""
        settings = self.config.generator
        generator = new_generator(self.dataset, self.config)
        saved = self.store.load("pretrained")
        if saved is None:
            started = time.perf_counter()
            fitted = fit_generator(
                generator,
                rules,
                quality,
                steps=settings.pretrain_steps,
                learning_rate=settings.pretrain_learning_rate,
                batch_size=settings.batch_size,
                random=np.random.default_rng(self.config.seed),
                tick=partial(self.progress, "pretrain"),
                budget=self.budget.share(PRETRAIN),
            )
            if len(fitted.losses) < settings.pretrain_steps:
                what = f"{len(fitted.losses):,} of {settings.pretrain_steps:,} steps"
                self.budget.cut("pretrain", what)
            saved = pack_generator(generator)
            self.note("pretrained", started, loss=fitted.loss)
            self.store.save("pretrained", saved)
        return with_parameters(generator, saved)

    def rounds(self, state: EMState) -> RuleGenerator:
        """EM (or REINFORCE) rounds; returns the best generator by validation MRR.

        A round evaluates the rules of the generator it starts with, then trains that generator. If the last
        round is the best, its trained generator is returned; else the one that the best round started with.
        """
        em, budget = self.config.em, self.budget.share(ROUNDS)
        best, best_round, best_generator = -1.0, 0, state.generator
        paid = 0  # the last round that was worth its time
        for number in range(1, (0 if em.optimizer == "none" else em.rounds) + 1):
            before = state.generator
            saved = self.store.load(f"round-{number}")
            if saved is None:
                try:
                    self.require_time(number, budget)
                    with budget.enforced():
                        saved = self.one_round(state, number, budget)
                except TimeIsUp:
                    self.store.save("rounds", {"number": np.array(number - 1)})
                    self.budget.cut("rounds", f"{number - 1} of {em.rounds} EM rounds")
                    break
            state = _unpack_state(saved, number, state.generator)
            paid = number if saved["valid_mrr"] >= best + em.least_gain else paid
            if saved["valid_mrr"] > best:
                best, best_round, best_generator = float(saved["valid_mrr"]), number, before
            if number - paid >= em.patience:
                break
        return state.generator if best_round == state.round else best_generator

    def require_time(self, number: int, budget: Budget) -> None:
        """TimeIsUp if there is no time for a round, or an earlier session of the fit had none."""
        last = self.store.load("rounds")
        if last is not None and number > int(last["number"]):
            raise TimeIsUp
        budget.check()

    def one_round(self, state: EMState, number: int, budget: Budget) -> Arrays:
        """Run one round and save its result."""
        started = time.perf_counter()
        stage = f"round {number}/{self.config.em.rounds}"
        graph = self.dataset.graph("train")
        tick = partial(self.progress, stage)
        shared = self.config, self.threads, tick, self.embedding, self.edits, budget, self.mined
        state, info = em_round(state, graph, *shared)
        mrr = self.valid_mrr(info.rules, info.weights, budget)
        saved = _pack_state(state) | {"valid_mrr": np.array(mrr)}
        self.progress(stage, 1, 1, f"valid MRR {mrr:.4f}")
        self.note(
            "round",
            started,
            round=number,
            valid_mrr=mrr,
            rules=len(info.rules),
            loss=info.loss,
            generator_loss=info.generator_loss,
        )
        self.store.save(f"round-{number}", saved)
        return saved

    def valid_mrr(self, rules: RuleSet, weights: NDArray[np.float64], budget: Budget) -> float:
        """Validation MRR of weighted rules, on a sample if the split is large."""
        if not len(self.dataset.valid):
            raise RNNLogicError(
                "the dataset has no validation facts, by which EM chooses its best round; "
                "`rnnlogic data split` makes a validation set"
            )
        values = self.predictor.values(rules, self.config, self.embedding)
        scorer, most = values.scorer(weights, self.config.threads), self.config.em.valid_facts
        tick = budget.guarded(no_tick)
        return evaluate(scorer, self.dataset, "valid", progress=tick, most_facts=most).metrics()["mrr"]

    def note(self, stage: str, started: float, **figures: Any) -> None:
        """Log a stage: its figures and its duration; before it is kept, so that a kill loses no line."""
        self.store.log({"stage": stage, "seconds": round(time.perf_counter() - started, 2), **figures})


def _pack_state(state: EMState) -> Arrays:
    return pack_generator(state.generator) | pack_rules(state.selected) | {"selections": state.selections}


def _unpack_state(arrays: Arrays, number: int, generator: RuleGenerator) -> EMState:
    return EMState(number, with_parameters(generator, arrays), unpack_rules(arrays), arrays["selections"])
