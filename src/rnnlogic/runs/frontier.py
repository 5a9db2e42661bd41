"""The frontier of a compact model as a small table: rules kept against validation MRR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 7  # levels besides the full model and the chosen one
HEADERS = ("rules", "validation MRR", "against full", "")


def frontier_rows(arrays: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
    """Rows from the full model down to few rules; the level that the run uses is marked."""
    rules, mrr, drop, chosen = (arrays[name] for name in ("rules", "mrr", "drop", "chosen"))
    full = float(mrr[0] + drop[0])
    rows: list[list[Any]] = [[int(arrays["full_rules"]), round(full, 4), "", "full model"]]
    for i in _spread(rules, int(chosen)):
        if rules[i] == arrays["full_rules"]:
            continue
        mark = "this run" if i == chosen else ""
        rows.append([int(rules[i]), round(float(mrr[i]), 4), f"{-float(drop[i]):+.4f}", mark])
    return rows


def _spread(rules: NDArray[np.int64], chosen: int) -> list[int]:
    """Some levels, evenly spread over the logarithm of their size, with the chosen one."""
    sizes = np.log(np.maximum(rules, 1))
    wanted = np.linspace(sizes.max(), sizes.min(), SHOWN)
    nearest = {int(np.argmin(np.abs(sizes - size))) for size in wanted} | {chosen}
    return sorted(nearest, key=lambda i: -rules[i])
