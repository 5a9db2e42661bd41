"""Stages that find rules: mine, pre-train the generator, EM rounds, the best rules of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.budget import Budget, TimeIsUp, Work
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, no_tick
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.features.base import cuts_in_words
from rnnlogic.fit.em import (
    EMState,
    Numbers,
    em_round,
    most_probable,
    new_generator,
    numbers_of_rules,
    pack_generator,
    with_parameters,
)
from rnnlogic.fit.given import with_missing
from rnnlogic.fit.pipeline import Fit
from rnnlogic.fit.preliminary import with_first_rules
from rnnlogic.fit.stages import PRELIMINARY, At, Made
from rnnlogic.generator.network import RuleGenerator
from rnnlogic.generator.train import Schedule, fit_generator
from rnnlogic.mining.mine import best_per_head, mine_rules
from rnnlogic.rules.ruleset import RuleSet, pack_rules, unpack_rules

RULES_PER_SECOND, LEAST_RULES = 200, 20  # of mined rules, for each second left; measured on FB15k-237


def mined(fit: Fit, at: At) -> Made:
    """Candidate rules, their quality, and whether the time was up before all was looked at."""
    config, budget = fit.config, at.budget
    graph, work = fit.dataset.graph("train"), Work(fit.threads, fit.tick("mine"), budget)
    search = config.mine, config.max_length, fit.edits.banned, config.seed
    rules, statistics, joined = mine_rules(graph, *search, work)
    is_cut = budget.is_over or (budget.is_limited and not statistics.support.any())
    if not statistics.support.any() and not is_cut and fit.dataset.values is None:
        raise RNNLogicError(
            "no rule was found whose paths join the ends of training facts; if rules are banned, ban "
            "fewer, and if `only` names few, name more; to learn only the weights of given rules, use "
            "--rules FILE --no-generate"
        )
    arrays = pack_rules(rules) | {"quality": statistics.quality(config.mine.smoothing), "joined": joined}
    arrays |= {"is_cut": np.array(True)} if is_cut else {}
    return Made(arrays, {"rules": len(rules), "budget": cuts_in_words(statistics.cuts)})


def pretrained(fit: Fit, at: At) -> Made:
    """A generator pre-trained on the mined rules, weighted by their quality."""
    settings, found = fit.config.generator, fit.result("mined")
    generator = new_generator(fit.dataset, fit.config)
    schedule = Schedule(settings.pretrain_steps, settings.pretrain_learning_rate, settings.batch_size)
    random, work = np.random.default_rng(fit.config.seed), Work(None, fit.tick("pretrain"), at.budget)
    fitted = fit_generator(generator, unpack_rules(found), found["quality"], schedule, random, work)
    if len(fitted.losses) < settings.pretrain_steps:
        fit.budget.cut("pretrain", f"{len(fitted.losses):,} of {settings.pretrain_steps:,} steps")
    return Made(pack_generator(generator), {"loss": fitted.loss})


def one_round(fit: Fit, at: At) -> Made:
    """One EM (or REINFORCE) round; TimeIsUp if its time does not suffice."""
    number, budget = int(at.name.partition("-")[2]), at.budget
    stage = f"round {number}/{fit.config.em.rounds}"
    tick = fit.tick(stage)
    shared = fit.config, Work(fit.threads, tick, budget), fit.embedding, fit.edits, numbers_mined(fit)
    with budget.enforced():
        state, info = em_round(_state(fit, number - 1), fit.dataset.graph("train"), *shared)
        mrr = _valid_mrr(fit, info.rules, info.weights, budget)
    tick(1, 1, f"valid MRR {mrr:.4f}")
    arrays = pack_generator(state.generator) | pack_rules(state.selected)
    arrays |= {"selections": state.selections, "valid_mrr": np.array(mrr)}
    losses = {"loss": info.loss, "generator_loss": info.generator_loss}
    return Made(arrays, {"round": number, "valid_mrr": mrr, "rules": len(info.rules)} | losses)


def best_rules(fit: Fit, at: At) -> Made:
    """The generator's best rules and the pinned ones; where the time does not suffice, the best mined."""
    settings, banned = fit.config.final, fit.edits.banned
    if fit.dataset.values is not None and not fit.result("mined")["quality"].any():
        nothing = RuleSet.from_rules([]), np.zeros(0)  # no chains to learn from, but perhaps conditions
        rules, log_prior = fit.edits.with_pinned(*nothing, lambda more: np.full(len(more), np.nan))
        return Made(pack_rules(rules) | {"log_prior": log_prior})
    try:
        generator = _trained(fit)
        tick = fit.tick("final rules")
        wanted = numbers_of_rules(
            fit.dataset.graph("train"),
            settings.rules,
            fit.config.generator.rules_per_mined,
            numbers_mined(fit),
        )
        with fit.share_of(at.name).enforced():
            ranked = most_probable(generator, wanted, fit.threads, banned, tick)
    except TimeIsUp:
        fit.budget.cut("generator", "left out: the rules are those that mining found")
        return Made(_mined_rules(fit))
    more = with_missing(*ranked, _one_step(fit), generator.log_probs)
    rules, log_prior = fit.edits.with_pinned(*more, generator.log_probs)
    return Made(pack_rules(rules) | {"log_prior": log_prior})


def _one_step(fit: Fit) -> RuleSet:
    """The mined rules of one step with support, where the settings keep all of them."""
    saved = fit.known("mined")
    if saved is None or not fit.config.mine.one_step:
        return RuleSet.from_rules([])
    rules = unpack_rules(saved)
    return rules.filter((rules.lengths == 1) & (saved["quality"] > 0))


def numbers_mined(fit: Fit) -> Numbers | None:
    """How many rules of each relation [2R] mining kept; None without mining."""
    saved = fit.known("mined")
    if saved is None:
        return None
    return np.bincount(unpack_rules(saved).heads, minlength=2 * fit.dataset.vocab.num_relations)


def _mined_rules(fit: Fit) -> Arrays:
    """The best mined rules and the pinned ones, without log-probabilities."""
    found = fit.result("mined")
    mined = unpack_rules(found)
    relations = max(len(mined.head_relations()), 1)
    affordable = int(min(RULES_PER_SECOND * fit.budget.left / relations, 1 << 30))
    number = min(fit.config.final.rules, max(LEAST_RULES, affordable))
    first, ids = fit.known(PRELIMINARY), best_per_head(mined, found["quality"], number)
    best = with_first_rules(first if fit.budget.is_limited else None, mined[ids])
    unknown = np.full(len(best), np.nan)
    rules, log_prior = fit.edits.with_pinned(best, unknown, lambda more: np.full(len(more), np.nan))
    return pack_rules(rules) | {"log_prior": log_prior}


def _state(fit: Fit, number: int) -> EMState:
    """What a round leaves behind; 0: what the first one starts from.

    With replay, mined rules count as the selection of a round.
    """
    if number:
        saved = fit.result(f"round-{number}")
        generator = with_parameters(new_generator(fit.dataset, fit.config), saved)
        return EMState(number, generator, unpack_rules(saved), saved["selections"])
    config, no_rules = fit.config, (RuleSet.from_rules([]), np.zeros(0))
    if not config.em.replay and not config.generator.pretrain_steps:  # no use for mined rules
        return EMState(0, new_generator(fit.dataset, config), *no_rules)
    found = fit.result("mined")
    if "is_cut" in found:
        raise TimeIsUp
    generator = with_parameters(new_generator(fit.dataset, config), fit.result("pretrained"))
    if not config.em.replay:
        return EMState(0, generator, *no_rules)
    rules, quality = unpack_rules(found), found["quality"]
    totals = np.bincount(rules.heads, quality)[rules.heads]
    return EMState(0, generator, rules, quality / np.maximum(totals, 1e-300))  # no rule may be any good


def _trained(fit: Fit) -> RuleGenerator:
    """The best generator by validation MRR, after all rounds that pay or that there is time for.

    A round evaluates the rules of the generator it starts with, then trains that generator. If the last
    round is the best, its trained generator is returned; else the one that the best round started with.
    """
    em, state, budget = fit.config.em, _state(fit, 0), fit.share_of("round-*")
    best, chosen = -1.0, state
    paid = best_round = 0  # the last round that was worth its time; the best one
    for number in range(1, (0 if em.optimizer == "none" else em.rounds) + 1):
        before = state
        try:
            _require_time(fit, number, budget)
            saved = fit.result(f"round-{number}", budget)
        except TimeIsUp:
            fit.store.save("rounds", {"number": np.array(number - 1)})
            fit.budget.cut("rounds", f"{number - 1} of {em.rounds} EM rounds")
            break
        state, mrr = _state(fit, number), float(saved["valid_mrr"])
        paid = number if mrr >= best + em.least_gain else paid
        if mrr > best:
            best, best_round, chosen = mrr, number, before
        if number - paid >= em.patience:
            break
    return state.generator if best_round == state.round else chosen.generator


def _require_time(fit: Fit, number: int, budget: Budget) -> None:
    """TimeIsUp if there is no time for a round, or an earlier session of the fit had none."""
    if fit.known(f"round-{number}") is not None:
        return
    last = fit.known("rounds")
    if last is not None and number > int(last["number"]):
        raise TimeIsUp
    budget.check()


def _valid_mrr(fit: Fit, rules: RuleSet, weights: NDArray[np.float64], budget: Budget) -> float:
    """Validation MRR of weighted rules, on a sample if the split is large; 0 without validation facts."""
    if not len(fit.dataset.valid):
        return 0.0
    values = fit.predictor.values(rules, fit.config, fit.embedding)
    scorer, most = values.scorer(weights, fit.config.threads), fit.config.em.valid_facts
    tick = budget.guarded(no_tick)
    return evaluate(scorer, fit.dataset, "valid", progress=tick, most_facts=most).metrics()["mrr"]
