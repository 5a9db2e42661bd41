"""Generate docs/results.md and the README's table from the run folders in runs/experiments.

python experiments/report.py
python experiments/report.py --rows    # docs/results-2.md instead: only rows that were run
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rnnlogic.runs.reports import metrics_of
from rnnlogic.studies.reproduce.experiment import Bench, Experiment, experiment_names
from rnnlogic.studies.reproduce.report import NAMES, write_page
from rnnlogic.studies.reproduce.tables import minutes_of, runs_of, spread
from rnnlogic.studies.reproduce.targets import VARIANTS

BENCH = Bench(Path("data"), Path("runs/experiments"))  # the data are not read
PAGE, ROWS, README = Path("docs/results.md"), Path("docs/results-2.md"), Path("README.md")
BEGIN, END = "<!-- results: made by experiments/report.py -->\n", "<!-- end of results -->\n"
MORE = """
## More figures

- [results-2.md](results-2.md): rows that came later: our own ComplEx, two embeddings with what is already
  linked, and the settings of the paper's first released code.
- [evidence.md](evidence.md): what is already linked, frequent answers and rules with
  constants besides chains, with and without embeddings.
- [compact.md](compact.md): how few rules keep how much accuracy.
- [probability.md](probability.md#how-far-it-is-right): are stated probabilities right?
  The table, and the reliability diagrams:

![reliability diagrams](figures/reliability.png)
"""
NOTE = (
    "Authors' splits, evidence train, both sides, expected ties; minutes for fit and test of one seed on 2"
    " busy cores; ± over seeds. [All results](docs/results.md)."
)


def summary(bench: Bench) -> str:
    """The README's table: our variants and the published numbers."""
    experiments = [bench.experiment(name) for name in experiment_names()]
    lines = [f"| test MRR (minutes) | {' | '.join(e.dataset for e in experiments)} |"]
    lines.append("|---|" + "---|" * len(experiments))
    for setting in VARIANTS:
        name = NAMES[experiments[0].model(setting)].removesuffix(", our own")
        published = [e.published[e.model(setting)].get("both", {}).get("mrr", "-") for e in experiments]
        lines.append(f"| *{name}, published* | {' | '.join(map(str, published))} |")
        lines.append(f"| {name}, ours | {' | '.join(cell(bench, e, setting) for e in experiments)} |")
    return "\n".join([*lines, "", NOTE]) + "\n"


def cell(bench: Bench, experiment: Experiment, setting: str) -> str:
    """The test MRR and minutes of one setting."""
    folders = runs_of(bench.out, experiment.dataset, setting)
    ours = [metrics_of(folder)["mrr"] for folder in folders]
    return f"{spread(ours)} ({minutes_of(folders)})" if ours else "-"


def main() -> None:
    """Write the page and the table, or the page of rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", action="store_true", help=f"write {ROWS} instead: only what was run")
    if parser.parse_args().rows:
        write_page(BENCH, ROWS, only_rows=True)
        print(f"{ROWS} written")
        return
    write_page(BENCH, PAGE)
    PAGE.write_text(PAGE.read_text(encoding="utf-8") + MORE, encoding="utf-8")
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(before + BEGIN + summary(BENCH) + END + rest.partition(END)[2], encoding="utf-8")
    print(f"{PAGE} and the table in {README} written")


if __name__ == "__main__":
    main()
