"""Seeded splitting of facts into train, valid and test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import DataError
from rnnlogic.data.cleaning import fact_keys
from rnnlogic.data.graph import Triples

Ratios = Sequence[float]  # train, valid, test; any scale

DEFAULT_RATIOS: Ratios = (80, 10, 10)
PAPER_RATIOS: dict[str, Ratios] = {"umls": (30, 20, 50), "kinship": (30, 20, 50)}


def default_ratios(name: str) -> Ratios:
    """The paper's 30/20/50 for UMLS and Kinship, 80/10/10 otherwise."""
    return PAPER_RATIOS.get(name, DEFAULT_RATIOS)


def parse_ratios(text: str) -> tuple[float, ...]:
    """Ratios written as `80/10/10`."""
    try:
        return check_ratios([float(part) for part in text.split("/")])
    except ValueError:
        raise DataError(f"ratios {text!r} are not three numbers such as 80/10/10") from None


def check_ratios(ratios: Ratios) -> tuple[float, ...]:
    """Three finite numbers, train above zero, none negative; otherwise an error."""
    values = tuple(float(value) for value in ratios)
    if len(values) != 3 or not np.isfinite(values).all() or min(values) < 0 or values[0] <= 0:
        raise DataError(
            f"ratios {'/'.join(f'{v:g}' for v in values)} must be three numbers (train/valid/test), "
            "none negative and train above zero, such as 80/10/10"
        )
    return values


def split_sizes(total: int, ratios: Ratios) -> tuple[int, int, int]:
    """Whole numbers closest to the ratios that add up to the total (largest remainders first)."""
    exact = np.array(ratios) / sum(ratios) * total
    sizes = np.floor(exact).astype(int)
    largest = np.argsort(sizes - exact, kind="stable")
    sizes[largest[: total - sizes.sum()]] += 1
    return int(sizes[0]), int(sizes[1]), int(sizes[2])


def split_facts(
    facts: Triples, ratios: Ratios, seed: int, num_entities: int, num_relations: int
) -> tuple[dict[str, Triples], int]:
    """Split distinct facts at random so that train mentions every entity and relation.

    Coverage comes before the ratios: the second value is the number of facts that train holds beyond its
    ratio for that reason. The result depends only on the set of facts and the seed, not on their order.
    """
    facts = facts[np.argsort(fact_keys(facts, num_entities, num_relations))]
    order = np.random.default_rng(seed).permutation(len(facts))
    covering = _covering(facts[order], num_entities, num_relations)
    # Stable: facts needed for coverage first, both groups in random order.
    order = order[np.argsort(~covering, kind="stable")]
    train, valid, _ = split_sizes(len(facts), ratios)
    extra = max(0, int(covering.sum()) - train)
    if extra:
        train += extra
        valid = split_sizes(len(facts) - train, (0, *ratios[1:]))[1]
    parts = np.split(order, [train, train + valid])
    return {
        split: facts[np.sort(part)] for split, part in zip(("train", "valid", "test"), parts, strict=True)
    }, extra


def _covering(facts: Triples, num_entities: int, num_relations: int) -> NDArray[np.bool_]:
    """Facts that are the first to mention one of their entities or their relation."""
    first_entity = _first_mention(facts[:, [0, 2]].reshape(-1), num_entities) // 2
    first_relation = _first_mention(facts[:, 1], num_relations)
    covering = np.zeros(len(facts) + 1, bool)  # the last place takes names that no fact mentions
    covering[first_entity] = True
    covering[first_relation] = True
    return covering[:-1]


def _first_mention(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Index of the first occurrence of every id; len(ids) for ids that do not occur."""
    first = np.full(size, len(ids), np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]  # the last assignment, to the earliest place, wins
    return first
