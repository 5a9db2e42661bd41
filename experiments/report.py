"""Generate research/results.md from the run folders in runs/experiments: every table, split and metric.

python -m experiments.report
python -m experiments.report --rows    # research/results-2.md instead: only rows that were run

The pages that readers see quote single numbers: `python -m experiments.metrics`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from paper.experiment import Bench
from paper.report import write_page

BENCH = Bench(Path("data"), Path("runs/experiments"))  # the data are not read
PAGE, ROWS = Path("research/results.md"), Path("research/results-2.md")


def main() -> None:
    """Write the page of all rows, or of those that were run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", action="store_true", help=f"write {ROWS} instead: only what was run")
    only_rows = parser.parse_args().rows
    page = ROWS if only_rows else PAGE
    write_page(BENCH, page, only_rows=only_rows)
    print(f"{page} written")


if __name__ == "__main__":
    main()
