"""A picture of the frontier of a compact model: rules kept against validation MRR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlogic.base.errors import RNNLogicError

if TYPE_CHECKING:
    from rnnlogic.base.types import Arrays
    from rnnlogic.runs.folder import Run

KINDS = (".png", ".svg", ".pdf")


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
        raise RNNLogicError("--frontier needs matplotlib: pip install '.[plots]' in the clone") from None
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
