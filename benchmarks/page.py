"""Put the JSON of benchmarks into docs/benchmarks.md; the name of each file says which benchmark it holds.

python benchmarks/grounding.py --data DIR --json > grounding.json && python benchmarks/page.py grounding.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from grounding import LABELS

PAGE = Path("docs/benchmarks.md")
HEAD = """# Benchmarks

Measured on 2 cores of a shared virtual machine (Xeon, 2.8 GHz). The methods take turns over several rounds,
and the best round counts: compare methods, not machines. To renew a section, run `python benchmarks/NAME.py
--data DIR --json > NAME.json`, then `python benchmarks/page.py NAME.json`. DIR holds WN18RR, FB15k-237 and
the authors' rules.
"""
GROUNDING = """## Grounding

`benchmarks/grounding.py`; `make bench` prints the same as a table. The rules are those that the authors
released (6,133 and 126,102 after removing duplicates, longest body 5 and 3). All methods answer the same test
queries in both directions, and the run stops if their counts differ. Rates are thousands of (query x rule)
groundings per second. Training queries have their own fact hidden, which the other methods do not offer.
"""
EMBEDDINGS = """## RotatE training

`benchmarks/embeddings.py`. Thousands of scored triples per second over whole training steps (sampling,
forward pass, gradients, Adam), with self-adversarial negative sampling and the same dimension, batch size and
number of negatives. Ours and plain torch share negatives among 128 queries and take the same steps; PyKEEN
draws negatives for every query.
"""
PLUS = """## Training RNNLogic+

`benchmarks/plus.py RUN` with a WN18RR run. Grounding, scores, gradients and optimiser steps with PNA and 200
rules per relation on one thread, compared with a dense implementation of the same model: walk counts as
[entities, queries] arrays, messages [candidates, rules, dim]. All start from the same parameters, and the run
stops if the losses differ.
"""


def rates_table(results: dict[str, dict[str, float]], names: list[str]) -> str:
    """Rates, and their ratios to SciPy on the same task."""
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
    """Facts that the table does not show."""
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
        f"graph built in {s['graph_seconds']:.1f} s ({s['graph_bytes_per_fact']:.0f} bytes per fact, "
        f"no dense relation x entity index), peak memory {s['peak_gb']:.2f} GB."
    )
    return "\n".join(lines)


def grounding(results: dict[str, dict[str, float]]) -> str:
    """The section on grounding."""
    names = [name for name in results if name != "scale"]
    return f"{GROUNDING}\n{rates_table(results, names)}\n\n{facts(results, names)}\n"


def embeddings(results: dict[str, dict[str, Any]]) -> str:
    """The section on training embeddings."""
    columns = ("dim", "batch", "negatives", "threads")
    head = ["", *columns, "ours", "plain torch", "PyKEEN", "ours / torch", "ours / PyKEEN"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---|" * (len(head) - 1)]
    for name, result in results.items():
        rates = result["triples_per_second"]
        cells = [name, *(str(result[column]) for column in columns)]
        cells += [f"{rates[key] / 1e3:,.0f}" for key in ("ours", "torch", "pykeen")]
        cells += [f"{rates['ours'] / rates[key]:.0f}x" for key in ("torch", "pykeen")]
        lines.append(f"| {' | '.join(cells)} |")
    return f"{EMBEDDINGS}\n" + "\n".join(lines) + "\n"


def plus(result: dict[str, Any]) -> str:
    """The section on RNNLogic+."""
    lines = ["| | CPU seconds | dense / ours |", "|---|---|---|"]
    lines.append(f"| dense torch | {result['dense_seconds']:.2f} | 1 |")
    for key, label in (("ours", "ours, all candidates"), ("sampled", "ours, a sample of candidates")):
        seconds = result[f"{key}_seconds"]
        lines.append(f"| {label} | {seconds:.3f} | {result['dense_seconds'] / seconds:,.0f}x |")
    table = "\n".join(lines)
    return f"{PLUS}\n{table}\n\n{result['queries']} queries, {result['rules']:,} rules in all.\n"


SECTIONS = {"grounding": grounding, "embeddings": embeddings, "plus": plus}


def main() -> None:
    """Read the JSON files named on the command line and renew their sections of the page."""
    page = PAGE.read_text(encoding="utf-8")
    parts = {name: _between(page, name) for name in SECTIONS}
    for path in map(Path, sys.argv[1:]):
        parts[path.stem] = SECTIONS[path.stem](json.loads(path.read_text(encoding="utf-8")))
    written = [f"<!-- {name} -->\n{text}<!-- end of {name} -->\n" for name, text in parts.items() if text]
    PAGE.write_text("\n".join([HEAD, *written]), encoding="utf-8")
    print(f"{PAGE} written")


def _between(page: str, name: str) -> str:
    """The section of the page about one benchmark."""
    return page.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- end of {name} -->")[0]


if __name__ == "__main__":
    main()
