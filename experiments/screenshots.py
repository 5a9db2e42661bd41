"""Makes the pictures of the explorer in docs/images/: start, question, why, rules.

    python -m experiments.screenshots runs/umls

Needs playwright and Debian's chromium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlencode

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
MOST = 200_000  # bytes


def main() -> None:
    """Serve the run, and look at it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--head", default="antibiotic")
    parser.add_argument("--relation", default="interacts_with")
    parser.add_argument("--tail", default="biologically_active_substance")
    options = parser.parse_args()
    command = [sys.executable, "-m", "rnnlogic", "serve", str(options.run), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stderr)
            address = next(one[0] for one in found if one)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            wait_for(address)
            take_all(
                f"{address}/runs/{quote(options.run.name)}", options.head, options.relation, options.tail
            )
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


def take_all(run: str, head: str, relation: str, tail: str) -> None:
    """All pictures."""
    question = {"head": head, "relation": relation}
    views = {
        "start": run,
        "question": f"{run}/question?{urlencode(question)}",
        "why": f"{run}/why?{urlencode(question | {'tail': tail})}",
        "rules": f"{run}/rules?{urlencode({'relation': relation, 'sort': 'confidence'})}",
    }
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme="light")
        for name, address in views.items():
            take(page, address, IMAGES / f"{name}.png")
        browser.close()


def take(page: Page, address: str, file: Path) -> None:
    """One picture."""
    page.goto(address)
    page.screenshot(path=file)
    size = file.stat().st_size
    print(f"{file.name}: {size / 1000:.0f} KB")
    if size > MOST:
        raise SystemExit(f"{file} is too large")


if __name__ == "__main__":
    main()
