"""What a finished fit leaves in its run folder.

rules.txt            the rules for people, by relation and weight
model.safetensors    rules, weights and statistics
model.json           versions, time taken; written last, so it marks a finished fit
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Arrays
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.fit.result import Learned, learned_arrays, pack_learned, unpack_learned
from rnnlogic.predictors.eta import voices
from rnnlogic.rules.rule import format_rule, rule_label
from rnnlogic.rules.ruleset import RuleSet, unpack_rules
from rnnlogic.runs.files import (
    RunError,
    read_arrays,
    read_object,
    unreadable,
    write_arrays,
    write_file,
    write_object,
)
from rnnlogic.statistics.pairs import rule_figures

RULES, WEIGHTS, MODEL = "rules.txt", "model.safetensors", "model.json"
MANY, FIRST = 50_000, 10  # counting for more takes its time; people read the first of each relation
HEADER = "# rule  # weight, support (pairs predicted that are facts), confidence (support / pairs predicted)"
PACKAGES = ("rnnlogic", "numpy", "numba", "torch", "safetensors")


class WeightedRules(NamedTuple):
    """Rules, and what a fit says of each."""

    rules: RuleSet
    weights: NDArray[np.float64]  # [n]
    log_prior: NDArray[np.float64]  # [n]


def is_finished(folder: Path) -> bool:
    """Whether the fit came to its end."""
    return (folder / MODEL).is_file()


def write_learned(
    folder: Path,
    learned: Learned,
    dataset: Dataset,
    seed: int,
    seconds: float,
    left_out: Mapping[str, str] | None = None,
) -> None:
    """Write rules and weights, then the mark that all is done."""
    write_file(folder / RULES, rules_text(learned, dataset))
    write_arrays(folder / WEIGHTS, pack_learned(learned))
    about = {
        **{package: version(package) for package in PACKAGES},
        "python": platform.python_version(),
        "seed": seed,
        "feature": learned.feature,
        "rules": len(learned.rules),
        "minutes": round(seconds / 60, 3),
        **({"left_out": dict(left_out)} if left_out else {}),
    }
    write_object(folder / MODEL, about)


def read_learned(folder: Path, config: Config, embedding: Scorer | None, vocab: Vocab) -> Learned:
    """What a finished fit has learned."""
    sizes = {"embeddings": len(voices(embedding))} if embedding is not None else {}
    return unpack_learned(_read_weights(folder, config, vocab, sizes), config, embedding)


def read_weighted_rules(folder: Path, config: Config, vocab: Vocab) -> WeightedRules:
    """The rules of a finished fit of any variant; no embedding is needed."""
    arrays = _read_weights(folder, config, vocab, {})
    return WeightedRules(unpack_rules(arrays), arrays["weights"], arrays["log_prior"])


def _read_weights(folder: Path, config: Config, vocab: Vocab, sizes: Mapping[str, int]) -> Arrays:
    read_about(folder)
    known = {"E": vocab.num_entities, "R": vocab.num_relations, **sizes}
    return read_arrays(folder / WEIGHTS, learned_arrays(config), known)


def read_about(folder: Path) -> dict[str, Any]:
    """What model.json says: versions, seed, feature, number of rules, minutes."""
    if not is_finished(folder):
        raise RunError(
            folder, "the fit was not finished; run the same `rnnlogic fit` command again to resume it"
        )
    about = read_object(folder / MODEL)
    minutes = about.get("minutes")
    if not isinstance(minutes, int | float) or not math.isfinite(minutes):
        raise unreadable(folder / MODEL, "minutes is no number")
    return about


def rules_text(learned: Learned | WeightedRules, dataset: Dataset, many: int = MANY) -> str:
    """One rule per line with its figures as a comment, by head relation, heaviest first.

    If there are `many` rules, only the first of each relation have figures, as counting takes its time; none
    have any if there is no time left at all.
    Where relations have labels, a comment line before each rule shows it with them.
    """
    order = np.lexsort((-learned.weights, learned.rules.heads))
    heads = learned.rules.heads[order]
    place = np.arange(len(order)) - np.searchsorted(heads, heads)  # among the rules of the same head
    has_figures = (place < FIRST) | (len(order) < many)
    figures = rule_figures(dataset.graph("train"), learned.rules[order[has_figures]])
    number = np.cumsum(has_figures) - 1
    lines = [HEADER if has_figures.all() else f"{HEADER}; of the first {FIRST} rules for each relation"]
    for i, rule in enumerate(order.tolist()):
        comment = f"{learned.weights[rule]:.4g}"
        if has_figures[i] and figures.share[number[i]] > 0:
            known = number[i]
            sign = "" if figures.share[known] == 1 else "~"
            comment += f", {sign}{figures.support[known]}, {sign}{figures.confidence[known]:.3g}"
        label = rule_label(learned.rules[rule], dataset.vocab)
        lines += [] if label is None else [f"# {label}"]
        lines.append(f"{format_rule(learned.rules[rule], dataset.vocab)}  # {comment}")
    return "\n".join(lines) + "\n"
