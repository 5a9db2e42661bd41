"""`python -m tests.torture.page RESULTS.json... docs/reliability.md`: the page of a campaign in parts."""

import json
import sys
from pathlib import Path

from rnnlogic.data.places import LIMITS, PREFIX
from tests.torture.__main__ import table

TEXT = Path(__file__).with_name("reliability.txt")


def page(parts: list[dict]) -> str:
    """The page as Markdown; the parts of a campaign have different seeds."""
    rows = [f"| `{name}` | {value:,} | `{PREFIX}{name.upper()}` |" for name, value in LIMITS.items()]
    limits = "\n".join(["| limit | default | variable |", "|---|---|---|", *rows])
    first = parts[0]
    about = {key: sum(part[key] for part in parts) for key in ("minutes", "cpu_seconds")}
    about |= {"python": first["python"], "workers": first["workers"], "parts": len(parts)}
    about["note"] = "".join(part.get("note", "") for part in parts)  # what a reader should know besides
    about["seeds"] = ", ".join(str(part["seed"]) for part in parts)
    return TEXT.read_text(encoding="utf-8").format(limits=limits, table=table(summed(parts)), **about)


def summed(parts: list[dict]) -> list[dict]:
    """The rows of all parts together."""
    together = zip(*(part["rows"] for part in parts), strict=True)
    return [
        {key: value if key == "campaign" else sum(row[key] for row in rows) for key, value in rows[0].items()}
        for rows in together
    ]


if __name__ == "__main__":
    *results, place = map(Path, sys.argv[1:])
    Path(place).write_text(page([json.loads(path.read_text()) for path in results]), encoding="utf-8")
