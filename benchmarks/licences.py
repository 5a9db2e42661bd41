"""`python benchmarks/licences.py docs/dependencies.md`: list the licences of what we depend on."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

MARK = "## Licences\n"
NAME = re.compile(r"[A-Za-z0-9._-]+")
EXTRA = re.compile(r"""extra == ['"](\w+)['"]""")


def _first(values: list[str] | None) -> str:
    return values[0] if values else ""


def licence(package: str) -> str:
    about = metadata(package)
    kinds = [kind for kind in about.get_all("Classifier") or [] if kind.startswith("License")]
    classified = [kind.rpartition(" :: ")[2] for kind in kinds]
    stated = _first(about.get_all("License-Expression")) or ", ".join(
        c for c in classified if c != "OSI Approved"
    )
    return stated or (_first(about.get_all("License")) or "not stated").splitlines()[0][:60]


def rows() -> list[str]:
    found = []
    for requirement in requires("rnnlogic") or []:
        match, extra = NAME.match(requirement), EXTRA.search(requirement)
        if match is None or (extra and extra[1] == "dev"):
            continue
        try:
            found.append(f"| {match[0]} | {licence(match[0])} | {extra[1] if extra else ''} |")
        except PackageNotFoundError:
            found.append(f"| {match[0]} | not installed here | {extra[1] if extra else ''} |")
    return found


def main() -> None:
    path = Path(sys.argv[1])
    text = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip() + "\n\n"
    head = "As the installed packages state them (`python benchmarks/licences.py docs/dependencies.md`).\n\n"
    table = "\n".join(["| package | licence | extra |", "|---|---|---|", *rows()])
    path.write_text(f"{text}{MARK}\n{head}{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
