"""Takes pictures of all views of the explorer: wide and narrow, light and dark, each with version and run.

    python -m experiments.screenshots runs/countries                      # into build/screenshots
    python -m experiments.screenshots runs/countries --beside runs/other  # with two models side by side

Needs playwright and Debian's chromium. The fact asked about is the best proposal, unless one is given.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (1400, 400)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST = 2000  # pixels from top to bottom: a queue goes on and on


def main() -> None:
    """Serve the run, and look at it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--beside", type=Path, help="a second run, shown beside the first")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "screenshots")
    for end in ("head", "relation", "tail"):
        parser.add_argument(f"--{end}")
    options = parser.parse_args()
    runs = [one for one in (options.run, options.beside) if one is not None]
    with served(runs) as address:
        fact = {name: getattr(options, name) for name in ("head", "relation", "tail")}
        if None in fact.values():
            fact = best_proposal(address)
        views = views_of(f"{address}/runs/{quote(options.run.name)}", fact, options.beside)
        take_all(views, options.folder, options.run.name)


@contextmanager
def served(runs: list[Path]) -> Iterator[str]:
    """The address of a server of some runs, once it is ready and relations are measured."""
    command = [sys.executable, "-m", "rnnlogic", "serve", *map(str, runs), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stderr)
            address = next(one[0] for one in found if one)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            wait_for(address)
            yield address
        finally:
            process.terminate()


def wait_for(address: str) -> None:
    """Wait until relations are measured."""
    for _ in range(300):
        with urllib.request.urlopen(f"{address}/v1/relations") as answer:
            if b'"mrr"' in answer.read():
                return
        time.sleep(0.5)
    raise SystemExit("the server does not become ready")


def best_proposal(address: str) -> dict[str, str]:
    """The most probable missing fact."""
    with urllib.request.urlopen(f"{address}/v1/complete?max=1") as answer:
        found = json.loads(answer.read().splitlines()[0])
    return {name: found[name] for name in ("head", "relation", "tail")}


def views_of(run: str, fact: dict[str, str], beside: Path | None) -> dict[str, str]:
    """The address of each view."""
    question = {"head": fact["head"], "relation": fact["relation"]}
    views = {
        "start": run,
        "entity": f"{run}/entity?{urlencode({'name': fact['head']})}",
        "opened": f"{run}/entity?{urlencode({'name': fact['head'], 'open': fact['tail'], 'min': 0})}#around",
        "question": f"{run}/question?{urlencode(question)}",
        "unknown": f"{run}/question?{urlencode(question | {'head': fact['head'] + 'x'})}",
        "why": f"{run}/why?{urlencode(fact)}",
        "rules": f"{run}/rules?{urlencode({'relation': fact['relation'], 'sort': 'confidence'})}",
        "review": f"{run}/review",
    }
    if beside is not None:
        views["compared"] = f"{run}?{urlencode({'beside': beside.name})}"
        views["beside"] = f"{run}/question?{urlencode(question | {'beside': beside.name})}"
    return views


def take_all(views: dict[str, str], folder: Path, run: str) -> None:
    """All pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width, scheme in product(WIDTHS, SCHEMES):
            page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme=scheme)
            for name, address in views.items():
                take(page, address, folder / f"{name}-{width}-{scheme}.png", run)
            page.close()
        browser.close()


def take(page: Page, address: str, file: Path, run: str) -> None:
    """One picture of the whole page, when all of it is there."""
    page.goto(address)
    page.wait_for_selector("[data-fill], [data-filling]", state="detached")
    page.evaluate(
        """text => {
          const stamp = document.createElement("p");
          stamp.className = "note";
          stamp.textContent = text;
          const look = { position: "absolute", top: 0, right: "4px", margin: 0, fontSize: "10px" };
          Object.assign(stamp.style, look);
          document.body.append(stamp);
        }""",
        f"rnnlogic {version('rnnlogic')} · run {run}",
    )
    width, tall = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    page.screenshot(
        path=file, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": min(tall, MOST)}
    )
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
