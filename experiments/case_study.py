"""The paper's case study on finished runs: the heaviest rules of a model that reach right test answers.

    python -m experiments.case_study RUN ...

The model is what `rnnlogic fit` left behind, a compact one by default. Evidence train; of the relations with
the most test facts, those whose answers are ranked first most often. Nothing is chosen by it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from paper.report import case_tables
from paper.studies import case_study
from rnnlogic.base.types import silent
from rnnlogic.runs.folder import Run


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    for folder in parser.parse_args().runs:
        for line in case_tables(Run.open(folder).dataset().name, case_study(folder, silent)):
            print(line)


if __name__ == "__main__":
    main()
