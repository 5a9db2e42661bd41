"""The weights psi of all rules: one small convex problem per head relation.

Signs are honest: a rule that reaches answers more often than chance does never counts against an answer. Its
lift is the number of answers it reaches over the number that as many random candidates of each query would
reach. Rules of small lift may speak against an answer, those of a large one only for it; others do either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import PLAIN_WORK, TimeIsUp, Work, check_time, passes
from rnnlogic.base.executor import map_ordered, one_blas_thread
from rnnlogic.base.types import Queries
from rnnlogic.constraints.find import seldom_together
from rnnlogic.data.graph import Graph
from rnnlogic.features.ground import Grounder
from rnnlogic.features.kernels import ANSWER, WRONG, held_results
from rnnlogic.features.table import Candidates, joined
from rnnlogic.mining.links import hidden_of
from rnnlogic.predictors.base import RuleValues
from rnnlogic.predictors.loglinear.kernels import (
    answers_reached,
    held_candidates,
    loss_and_gradient,
    merged,
    rule_margins,
)
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import training_queries

if TYPE_CHECKING:
    from rnnlogic.predictors.base import Task

Weights = NDArray[np.float64]  # [rules of a relation]
# Looks at the examples of a relation and its weights before they are dropped; picklable
Use = Callable[[Candidates, Weights], NDArray[np.float64]]
CAUTION = 5  # results more than a rule has, for its confidence in the first guess
FIRST = 8  # queries of each relation in the first pass under a budget
Signs = NDArray[np.int8]  # [rules] 1: at least 0, -1: at most 0, 0: free
Lifts = NDArray[np.float64]  # [rules] nan where nothing is known
LIFT_CAUTION = 1.0  # answers more than a rule reaches, and as many more by chance: few cases say little


class Solved(NamedTuple):
    """What was learned for one relation."""

    relation: int
    rules: NDArray[np.int64]  # rule ids
    weights: Weights
    loss: float  # mean -log p(answer) over the queries whose answer is reached
    extra: NDArray[np.float64]  # what `use` made of the examples, e.g. selection counts [rules]
    lift: Lifts  # [rules]


class Weighted(NamedTuple):
    """What was learned for all rules."""

    weights: Weights  # [rules]
    lift: Lifts  # [rules]


@dataclass(frozen=True, eq=False)
class Job:
    """What the problems of all relations share."""

    grounder: Grounder
    settings: LogLinearSettings
    seed: int
    values: RuleValues
    use: Use | None

    def lifts(self, found: Candidates) -> Lifts:
        """The lifts [k] of the rules in some examples."""
        rules = self.values.rules[found.ids]
        lift = lifts_of(found, rules.are_features)
        return among_linked(lift, rules, seldom_together(self.grounder.graph))


class Lesson(NamedTuple):
    """What weights are learned from, and how."""

    graph: Graph
    values: RuleValues
    queries: Queries
    settings: LogLinearSettings
    seed: int
    hidden: NDArray[np.int32] | None = None  # [queries] what is hidden of each; by default its own fact

    def job(self, use: Use | None = None) -> Job:
        """What the problems of all relations share; `use` looks at their examples."""
        grounder = Grounder(self.graph, self.values.rules, threads=1)
        return Job(grounder, self.settings, self.seed, self.values, use)


def learn_weights(task: Task, values: RuleValues) -> Weighted:
    """psi of the rules of `values`, learned on the training queries of a task, and their lifts.

    With features of links, the links of some queries are hidden.
    """
    graph, config = task.dataset.graph("train"), task.config
    queries = training_queries(graph, None, config.seed)
    hidden = hidden_of(values.rules, graph, task.dataset.valid, queries, config.seed)
    lesson = Lesson(graph, values, queries, config.predictor, config.seed, hidden)
    work = Work(task.threads, partial(task.progress, "weights"), task.budget)
    is_limited = task.budget.is_limited
    solved = solve_in_time(lesson, work, task.may_fail) if is_limited else solve_relations(lesson, work)
    lift = np.full(len(values.rules), np.nan)
    for one in solved:
        lift[one.rules] = one.lift
    return Weighted(gathered(len(values.rules), solved)[0], lift)


def solve_relations(lesson: Lesson, work: Work = PLAIN_WORK, use: Use | None = None) -> list[Solved]:
    """Fit psi of all rules, relation by relation; `use` may look at the examples before they are dropped."""
    job = lesson.job(use)
    blocks = blocks_of(lesson.queries, lesson.values, lesson.hidden)
    order = np.argsort([-_work(job, block) for block in blocks], kind="stable")  # no large one comes last
    solved = list(_solutions(job, [blocks[i] for i in order], work))
    return [solved[i] for i in np.argsort(order)]


def _work(job: Job, block: Queries) -> int:
    """About how much there is to do for one relation: queries times rules."""
    asked = min(len(block), job.settings.queries_per_relation)
    return asked * len(job.values.rules.by_head(int(block[0, 1])))


def solve_in_time(lesson: Lesson, work: Work, may_fail: bool = False) -> list[Solved]:
    """Fit psi on ever more queries of each relation, until all are used or the time is up.

    What was solved on most queries stays; with enough time it is what `solve_relations` gives. If not even
    the first pass is finished, the rest has no weights, or where that `may_fail` TimeIsUp is raised.
    """
    blocks, job = blocks_of(lesson.queries, lesson.values, lesson.hidden), lesson.job()
    settings, budget = lesson.settings, work.budget
    solved: dict[int, Solved] = {}
    largest = min(max(map(len, blocks), default=0), settings.queries_per_relation)
    for before, most in passes(FIRST, largest):
        larger = [block for block in blocks if len(block) > before]
        few = replace(job, settings=settings.model_copy(update={"queries_per_relation": most}))
        done = 0
        for one in budget.timely(_solutions(few, larger, work)):
            solved[one.relation], done = one, done + 1
        if done < len(larger) or (budget.is_over and most < largest):
            if before == 0 and done < len(larger) and may_fail:
                raise TimeIsUp
            at_least = before if done < len(larger) else most
            known = f"of {len(solved):,} of {len(blocks):,} relations, " if len(solved) < len(blocks) else ""
            what = f"{known}learned from {at_least:,} to {most:,} of {largest:,} queries a relation"
            budget.cut("weights", what)
            break
    return list(solved.values())


def blocks_of(
    queries: Queries, values: RuleValues, hidden: NDArray[np.int32] | None
) -> list[NDArray[np.int32]]:
    """The queries [n, 4] of each relation that has rules: head, relation, tail, what is hidden."""
    starts = np.append(np.flatnonzero(np.diff(queries[:, 1], prepend=-1)), len(queries))
    told = np.column_stack([queries, queries[:, 2] if hidden is None else hidden])
    blocks = [told[a:b] for a, b in pairwise(starts)]
    return [block for block in blocks if len(values.rules.by_head(int(block[0, 1])))]


def _solutions(job: Job, blocks: list[NDArray[np.int32]], work: Work) -> Iterator[Solved]:
    with one_blas_thread():
        for done, result in enumerate(map_ordered(_solve, blocks, job, work.threads), 1):
            work.tick(done, len(blocks))
            yield result


def gathered(num_rules: int, solved: list[Solved]) -> tuple[Weights, NDArray[np.float64]]:
    """Weights and extras [rules] from what was solved per relation."""
    weights, extras = np.zeros(num_rules), np.zeros(num_rules)
    for one in solved:
        weights[one.rules] = one.weights
        if len(one.extra):
            extras[one.rules] = one.extra
    return weights, extras


def _solve(job: Job, block: Queries) -> Solved:
    """Fit psi of the rules of one relation on its training queries [n, 4]: head, relation, tail, hidden."""
    settings, relation = job.settings, int(block[0, 1])
    problem, found = problem_of(job, block)
    lift = job.lifts(problem)
    weights, loss = weights_of(problem, settings, job.values.rules, lift)
    extra = np.empty(0) if job.use is None or found is None else job.use(found, weights)
    return Solved(relation, problem.ids, weights, loss, extra, lift)


def problem_of(job: Job, block: Queries) -> tuple[Candidates, Candidates | None]:
    """The examples to learn from, and all examples where somebody looks at them."""
    settings, relation = job.settings, int(block[0, 1])
    rng = np.random.default_rng([job.seed, relation])
    asked = block[rng.permutation(len(block))[: settings.queries_per_relation]]
    wants_all, found = job.use is not None or settings.initial == "expectation", None
    parts = examples_of(job, asked, reached_only=not wants_all)
    if wants_all:
        found = joined(list(parts))
        parts = iter([found])
    if found is not None and settings.initial == "expectation":
        return found, found
    return sampled(parts, settings.candidates_per_query, [job.seed, relation, 2]), found


def examples_of(job: Job, block: Queries, reached_only: bool = False) -> Iterator[Candidates]:
    """Ground training queries [n, 4] of one relation, some at a time; with values and labels.

    The last column says what is hidden of each. Queries are taken in the order given until as many results
    are there as the settings allow; with `reached_only` none where the answer is not reached.
    """
    graph, settings, results = job.grounder.graph, job.settings, 0
    for grounding in job.grounder.ground(block[:, 0], int(block[0, 1]), block[:, 3]):
        answers = block[grounding.queries, 2]
        found = grounding.candidates(answers if reached_only else None)
        labelled = found.labelled(graph, answers, settings.other_answers == "exclude")
        yield labelled.valued(job.values.examples(found)).weighed(graph, answers)
        results += len(grounding)
        if results >= settings.results_per_relation:
            break


def sampled(parts: Iterable[Candidates], most: int, seed: list[int]) -> Candidates:
    """Examples to learn from: without queries whose answer is not reached, and without what is left out.

    Of each query at most `most` candidates are held, and some stand for many. Where there are more, equal
    ones are held once.
    """
    held: list[Candidates] = []
    guess: Weights | None = None
    for number, part in enumerate(parts):
        guess = _first_guess(part) if guess is None else guess
        is_large = int(np.diff(part.query_ptr).max(initial=0)) > most
        luck = np.random.default_rng([*seed, number]).random(len(part) if is_large else 0)
        multiplicity = _multiplicity(part, guess, luck, most)
        if is_large:  # in few candidates, few are equal
            multiplicity = merged(part.examples, multiplicity)
        held.append(_held(part, multiplicity, np.arange(len(part.ids), dtype=np.int32)))
    return joined(held)


def _multiplicity(
    found: Candidates, guess: Weights, luck: NDArray[np.float64], most: int
) -> NDArray[np.float32]:
    """How many candidates each one [c] stands for when of each query at most `most` are held; 0: not held.

    Nothing is held of queries whose answer is no candidate. The answer is, half of `most` that score highest
    by guessed weights, and a sample of the others by luck [c], which is empty where no query has more.
    """
    is_answer = found.label == ANSWER
    query = np.repeat(np.arange(found.num_queries), np.diff(found.query_ptr))
    is_reached = np.bincount(query, is_answer, found.num_queries) > 0
    is_open = (found.label == WRONG) & is_reached[query]
    if len(luck):
        candidate = np.repeat(np.arange(len(found)), np.diff(found.candidate_ptr))
        score = np.bincount(candidate, guess[found.rule] * found.value, len(found)).astype(np.float64)
        best = most // 2
        many = held_candidates(found.query_ptr, score, is_open, luck, best, most - 1 - best)
    else:
        many = is_open.astype(np.float64)
    return np.where(is_answer, 1.0, many).astype(np.float32)


def _first_guess(found: Candidates) -> Weights:
    """The confidence of each rule [k] in some examples, in place of its weight."""
    of_answer = np.repeat(found.label == ANSWER, np.diff(found.candidate_ptr))
    right = np.bincount(found.rule[of_answer], minlength=len(found.ids))
    guess: Weights = right / (np.bincount(found.rule, minlength=len(found.ids)) + CAUTION)
    return guess


def _held(found: Candidates, multiplicity: NDArray[np.float32], column: NDArray[np.int32]) -> Candidates:
    """Only the candidates that stand for any, and the queries that have such; rules by their new numbers."""
    held = np.flatnonzero(multiplicity)
    sizes = np.diff(np.searchsorted(held, found.query_ptr))
    kept = np.flatnonzero(sizes)
    ptr, rule, value = held_results(*found.examples[1:4], held, column)
    return replace(
        found,
        queries=found.queries[kept],
        heads=found.heads[kept],
        importance=None if found.importance is None else found.importance[kept],
        query_ptr=np.append(0, np.cumsum(sizes[kept])),
        entity=found.entity[held],
        candidate_ptr=ptr,
        rule=rule,
        value=value,
        label=found.label[held],
        multiplicity=multiplicity[held],
        ids=found.ids[column >= 0],
        counts_paths=found.counts_paths[column >= 0],
        folds=[fold.moved(column) for fold in found.folds if column[fold.place] >= 0],
    )


def weights_of(
    found: Candidates, settings: LogLinearSettings, rules: RuleSet, lift: Lifts
) -> tuple[Weights, float]:
    """psi and the mean loss, with answers discounted as the settings want it.

    The `lift` [k] of the rules in these examples decides their signs.
    """
    signs = signs_of(lift, settings.sign_lift)
    found = discounted(found, settings.answer_discount, rules.are_features[found.ids])
    scale = decay_scale(rules, found.ids, settings)
    weights, loss = fit_weights(scaled(found, scale), settings, signs)
    return scale * weights, loss


def fit_weights(
    found: Candidates, settings: LogLinearSettings, signs: Signs | None = None
) -> tuple[Weights, float]:
    """Minimise sum of -log p(answer) + weight_decay / 2 * |psi|^2, by L-BFGS; returns psi and the mean loss.

    With a weight_limit every psi stays between minus and plus that. `signs` [k] binds some on one side.
    """
    from scipy.optimize import Bounds, minimize  # half a second, which answers need not wait for

    start = initial_weights(found, settings)
    limits = {"maxfun": settings.steps, "maxiter": settings.steps}
    bounds = None
    if settings.weight_limit is not None or (signs is not None and signs.any()):
        signs = np.zeros(len(start), np.int8) if signs is None else signs
        bounds = Bounds(*limits_of(signs, settings.weight_limit))
    objective = partial(_objective, found, settings.weight_decay)
    solution = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    weights: Weights = solution.x
    loss, _ = loss_and_gradient(found.examples, found.multiplicity, weights, found.importance)
    return weights, loss / max(1, int((found.label == ANSWER).sum()))


def _objective(found: Candidates, decay: float, weights: Weights) -> tuple[float, Weights]:
    check_time()
    loss, gradient = loss_and_gradient(found.examples, found.multiplicity, weights, found.importance)
    return loss + decay / 2 * float(weights @ weights), gradient + decay * weights


def discounted(found: Candidates, factor: float, is_named: NDArray[np.bool_]) -> Candidates:
    """The examples with the answers' values multiplied by a factor; not those of named evidence [rules]."""
    if factor == 1:
        return found
    of_answer = np.repeat(found.label == ANSWER, np.diff(found.candidate_ptr)) & ~is_named[found.rule]
    return replace(found, value=np.where(of_answer, np.float32(factor) * found.value, found.value))


def initial_weights(found: Candidates, settings: LogLinearSettings) -> Weights:
    """Start values of psi: zero, or the paper's mean margin of the rule."""
    num_rules = len(found.ids)
    total = np.zeros(num_rules)
    if settings.initial == "expectation":
        for q in range(found.num_queries):
            total += rule_margins(found.examples, q, num_rules)[1]
    return total / max(found.num_queries, 1)


def lifts_of(found: Candidates, is_feature: NDArray[np.bool_]) -> Lifts:
    """The lift of each rule [k] in training examples; nan for rules that reach nothing.

    What a rule reaches counts once, however many paths lead there; features count by their values, in
    units of their mean.
    """
    right, chance, total = answers_reached(found.examples, found.multiplicity, is_feature)
    is_known = total[0] > 0
    is_known &= ~is_feature | (total[1] > 0)
    unit = np.where(is_feature & is_known, total[1] / np.maximum(total[0], 1e-300), 1.0)
    lift = (right + LIFT_CAUTION * unit) / (chance + LIFT_CAUTION * unit)
    return np.where(is_known, lift, np.nan)


def among_linked(lift: Lifts, rules: RuleSet, seldom: Mapping[tuple[int, int], float]) -> Lifts:
    """Lifts [k]; those of rules of one step whose relation seldom goes with the head are told by `seldom`.

    Entities that are linked at all are answers more often than others. So a relation that excludes an answer
    but for exceptions is compared with chance among linked pairs.
    """
    found = lift.copy()
    for i in np.flatnonzero(rules.are_chains & (rules.lengths == 1)).tolist():
        pair = int(rules.heads[i]), int(rules.body[rules.body_ptr[i]])
        found[i] = min(found[i], seldom.get(pair, np.inf))  # nan stays
    return found


def signs_of(lift: Lifts, margin: float | None) -> Signs:
    """Which sign the weight of each rule must have; all are free where there is no margin."""
    signs = np.zeros(len(lift), np.int8)
    if margin is not None:
        signs[lift <= 1 / margin] = -1  # comparisons with nan are false
        signs[lift >= margin] = 1
    return signs


def clipped(weights: NDArray[np.float64], signs: Signs) -> NDArray[np.float64]:
    """Weights, 0 where they have the wrong sign."""
    return np.where(weights * signs < 0, 0.0, weights)


def limits_of(signs: Signs, most: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the greatest weight [k] of each rule, with |weight| at most so much."""
    limit = np.inf if most is None else most
    return np.where(signs > 0, 0.0, -limit), np.where(signs < 0, 0.0, limit)


def decay_scale(rules: RuleSet, ids: NDArray[np.int64], settings: LogLinearSettings) -> NDArray[np.float64]:
    """What values of rules [ids] are multiplied with while weights are learned: then these cost less.

    Features bear a share of the weight decay, and `itself`, which has to speak against all rules that
    lead back to X, the square of that. A rule bears more with each step after the first.
    """
    share = 1 / np.sqrt(settings.evidence_decay)
    longer = np.maximum(rules.lengths[ids] - 1, 0)
    scale = np.where(rules.are_features[ids], share, settings.length_decay ** (-longer / 2))
    scale[rules.are_feature("itself")[ids]] *= share
    return scale


def scaled(found: Candidates, scale: NDArray[np.float64]) -> Candidates:
    """The examples with the values of each rule [k] multiplied."""
    if (scale == 1).all():
        return found
    return replace(found, value=found.value * scale.astype(np.float32)[found.rule])
