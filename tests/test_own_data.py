"""docs/own-data.md is what a new user sees: the same words in the same lines, whatever the numbers.

The sessions run in a folder that holds nothing but the example files. Times differ between machines, and so
may the last digits of what is learned, so numbers are masked; names, rules and paths are not.
"""

import re
import shutil
import sys

from tests.helpers.programs import run_line
from tests.test_docs import ROOT, blocks

sys.path.insert(0, str(ROOT / "examples"))

from family_files import family, tsv, turtle

PAGE = ROOT / "docs" / "own-data.md"


def skeleton(text: str) -> list[str]:
    """Lines without numbers and without the blanks that align them; not those of bins, which may be empty."""
    lines = [" ".join(re.sub(r"[-+]?\d[\d.,]*", "N", line).split()) for line in text.splitlines()]
    return [line for line in lines if not line.startswith("NN")]


def test_the_example_files_are_what_the_script_makes():
    facts, missing = family()
    assert {relation for _, relation, _ in missing} == {"grandparent"}
    assert (ROOT / "examples" / "family.tsv").read_text(encoding="utf-8") == tsv(facts)
    assert (ROOT / "examples" / "family.ttl").read_text(encoding="utf-8") == turtle(facts)


def test_the_page_shows_what_happens(tmp_path):
    for name in ("family.tsv", "family.ttl"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    for _, text in blocks(PAGE, "session"):
        for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = shown.partition("\n")
            status, out, err = run_line(command, tmp_path)
            assert status == 0, err
            assert skeleton(out) == skeleton(expected), command
    proposed = (tmp_path / "new_facts.tsv").read_text(encoding="utf-8").splitlines()[1:]
    left_out = set(family()[1])
    assert len(proposed) == 20
    assert all(tuple(line.split("\t")[:3]) in left_out for line in proposed)
