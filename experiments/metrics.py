"""Renew docs/metrics.json, the one file of metrics, and the numbers that README.md and docs/ quote from it.

python -m experiments.metrics                          # read finished runs, then write the file and the pages
python -m experiments.metrics --runs runs/experiments  # where the runs lie: DATASET/SETTING/seed-N

A page quotes a metric as `.389<!--fb15k-237/default/mrr-->`: the number, then its key, hidden from readers.
An entry with `runs` is read from run folders; the others are typed in, with the command that gave them.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

from paper.tables import fit_minutes, runs_of
from rnnlogic.runs.files import metrics_of, read_object
from rnnlogic.runs.finished import MODEL

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "metrics.json"
QUOTED = re.compile(r"([\d.,]+)<!--([\w./+-]+)-->")
MINUTES, RULES = "minutes", "rules"


def pages() -> list[Path]:
    """The pages that may quote metrics."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def read_metrics() -> dict[str, dict[str, Any]]:
    """All entries by key."""
    entries: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return entries


def measured(entry: dict[str, Any], root: Path) -> dict[str, Any]:
    """An entry with the value of its finished runs; as it is where there are none."""
    dataset, _, setting = str(entry.get("runs", "")).partition("/")
    folders = runs_of(root, dataset, setting) if dataset else []
    if not folders:
        return entry
    values = [_value(folder, str(entry["what"])) for folder in folders]
    return entry | {"value": shown(mean(values), str(entry["what"])), "seeds": len(folders), "from": "runs"}


def _value(folder: Path, what: str) -> float:
    if what == RULES:
        return float(read_object(folder / MODEL)["rules"])
    return fit_minutes(folder) if what == MINUTES else metrics_of(folder)[what]


def shown(value: float, what: str) -> str:
    """A number as pages show it: .389, 1,792 or 2.4."""
    if what == RULES:
        return f"{value:,.0f}"
    return f"{value:.1f}" if what in (MINUTES, "mr") else f"{value:.3f}".removeprefix("0")


def quoting(text: str, entries: dict[str, dict[str, Any]]) -> str:
    """A page with its quoted numbers as the file has them."""
    return QUOTED.sub(lambda found: f"{entries[found[2]]['value']}<!--{found[2]}-->", text)


def main() -> None:
    """Renew the file and the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/experiments"))
    root = parser.parse_args().runs
    old = read_metrics()
    new = {key: measured(entry, root) for key, entry in sorted(old.items())}
    FILE.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for key in (key for key in new if new[key]["value"] != old[key]["value"]):
        print(f"{key}: {old[key]['value']} -> {new[key]['value']}")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if quoting(text, new) != text:
            page.write_text(quoting(text, new), encoding="utf-8")
            print(f"{page.name}: changed")


if __name__ == "__main__":
    main()
