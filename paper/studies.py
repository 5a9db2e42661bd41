"""Studies of a finished run: how good the rules of each source are, and which rules explain right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import default_threads
from rnnlogic.base.types import Progress
from rnnlogic.evaluation.evaluate import Scorer, evaluate
from rnnlogic.explain.explain import Basis, explain_on
from rnnlogic.explain.explanation import Explanation
from rnnlogic.explain.question import Question, labelled_facts
from rnnlogic.explain.reasons import Contribution
from rnnlogic.fit.compact.compact import compact_paths, compacted, teacher_of
from rnnlogic.fit.compact.validation import level_at, model_at
from rnnlogic.fit.em import new_generator, with_parameters
from rnnlogic.fit.result import Learned, unpack_learned
from rnnlogic.fit.stages import CheckedStore
from rnnlogic.mining.mine import best_per_head
from rnnlogic.predictors.base import Predictor, Task, predictor_class
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet, unpack_rules
from rnnlogic.runs.folder import Run

NUMBERS, SMALL_NUMBERS = (10, 50, 100, 200), (10, 100)  # rules per relation
CASE_CANDIDATES, CASE_RELATIONS, CASE_RULES, CASE_FACTS = 15, 5, 4, 40
CASE_SHARE = 0.1  # of the test answers that a rule must reach


def rules_study(folder: Path, is_small: bool, progress: Progress) -> dict[str, dict[str, float]]:
    """Test MRR of N rules per relation: the miner's, the generator's before and after EM, and compact ones.

    The same predictor is trained on each set of rules; compact models have their own weights. Evidence train.
    """
    run, threads = Run.open(folder), default_threads()
    config, dataset = run.config(), run.dataset()
    result: dict[str, dict[str, float]] = {}
    numbers = SMALL_NUMBERS if is_small else NUMBERS
    for done, number in enumerate(numbers):
        for source, rules in rule_sources(run, number):
            scorer = RuleScorer.fit(Task(dataset, rules, config, threads))
            mrr = evaluate(scorer, dataset, "test").metrics()["mrr"]
            result.setdefault(source, {})[str(number)] = mrr
            progress("rules", done, len(numbers), f"{number} by {source}: test MRR {mrr:.3f}")
    return result | {"compact": compact_curve(run, numbers, progress)}


def compact_curve(run: Run, numbers: Sequence[int], progress: Progress) -> dict[str, float]:
    """Test MRR of the full model compacted to at most N rules per relation and direction."""
    config, dataset, full = run.config(), run.dataset(), full_model(run)
    paths = compact_paths(teacher_of(full, dataset, config), default_threads(), partial(progress, "compact"))
    result: dict[str, float] = {}
    for number in numbers:
        ids, weights = model_at(paths, level_at(paths, 0.0, number), len(full.rules))
        few = full.predictor.reduced(full.rules[ids], weights)
        assert few is not None, "runs w/o emb. are weighted sums of rules"
        result[str(number)] = evaluate(few, dataset, "test").metrics()["mrr"]
    return result


def full_model(run: Run, embedding: Scorer | None = None) -> Learned:
    """The model before compaction: a stage of its own, or what the fit left behind if it did not compact."""
    config = run.config()
    saved = CheckedStore(run, config, run.dataset().vocab).load("full")
    is_sum = predictor_class(config.variant).reduced is not Predictor.reduced  # others are never compacted
    if saved is None and config.compact.enabled and is_sum:
        raise RNNLogicError(f"{run.folder}: the full model of this run is not there; fit it again")
    return run.learned(embedding) if saved is None else unpack_learned(saved, config, embedding)


def compact_predictor(run: Run, progress: Progress) -> Predictor:
    """What `fit` leaves behind by default; experiments keep the full model, which is then compacted here."""
    config, full = run.config(), full_model(run)
    if config.compact.enabled:
        return run.learned().predictor
    teacher = teacher_of(full, run.dataset(), config)
    found = compacted(teacher, default_threads(), partial(progress, "compact"))
    few = full.predictor.reduced(full.rules[found.rules], found.weights)
    assert few is not None, "runs w/o emb. are weighted sums of rules"
    return few


def rule_sources(run: Run, number: int) -> Iterator[tuple[str, RuleSet]]:
    """(source, rules) of the miner, the pre-trained generator, and the generator after every round."""
    config, dataset = run.config(), run.dataset()
    kept = CheckedStore(run, config, dataset.vocab)
    mined = kept.load("mined")
    assert mined is not None
    rules = unpack_rules(mined)
    yield "miner", rules[best_per_head(rules, mined["quality"], number)]
    stages = ["pretrained", *(f"round-{i}" for i in range(1, config.em.rounds + 1))]
    for stage in stages:
        arrays = kept.load(stage)
        if arrays is not None:
            generator = with_parameters(new_generator(dataset, config), arrays)
            yield stage, generator.beam(np.arange(2 * dataset.vocab.num_relations), number).rules


@dataclass
class Explained:
    """The answers that one rule explains."""

    rule: str
    weight: float
    reached: int = 0  # test answers that it reaches
    first: int = 0  # those of them that are ranked first
    example: dict[str, Any] = field(default_factory=dict)
    best: float = -np.inf  # its contribution to the example: the largest to an answer ranked first

    def add(self, explanation: Explanation, contribution: Contribution) -> None:
        """Count an answer that the rule reaches."""
        self.reached += 1
        if explanation.filtered_rank.mean > 1:
            return
        self.first += 1
        if contribution.contribution > self.best and contribution.paths:
            vocab = explanation.vocab
            self.best = contribution.contribution
            self.example = {
                "head": vocab.entity_label(explanation.head),
                "tail": vocab.entity_label(explanation.tail),
                "path": labelled_facts(contribution.paths[0], vocab),
            }


def case_study(folder: Path, progress: Progress) -> dict[str, dict[str, Any]]:
    """For some relations, the heaviest rules of the compact model that reach a share of the right answers.

    Evidence train. Of the relations with the most test facts, it takes those whose answers are ranked first
    most often, among the first CASE_FACTS test facts of each.
    """
    run = Run.open(folder)
    dataset, predictor = run.dataset(), compact_predictor(run, progress)
    vocab, test, graphs = dataset.vocab, dataset.test, (dataset.graph("train"), dataset.graph("all"))
    often = np.argsort(-np.bincount(test[:, 1], minlength=vocab.num_relations), kind="stable")
    cases: list[tuple[int, str, dict[str, Any]]] = []
    for done, relation in enumerate(often[:CASE_CANDIDATES].tolist()):
        facts, first = test[test[:, 1] == relation][:CASE_FACTS].tolist(), 0
        rules: dict[str, Explained] = {}
        for head, _, tail in facts:
            basis = Basis(graphs[0], vocab, predictor, graphs[1])
            explanation = explain_on(basis, Question(head, relation, tail), 1)
            first += explanation.filtered_rank.mean == 1
            for one in explanation.contributions:
                rules.setdefault(one.rule, Explained(one.rule, one.weight)).add(explanation, one)
        common = [rule for rule in rules.values() if rule.first and rule.reached >= CASE_SHARE * len(facts)]
        heaviest = sorted(common, key=lambda rule: -rule.weight)[:CASE_RULES]
        found = {"facts": len(facts), "first": first, "rules": [_summary(rule) for rule in heaviest]}
        cases.append((first, vocab.relations[relation], found))
        progress("case study", done + 1, CASE_CANDIDATES, vocab.relations[relation])
    best = sorted(cases, key=lambda case: -case[0])[:CASE_RELATIONS]
    return {relation: found for first, relation, found in best if first}


def _summary(rule: Explained) -> dict[str, Any]:
    return {
        "rule": rule.rule,
        "weight": round(rule.weight, 4),
        "reached": rule.reached,
        "first": rule.first,
        "example": rule.example,
    }
