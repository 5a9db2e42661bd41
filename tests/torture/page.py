"""`python -m tests.torture.page RESULTS.json docs/reliability.md`: the page, from a campaign."""

import json
import sys
from pathlib import Path

from rnnlogic.base.limits import LIMITS, PREFIX
from tests.torture.__main__ import table

TEXT = Path(__file__).with_name("reliability.txt")


def page(results: dict) -> str:
    """The page as Markdown."""
    rows = [f"| `{name}` | {value:,} | `{PREFIX}{name.upper()}` |" for name, value in LIMITS.items()]
    limits = "\n".join(["| limit | default | variable |", "|---|---|---|", *rows])
    about = {key: results[key] for key in ("minutes", "seed", "python", "workers", "cpu_seconds")}
    about["note"] = results.get("note", "")  # if it was no whole campaign
    return TEXT.read_text(encoding="utf-8").format(limits=limits, table=table(results["rows"]), **about)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(json.loads(Path(sys.argv[1]).read_text())), encoding="utf-8")
