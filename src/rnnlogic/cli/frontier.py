"""The frontier of a compact model: rules kept against validation MRR, as a small table and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError

if TYPE_CHECKING:
    from rnnlogic.base.types import Arrays
    from rnnlogic.runs.folder import Run

KINDS = (".png", ".svg", ".pdf")
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


def plot_frontier(run: Run, output: Path) -> int:
    """Draw the frontier of a run; gives its number of points."""
    if output.suffix.lower() not in KINDS:
        raise RNNLogicError(f"{output}: --frontier writes {', '.join(KINDS)} files")
    arrays = run.frontier()
    if arrays is None:
        raise RNNLogicError(
            f"{run.folder}: this run has no frontier; `rnnlogic fit` leaves one when it makes a compact model"
        )
    try:
        import matplotlib
    except ImportError:
        raise RNNLogicError('--frontier needs matplotlib: pip install "rnnlogic[plots]"') from None
    matplotlib.use("Agg")
    try:
        _draw(arrays, output)
    except OSError as error:
        raise RNNLogicError(f"{output}: cannot be written ({error.strerror})") from None
    return len(arrays["rules"])


def _draw(arrays: Arrays, output: Path) -> None:
    import matplotlib.pyplot as plt

    rules, mrr, error, chosen = arrays["rules"], arrays["mrr"], arrays["error"], int(arrays["chosen"])
    figure, panel = plt.subplots(figsize=(6.4, 4.0))
    panel.plot(rules, mrr, marker=".", label="compact models")
    panel.fill_between(rules, mrr - error, mrr + error, alpha=0.2, label="standard error of the loss")
    full = float(mrr[0] + arrays["drop"][0])
    panel.axhline(full, linestyle="--", color="grey", label=f"full model, MRR {full:.3f}")
    kept = f"kept: {int(rules[chosen]):,} rules, MRR {mrr[chosen]:.3f}"
    panel.plot(rules[chosen], mrr[chosen], "o", color="black", label=kept)
    panel.set(xscale="log", xlabel="rules", ylabel="validation MRR")
    panel.grid(alpha=0.3)
    panel.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(output, dpi=120)
    plt.close(figure)
