"""Build the wheel and the sdist, install them into clean environments, and use what was installed.

    python tests/package_smoke.py      lowest and newest versions, with this Python
    python tests/package_smoke.py --python python3.13 --versions newest --without-torch

`make package` runs it. Versions are the lowest that pyproject.toml allows, or the newest that pip finds.
torch is always that of constraints.txt: most others are not to be had as CPU builds from the same index, and
would bring gigabytes of CUDA. Where even that one is missing, `--without-torch` checks what works without.
The lowest versions are meant for the lowest Python; a newer one may need newer versions of numpy and numba.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUICK = {
    "max_length": 2,
    "mine.candidates": 60,
    "generator.hidden_size": 32,
    "generator.embedding_size": 32,
    "generator.pretrain_steps": 50,
    "generator.tune_steps": 10,
    "em.rounds": 1,
    "em.rules": 20,
    "final.rules": 20,
}
TORCH_FREE = """
import rnnlogic as rl
facts = [line.split("\\t") for line in open("family.tsv").read().split("\\n") if line]
data = rl.load_dataset(facts, ratios=(80, 10, 10))
rules = rl.RuleSet.from_text(["grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"], data.vocab)
report = rl.evaluate(rl.RuleScorer(rules, weights=[1.0]), data)
assert report.by_relation()["grandparent"]["tail"]["hits@10"] > 0.4, report.by_relation()
assert len(rl.load_dataset("umls").vocab.entities) == 135
import sys
assert "torch" not in sys.modules
"""


def main() -> None:
    """Parse the arguments and try every combination."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter of the clean environments")
    parser.add_argument("--versions", choices=["lowest", "newest", "both"], default="both")
    parser.add_argument("--without-torch", action="store_true", help="where there is no CPU build of torch")
    given = parser.parse_args()
    wanted = ["lowest", "newest"] if given.versions == "both" else [given.versions]
    with tempfile.TemporaryDirectory() as folder:
        made = build(Path(folder, "dist"))
        for versions in wanted:
            kinds = made if versions == "newest" else made[:1]
            for package in kinds:
                try_package(package, Path(folder), given.python, versions, given.without_torch)


def build(folder: Path) -> list[Path]:
    """The wheel and the sdist."""
    run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT), quiet=True)
    return [next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))]


def try_package(package: Path, folder: Path, python: str, versions: str, without_torch: bool) -> None:
    """Install one file into a clean environment and use it."""
    place = Path(tempfile.mkdtemp(dir=folder))
    run(python, "-m", "venv", str(place / "env"))
    executable = str(place / "env" / "bin" / "python")
    bounds = place / "bounds.txt"
    bounds.write_text("\n".join(pins(versions, without_torch)) + "\n", encoding="utf-8")
    pip = [executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(bounds)]
    if without_torch:
        rest = [one for one in requirements() if name_of(one) not in ("torch", "pykeen")]
        run(*pip, *rest)
        run(*pip, "--no-deps", str(package), "pykeen")
    else:
        run(*pip, "torch")
        run(*pip, str(package))
    use(place, executable, without_torch)
    shown = run(executable, "--version", quiet=True).strip()
    print(f"works: {package.name}, {versions} versions, {shown}{', no torch' * without_torch}", flush=True)


def use(place: Path, executable: str, without_torch: bool) -> None:
    """Learn, answer, explain: in an empty folder, by what was installed."""
    (place / "family.tsv").write_bytes((ROOT / "examples" / "family.tsv").read_bytes())
    where = "import rnnlogic, pathlib; print(pathlib.Path(rnnlogic.__file__).parent)"
    home = Path(run(executable, "-c", where, folder=place, quiet=True).strip())
    assert place in home.parents, f"{home} is not what was installed"
    assert (home / "py.typed").is_file()
    run(executable, "-c", TORCH_FREE, folder=place)
    program = str(Path(executable).with_name("rnnlogic"))
    changes = [word for key, value in QUICK.items() for word in ("--set", f"{key}={value}")]
    commands = [["--version"], ["data", "info", "umls"], ["mine", "family.tsv", "-o", "rules.txt"]]
    if not without_torch:
        asked = ["--head", "Dode", "--relation", "grandparent"]
        commands += [
            ["fit", "family.tsv", "-o", "run", *changes],
            ["evaluate", "run"],
            ["rules", "run", "--most", "1"],
            ["predict", "run", *asked],
            ["explain", "run", *asked, "--tail", "Solo", "--html", "why.html"],
            ["complete", "run", "--most", "5", "-o", "new.tsv"],
            ["card", "run", "-o", "card.html"],
        ]
    for command in commands:
        run(program, *command, folder=place, quiet=True)


def requirements() -> list[str]:
    """What pyproject.toml asks for."""
    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    return found


def pins(versions: str, without_torch: bool) -> list[str]:
    """Constraints for pip: the lowest versions allowed, or none; and torch as the CPU build."""
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n")
    torch = [] if without_torch else [line for line in constraints if name_of(line) == "torch"]
    if versions == "newest":
        return torch
    lowest = [re.sub(r">=([\d.]+),.*", r"==\1", one) for one in requirements()]
    return [one for one in lowest if name_of(one) != "torch"] + torch


def name_of(requirement: str) -> str:
    """The name of the package."""
    return re.split(r"[<>=\[ ]", requirement)[0]


def run(*command: str, folder: Path | None = None, quiet: bool = False) -> str:
    """Run a program outside this repository; its output is shown where it fails."""
    own = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "RNNLOGIC_DATA")}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    if not quiet and done.stdout:
        print(done.stdout, end="")
    return done.stdout


if __name__ == "__main__":
    main()
