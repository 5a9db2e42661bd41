"""From a dataset to weighted rules: mine, pre-train the generator, EM rounds, final rules, final weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.train import fit_generator
from rnnlogic.learning.em import EMState, em_round, gather
from rnnlogic.learning.given import NOTHING_GIVEN, Edits, GivenRules, edits_of
from rnnlogic.learning.result import (
    Arrays,
    Learned,
    Store,
    pack_learned,
    pack_rules,
    unpack_learned,
    unpack_rules,
)
from rnnlogic.mining.search import PathSearch, find_candidates
from rnnlogic.mining.statistics import RuleStatistics, rule_statistics, training_queries
from rnnlogic.predictors.loglinear.fit import solve_relations
from rnnlogic.predictors.paths.scores import PathModel
from rnnlogic.predictors.plus.train import PlusTask, strongest_rules
from rnnlogic.predictors.scorers import make_scorer, path_model_of, validation_mrr_by_weight
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet

Progress = Callable[[str, int, int, str], None]  # stage, done, total, note


def learn(
    dataset: Dataset,
    config: Config,
    store: Store,
    progress: Progress,
    deadline: float | None = None,
    embedding: Scorer | None = None,
    given: GivenRules = NOTHING_GIVEN,
) -> Learned:
    """Learn weighted rules; stages found in the store are not done again.

    No EM round is begun after `deadline` (a value of time.monotonic()). An embedding scores paths, if given.
    Given rules are pinned; without `config.generate` they and the pinned ones are all there is.
    """
    edits = edits_of(config, given, dataset.vocab)
    job = _Job(dataset, config, store, progress, config.threads or default_threads(), embedding, edits)
    torch.set_num_threads(1)  # its sums depend on the number of threads; ours do not
    return job.plus(deadline) if config.is_plus else job.weighted_rules(deadline)


@dataclass(frozen=True)
class _Job:
    """One fit: what all stages share."""

    dataset: Dataset
    config: Config
    store: Store
    progress: Progress
    threads: int
    embedding: Scorer | None
    edits: Edits

    @property
    def paths(self) -> PathModel | None:
        """What scores paths; None if all count alike."""
        return path_model_of(self.embedding, self.config)

    def weighted_rules(self, deadline: float | None) -> Learned:
        """All stages of RNNLogic."""
        if not self.config.generate:
            rules = self.edits.pinned
            known = self.edits.weights if self.config.is_plus and self.paths is None else None
            return self.weighted(rules, np.full(len(rules), np.nan), known)
        return self.final(self.rounds(self.start(), deadline))

    def start(self) -> EMState:
        """What the first round starts from; replayed, the mined rules count like what a round selected."""
        no_rules = RuleSet.from_rules([]), np.zeros(0)
        if (
            not self.config.em.replay and not self.config.generator.pretrain_steps
        ):  # nothing needs mined rules
            return EMState(0, new_generator(self.dataset, self.config), *no_rules)
        mined, quality = self.mine()
        generator = self.pretrain(mined, quality)
        if not self.config.em.replay:
            return EMState(0, generator, *no_rules)
        return EMState(0, generator, mined, quality / np.bincount(mined.heads, quality)[mined.heads])

    def plus(self, deadline: float | None) -> Learned:
        """The rules of RNNLogic with a network on top of them."""
        config, saved = self.config, self.store.load("weighted")
        if saved is None:
            learned = self.weighted_rules(deadline)
            tick = self.ticker("weights")
            learned = strongest_rules(
                learned,
                config.plus.rules,
                lambda rules: fit_predictor(self.dataset, rules, config, self.threads, tick, self.paths),
            )
            saved = pack_learned(learned)
            self.store.save("weighted", saved)
        learned = unpack_learned(saved, config.predictor.feature)
        rules = learned.rules, learned.weights
        task = PlusTask(self.dataset, *rules, config, self.threads, self.paths, self.embedding)
        return replace(learned, plus=task.train(self.ticker("plus"), self.note))

    def mine(self) -> tuple[RuleSet, NDArray[np.float64]]:
        """Candidate rules and their quality."""
        saved = self.store.load("mined")
        if saved is None:
            started = time.perf_counter()
            rules, statistics, joined = mine_rules(
                self.dataset, self.config, self.threads, self.ticker("mine")
            )
            if not statistics.support.any():
                raise RNNLogicError(
                    "no rule was found whose paths join the ends of training facts; if rules are banned, ban "
                    "less; to weigh given ones alone, --rules FILE --no-generate"
                )
            quality = statistics.quality(self.config.mine.smoothing)
            saved = pack_rules(rules) | {"quality": quality, "joined": joined}
            self.store.save("mined", saved)
            self.note("mined", started, rules=len(rules))
        return unpack_rules(saved), saved["quality"]

    def pretrain(self, rules: RuleSet, quality: NDArray[np.float64]) -> RuleGenerator:
        """A generator that imitates the mined rules, each as likely as its quality."""
        settings = self.config.generator
        generator = new_generator(self.dataset, self.config)
        saved = self.store.load("pretrained")
        if saved is None:
            started = time.perf_counter()
            tick = self.ticker("pretrain")
            fitted = fit_generator(
                generator,
                rules,
                quality,
                steps=settings.pretrain_steps,
                learning_rate=settings.pretrain_learning_rate,
                batch_size=settings.batch_size,
                generator=np.random.default_rng(self.config.seed),
                progress=lambda step, steps, loss: tick(step, steps, f"loss {loss:.2f}"),
            )
            saved = pack_generator(generator)
            self.store.save("pretrained", saved)
            self.note("pretrained", started, loss=fitted.loss)
        return load_parameters(generator, saved)

    def rounds(self, state: EMState, deadline: float | None) -> RuleGenerator:
        """EM (or REINFORCE) rounds; returns the best generator by validation MRR.

        A round measures the rules it begins with and then teaches the generator. What the last round has
        taught is kept if that round measured best; else the generator that the best round began with.
        """
        em, generator = self.config.em, state.generator
        best, best_round, best_parameters = -1.0, 0, pack_generator(generator)
        for number in range(1, (0 if em.optimizer == "none" else em.rounds) + 1):
            before = pack_generator(state.generator)
            saved = self.store.load(f"round-{number}")
            if saved is None:
                if deadline is not None and time.monotonic() > deadline:
                    break
                saved = self.one_round(state, number)
            state = _unpack_state(saved, number, state.generator)
            if saved["valid_mrr"] > best:
                best, best_round, best_parameters = float(saved["valid_mrr"]), number, before
            if number - best_round >= em.patience:
                break
        return generator if best_round == state.round else load_parameters(generator, best_parameters)

    def one_round(self, state: EMState, number: int) -> Arrays:
        """Do one round and save it."""
        started = time.perf_counter()
        stage = f"round {number}/{self.config.em.rounds}"
        graph = self.dataset.graph("train")
        tick = self.ticker(stage)
        state, info = em_round(state, graph, self.config, self.threads, tick, self.paths, self.edits)
        mrr = self.valid_mrr(info.rules, info.weights)
        saved = _pack_state(state) | {"valid_mrr": np.array(mrr)}
        self.store.save(f"round-{number}", saved)
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
        return saved

    def final(self, generator: RuleGenerator) -> Learned:
        """The generator's best rules and the pinned ones, with weights learned on them."""
        number, banned = self.config.final.rules, self.edits.banned
        self.progress("final rules", 0, 1, "")
        relations = np.arange(2 * self.dataset.vocab.num_relations)
        ranked = generator.beam(relations, number, threads=self.threads, banned=banned)
        return self.weighted(*self.edits.with_pinned(*ranked, generator.log_probs))

    def weighted(
        self,
        rules: RuleSet,
        log_prior: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> Learned:
        """Rules with their statistics, and weights: known ones, or learned on them."""
        config, graph = self.config, self.dataset.graph("train")
        started = time.perf_counter()
        queries = training_queries(graph, config.mine.queries_per_relation, config.seed)
        statistics = rule_statistics(graph, rules, queries, self.threads, self.ticker("final rules"))
        if weights is None:
            tick = self.ticker("weights")
            weights = fit_predictor(self.dataset, rules, config, self.threads, tick, self.paths)
        self.note("weights", started, rules=len(rules))
        answer_weight = self.answer_weight(rules, weights)
        return Learned(
            rules,
            weights,
            log_prior,
            statistics.support,
            statistics.confidence,
            config.predictor.feature,
            answer_weight,
        )

    def answer_weight(self, rules: RuleSet, weights: NDArray[np.float64]) -> float:
        """How much of the embedding's own score is added to that of the rules: given, or by validation."""
        given, tried = self.config.paths.answer_weight, self.config.paths.answer_weights
        if not isinstance(self.embedding, RotatE) or self.config.is_plus:
            return 0.0
        if given is not None or not len(self.dataset.valid):
            return given or 0.0
        started = time.perf_counter()
        scorer = make_scorer(rules, weights, self.config, self.embedding)
        most = self.config.em.valid_facts
        mrr = validation_mrr_by_weight(self.dataset, scorer, self.embedding, tried, most)
        self.note("answer weight", started, tried=tried, valid_mrr=mrr)
        return tried[int(np.argmax(mrr))]

    def valid_mrr(self, rules: RuleSet, weights: NDArray[np.float64]) -> float:
        """Validation MRR of weighted rules, on a sample if the split is large."""
        if not len(self.dataset.valid):
            raise RNNLogicError("the dataset has no validation facts: EM cannot tell which round is best")
        scorer = make_scorer(rules, weights, self.config, self.embedding)
        most = self.config.em.valid_facts
        return evaluate(scorer, self.dataset, "valid", most_facts=most).metrics()["mrr"]

    def ticker(self, stage: str) -> Callable[..., None]:
        """A progress callback of (done, total[, note]) for one stage."""
        return lambda done, total, note="": self.progress(stage, done, total, note)

    def note(self, stage: str, started: float, **figures: Any) -> None:
        """Log figures of a stage with its seconds."""
        self.store.log({"stage": stage, "seconds": round(time.perf_counter() - started, 2), **figures})


def mine_rules(
    dataset: Dataset, config: Config, threads: int, progress: Callable[[int, int], None] | None = None
) -> tuple[RuleSet, RuleStatistics, NDArray[np.int64]]:
    """The best rules by quality per relation, their statistics, and how many sampled facts each joins."""
    graph, mine = dataset.graph("train"), config.mine
    search = PathSearch(
        config.max_length, mine.facts_per_relation, mine.fanout, mine.walks_per_fact, mine.candidates
    )
    banned = Banned.from_text(config.banned, dataset.vocab)
    candidates = find_candidates(graph, search, config.seed, threads, progress, banned)
    queries = training_queries(graph, mine.queries_per_relation, config.seed)
    statistics = rule_statistics(graph, candidates.rules, queries, threads, progress)
    best = best_per_head(candidates.rules, statistics.quality(mine.smoothing), mine.keep)
    kept = RuleStatistics(statistics.support[best], statistics.wrong[best])
    return candidates.rules[best], kept, candidates.joined[best]


def best_per_head(rules: RuleSet, quality: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Ids of the `number` rules of highest quality of each head relation, best first."""
    best = [
        ids[np.argsort(-quality[ids], kind="stable")[:number]]
        for ids in (rules.by_head(int(relation)) for relation in rules.head_relations())
    ]
    return np.concatenate(best) if best else np.empty(0, np.int64)


def fit_predictor(
    dataset: Dataset,
    rules: RuleSet,
    config: Config,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
    paths: PathModel | None = None,
) -> NDArray[np.float64]:
    """psi [rules] learned on training queries; `paths` scores paths."""
    graph = dataset.graph("train")
    queries = training_queries(graph, None, config.seed)
    solved = solve_relations(
        graph, rules, queries, config.predictor, config.seed, threads, progress=progress, paths=paths
    )
    return gather(rules, solved)[0]


def new_generator(dataset: Dataset, config: Config) -> RuleGenerator:
    """An untrained generator of the configured sizes."""
    settings = config.generator
    return RuleGenerator(
        2 * dataset.vocab.num_relations,
        config.max_length,
        input_size=settings.embedding_size,
        hidden_size=settings.hidden_size,
        seed=config.seed,
    )


def pack_generator(generator: RuleGenerator) -> Arrays:
    """A generator's parameters as arrays."""
    return {f"generator.{k}": v.detach().numpy().copy() for k, v in generator.state_dict().items()}


def load_parameters(generator: RuleGenerator, arrays: Mapping[str, NDArray[Any]]) -> RuleGenerator:
    """Put parameters packed by `pack_generator` into a generator."""
    prefix = "generator."
    state = {k.removeprefix(prefix): torch.tensor(v) for k, v in arrays.items() if k.startswith(prefix)}
    generator.load_state_dict(state)
    return generator


def _pack_state(state: EMState) -> Arrays:
    return pack_generator(state.generator) | pack_rules(state.selected) | {"selections": state.selections}


def _unpack_state(arrays: Arrays, number: int, generator: RuleGenerator) -> EMState:
    return EMState(number, load_parameters(generator, arrays), unpack_rules(arrays), arrays["selections"])
