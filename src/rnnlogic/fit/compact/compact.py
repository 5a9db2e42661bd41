"""The compact model of a full one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import UNLIMITED, Budget, TimeIsUp
from rnnlogic.base.executor import map_ordered, one_blas_thread
from rnnlogic.base.types import Arrays, Queries, Tick, no_tick
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import KnownAnswers
from rnnlogic.features.aggregates import folds_of
from rnnlogic.features.base import UNSEEN
from rnnlogic.features.ground import Grounder
from rnnlogic.fit.compact.aggregates import reasons as reasons_of
from rnnlogic.fit.compact.aggregates import with_aggregates
from rnnlogic.fit.compact.fit import Fit, Sparse, first_rules, shrink
from rnnlogic.fit.compact.ground import (
    Most,
    grounded_heads,
    imitation,
    questions,
    reach_hashes,
    without_twins,
)
from rnnlogic.fit.compact.types import Columns, Floats, Grounded, Ids, Model, Path, Teacher
from rnnlogic.fit.compact.validation import Level, chosen_level, frontier, full_level, judged, model_at
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.base import PiecePredictor
from rnnlogic.predictors.loglinear.fit import Signs, clipped, signs_of
from rnnlogic.rules.rule import CLOSE, reading_order
from rnnlogic.statistics.statistics import rule_statistics

FEATURES = 0.5  # what counts as the confidence of features
FRONTIER = ("rules", "mrr", "drop", "error")
LEAST_SHARE = 0.002  # of a relation's answers: a rule that is named for fewer may go


def teacher_of(
    full: Learned, dataset: Dataset, config: Config, pinned: NDArray[np.bool_] | None = None
) -> Teacher:
    """The full model with the data that it is judged on; its predictor must be a weighted sum of rules."""
    predictor = full.predictor
    return Teacher(
        dataset.graph("train"),
        KnownAnswers(dataset.graph("all")),
        full.rules,
        full.weights,
        full.support,
        full.confidence,
        _signs(full, config),
        predictor.values(full.rules, config, predictor.embedding),
        np.zeros(len(full.rules), bool) if pinned is None else pinned,
        validation_queries(dataset, config.em.valid_facts),
        config.compact,
        config.seed,
        predictor.elsewhere if isinstance(predictor, PiecePredictor) else None,
    )


def _signs(full: Learned, config: Config) -> Signs:
    """The signs that the full model's weights had to have, but for weights that were given."""
    signs = signs_of(full.lift, config.predictor.sign_lift)
    return np.where(full.weights * signs < 0, 0, signs).astype(np.int8)


def validation_queries(dataset: Dataset, most_facts: int) -> Queries:
    """Queries of validation facts in both directions, of a sample if there are more facts than asked."""
    facts = dataset.valid
    facts = facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:most_facts])]
    back = facts[:, [2, 1, 0]] + np.array([0, dataset.vocab.num_relations, 0], facts.dtype)
    return np.concatenate([facts, back])


def rule_costs(teacher: Teacher, ids: Ids) -> Floats:
    """Share of the penalty that each rule bears: less if it is confident, more if it is long.

    What speaks against answers should have no confidence, so features bear what good rules do.
    """
    longer = teacher.rules.lengths[ids] - 1
    confidence = np.where(teacher.rules.are_features[ids], FEATURES, teacher.confidence[ids])
    cost: Floats = 0.1 / (confidence + 0.05) * (1 + teacher.settings.length_cost * longer)
    return cost


def with_support(teacher: Teacher, relation: int, ids: Ids) -> NDArray[np.bool_]:
    """Which rules [ids] reach the answer of a training query, own fact hidden, or are features.

    Rules without support in the full model's sample are tried on more and more training facts.
    """
    heads, tails = teacher.graph.edges(relation)
    facts = np.stack([heads, np.full_like(heads, relation), tails], axis=1)
    facts = facts[np.random.default_rng([teacher.seed, relation, 3]).permutation(len(facts))]
    found = (teacher.support[ids] > 0) | teacher.rules.are_features[ids]
    start, size = 0, 256
    while start < min(len(facts), teacher.settings.support_queries) and not found.all():
        open_ids = np.flatnonzero(~found)
        tried = rule_statistics(teacher.graph, teacher.rules[ids[open_ids]], facts[start : start + size], 1)
        found[open_ids[tried.support > 0]] = True
        start, size = start + size, 2 * size
    return found


def unlike_others(
    teacher: Teacher, chains: Grounder, relation: int, grounded: Grounded, is_hidden: bool
) -> NDArray[np.bool_]:
    """Mask [k] of the rules that reach something, and not what a shorter one reaches.

    Neither in the questions, nor from their heads when nothing is hidden, which may be the same. `chains`
    grounds all rules but features, which take long and hardly ever are like a chain.
    """
    ids = teacher.rules.by_head(relation)
    # Of rules of the same size, those stay that reach answers without others
    costs = 2 * teacher.rules.sizes[ids] - teacher.rules.make_candidates[ids]
    pinned = teacher.pinned[ids]
    mask = without_twins(grounded.hashes, costs, pinned)
    if not is_hidden:
        return mask
    hashes = np.zeros(len(ids), np.uint64)
    is_chain = ~teacher.rules.are_features[ids]
    hashes[is_chain] = reach_hashes(chains, relation, np.unique(grounded.heads), teacher)
    places = np.flatnonzero(mask & is_chain)
    mask[places] = without_twins(hashes[places], costs[places], pinned[places])
    return mask


def only_pinned(teacher: Teacher, ids: Ids) -> list[Model]:
    """The path of a relation without training facts: nothing but pinned rules, with the weights they have."""
    weights = clipped(teacher.weights[ids], teacher.signs[ids])
    return [Model(ids, weights, 0.0)] if len(ids) else []


def unchanged(teacher: Teacher, ids: Ids) -> list[Model]:
    """The rules that may be kept, with the full model's weights: where they are few, a path starts there."""
    weights = teacher.weights[ids]
    is_too_many = len(ids) > teacher.settings.first
    is_against = bool((weights * teacher.signs[ids] < 0).any())
    return [] if is_too_many or is_against or not len(ids) else [Model(ids, weights, 0.0)]


def compact_relation(shared: tuple[Teacher, Grounder, Grounder], relation: int) -> Path:
    """The path of ever smaller models of one relation and direction."""
    teacher, grounder, chains = shared
    settings = teacher.settings
    ids = teacher.rules.by_head(relation)
    is_pinned, folds = teacher.pinned[ids], folds_of(teacher.rules, ids, teacher.paths_as)
    aggregates = [fold.place for fold in folds]
    if not len(ids) or not len(teacher.graph.edges(relation)[0]):
        return judged(teacher, grounder, relation, only_pinned(teacher, ids[is_pinned]))
    heads, hidden, asked = questions(teacher, relation)
    most = Most(settings.results_per_relation, settings.candidates_per_query)
    grounded = grounded_heads(grounder, relation, heads, teacher, np.ones(len(ids), bool), hidden, most)
    is_hidden = bool((hidden >= 0).any())
    is_new = unlike_others(teacher, chains, relation, grounded, is_hidden)
    is_new[aggregates] = is_pinned[aggregates] = False  # they join a model once its rules are chosen
    problem = imitation(teacher, asked, grounded)
    cost = np.where(is_new, rule_costs(teacher, ids), np.inf)
    pinned = np.flatnonzero(is_pinned)
    penalty = settings.refit_sparsity * np.where(is_pinned, 0.0, rule_costs(teacher, ids))
    fit = Fit(settings.weight_decay, settings.steps, pinned, penalty, teacher.signs[ids])
    weights = first_rules(problem, cost, settings, fit._replace(weight_decay=settings.weight_decay / 10))
    allowed = is_new & ((teacher.support[ids] > 0) | teacher.rules.are_features[ids])
    first = np.flatnonzero(weights)
    allowed[first] = with_support(teacher, relation, ids[first])
    weights[~allowed] = 0.0
    few = allowed | is_pinned
    few[aggregates] = True
    models = unchanged(teacher, ids[few])
    places = np.flatnonzero(allowed)
    reasons = named = named_rules(problem.columns, problem.target, *naming(teacher, ids, places))
    for fold in folds:
        more = reasons_of(fold, problem, places, float(teacher.weights[ids[fold.place]]))
        reasons = np.append(reasons, more[~np.isin(more, reasons)])
    size = np.sqrt(len(teacher.graph.edges(relation)[0]))
    for active, now, saved in shrink(problem, weights, settings, fit, len(folds), reasons):
        is_other = ~np.isin(active, reasons)  # reasons are not there for what they save
        saved = saved[is_other] if is_other.any() else saved
        cheapest = float(np.partition(saved, len(saved) // 10)[len(saved) // 10])  # a tenth is worth less
        price = max(float(size) * cheapest, models[-1].price if models else 0.0)
        model = Sparse(active, now)
        if folds and (settings.rules is None or len(active) + len(folds) <= settings.rules):
            model = with_aggregates(folds, problem, model, fit, named)
        is_readable = bool(np.isin(named, model.active).all())
        models.append(Model(ids[model.active], model.weights, price, is_readable))
    is_all = not is_hidden and teacher.graph.num_entities <= settings.candidates_per_query
    return judged(teacher, grounder, relation, models, grounded if is_all else None)


def compact_paths(
    teacher: Teacher, threads: int, tick: Tick = no_tick, budget: Budget = UNLIMITED
) -> list[Path]:
    """Paths of all relations that have rules or are asked about; TimeIsUp if it will not be enough."""
    total = budget.left
    grounder = chains = Grounder(teacher.graph, teacher.rules, threads=1)
    if teacher.rules.are_features.any():
        chains = Grounder(teacher.graph, teacher.rules[~teacher.rules.are_features], threads=1)
    shared = teacher, grounder, chains
    relations = sorted({*teacher.rules.head_relations().tolist(), *np.unique(teacher.asked[:, 1]).tolist()})
    # Those with many facts first, so that none is left alone at the end
    relations.sort(key=lambda relation: -int(teacher.graph.num_edges[relation]))
    paths: list[Path] = []
    with one_blas_thread():
        for path in map_ordered(compact_relation, relations, shared, threads):
            paths.append(path)
            tick(len(paths), len(relations))
            spent = total - budget.left if budget.is_limited else 0.0
            is_hopeless = spent > 0.25 * total and spent * len(relations) > 1.5 * total * len(paths)
            if len(paths) < len(relations) and (is_hopeless or budget.is_over):
                raise TimeIsUp
    return sorted(paths, key=lambda path: path.relation)


class Compact(NamedTuple):
    """The rules that stay, their weights, and the frontier that they were chosen from."""

    rules: Ids  # ids, ascending
    weights: Floats  # [rules]
    levels: list[Level]  # from many rules to few
    chosen: int  # which of them


def compacted(teacher: Teacher, threads: int, tick: Tick = no_tick, budget: Budget = UNLIMITED) -> Compact:
    """The smallest model that loses no more validation MRR than the settings allow."""
    return chosen(teacher, compact_paths(teacher, threads, tick, budget))


def chosen(teacher: Teacher, paths: list[Path]) -> Compact:
    """The smallest model of some paths that loses no more validation MRR than the settings allow.

    The full model is the first level unless the settings rule it out, and is taken if no other is so good.
    """
    settings, size = teacher.settings, len(teacher.rules)
    levels = frontier(paths, settings.rules)
    if settings.rules is None:
        levels = [full_level(paths, size), *levels]
    level = chosen_level(levels, settings.tolerance)
    kept = model_at(paths, level, size) if level.chosen else (np.arange(size), teacher.weights)
    return Compact(*kept, levels, levels.index(level))


def pack_frontier(compact: Compact) -> Arrays:
    """The frontier as arrays: rules, validation MRR, what is lost against the full model and its error."""
    columns = {name: np.array([getattr(level, name) for level in compact.levels]) for name in FRONTIER}
    return columns | {"chosen": np.array(compact.chosen)}


def named_rules(columns: Columns, target: Floats, confidence: Floats, order: Ids) -> Ids:
    """The rules that are named for many answers, the most frequent first.

    For each candidate that is, of the rules that reach it with a confidence close to the best, the first in
    `order` [rules]. `target` [candidates] is how probable each is. Confidence 0: never named.
    """
    rule = np.repeat(np.arange(len(confidence)), np.diff(columns.ptr))
    best = np.zeros(len(target))
    np.maximum.at(best, columns.candidate, confidence[rule])
    is_close = (confidence[rule] > 0) & (confidence[rule] >= CLOSE * best[columns.candidate])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.full(len(target), len(order))
    np.minimum.at(first, columns.candidate[is_close], place[rule[is_close]])
    has_one = first < len(order)
    worth = np.bincount(order[first[has_one]], target[has_one], len(order))
    named = np.argsort(-worth, kind="stable")
    is_frequent = worth[named] >= LEAST_SHARE * target.sum()
    return np.asarray(named[is_frequent], np.int64)


def naming(teacher: Teacher, ids: Ids, allowed: Ids) -> tuple[Floats, Ids]:
    """Confidence of a relation's rules (0: not to be named), and their order for a reader.

    Rules of which few cases are known have the smaller confidence that explanations show.
    """
    rules = teacher.rules
    support, share = teacher.support[ids], np.maximum(teacher.confidence[ids], 1e-9)
    confidence = np.zeros(len(ids))
    confidence[allowed] = (support / (support / share + UNSEEN))[allowed]
    confidence[rules.are_features[ids] | (teacher.signs[ids] < 0)] = 0.0
    keys = [reading_order(rules[int(i)], teacher.graph.num_relations) for i in ids]
    order = sorted(range(len(ids)), key=lambda i: (keys[i], -support[i] * confidence[i]))
    return confidence, np.array(order, np.int64)
