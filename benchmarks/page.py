"""Make docs/benchmarks.md of a benchmark's JSON.

python benchmarks/grounding.py --data DIR --json > bench.json && python benchmarks/page.py bench.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from grounding import LABELS

PAGE = Path("docs/benchmarks.md")
HEAD = """# Benchmarks

Made by `python benchmarks/grounding.py --data DIR --json > bench.json` and `python benchmarks/page.py
bench.json`; `make bench` prints the same as a table. DIR holds WN18RR, FB15k-237 and the rules that the
authors released (6,133 and 126,102 rules after de-duplication, longest body 5 and 3). All methods answer
the same test queries in both directions, and the run stops if their counts differ. Rates are (query x
rule) groundings a second in thousands, the best of several rounds in which the methods take turns, on 2
cores of a shared virtual machine (Xeon, 2.8 GHz): compare columns, not machines. Queries with their own
fact hidden are training queries, which others do not offer.
"""


def rates_table(results: dict[str, dict[str, float]], names: list[str]) -> str:
    """Rates, and ratios to SciPy doing the same."""
    heads = [f"{name} | times SciPy" for name in names]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * (2 * len(names))]
    for method, label in LABELS.items():
        against = "scipy_scores" if "scores" in label else "scipy"
        cells = []
        for name in names:
            rate = results[name][method]
            ratio = "-" if method == "train_2" else f"{rate / results[name][against]:.2g}"
            cells += [f"{rate / 1e3:,.1f}", ratio]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def facts(results: dict[str, dict[str, float]], names: list[str]) -> str:
    """What the table does not say."""
    lines = []
    for name in names:
        r = results[name]
        lines.append(
            f"- {name}: the second core gives {r['ours_2'] / r['ours_1']:.2f}x (counts) and "
            f"{r['fused_2'] / r['fused_1']:.2f}x (scores); "
            f"{r['ours_1'] / r['torch_dense']:,.0f}x dense torch; "
            f"{r['train_queries']:,.0f} training queries with their own fact hidden, "
            f"{r['train_results']:,.0f} results, {r['train_seconds']:.1f} s; peak memory of that process "
            f"{r['peak_gb']:.2f} GB."
        )
    s = results["scale"]
    lines.append(
        f"- A generated graph of {s['facts']:,.0f} facts, {s['entities']:,.0f} entities and "
        f"{s['relations']:,.0f} relations: read from TSV and split in {s['load_seconds']:.1f} s, "
        f"graph built in {s['graph_seconds']:.1f} s ({s['graph_bytes_per_fact']:.0f} bytes a fact, "
        f"no dense relation x entity index), peak memory {s['peak_gb']:.2f} GB."
    )
    return "\n".join(lines)


def main() -> None:
    """Read the JSON named on the command line and write the page."""
    results = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    names = [name for name in results if name != "scale"]
    PAGE.write_text(f"{HEAD}\n{rates_table(results, names)}\n\n{facts(results, names)}\n", encoding="utf-8")
    print(f"{PAGE} written")


if __name__ == "__main__":
    main()
