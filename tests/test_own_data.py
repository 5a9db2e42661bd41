"""docs/own-data.md is what a new user sees: the same words in the same lines, whatever the numbers.

The sessions run in a folder that holds nothing but the example files. Times differ between machines, and so
may the last digits of what is learned, so numbers are masked; names, rules and paths are not.
"""

import re
import shutil
import sys
from csv import reader

from tests.helpers.programs import run_line
from tests.refresh import EXAMPLES
from tests.test_docs import ROOT, blocks, skeleton

sys.path.insert(0, str(ROOT / "examples"))

from family_files import family, tsv, turtle
from royal_family import csv, royals

PAGE = ROOT / "docs" / "own-data.md"


def test_the_example_files_are_what_the_script_makes():
    facts, missing = family()
    assert {relation for _, relation, _ in missing} == {"grandparent"}
    assert (ROOT / "examples" / "family.tsv").read_text(encoding="utf-8") == tsv(facts)
    assert (ROOT / "examples" / "family.ttl").read_text(encoding="utf-8") == turtle(facts)
    assert (ROOT / "examples" / "royals.csv").read_text(encoding="utf-8") == csv(royals()[0])


def test_the_page_shows_what_happens(tmp_path):
    for name in EXAMPLES:
        shutil.copy(ROOT / "examples" / name, tmp_path)
    for _, text in blocks(PAGE, "session"):
        for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = shown.partition("\n")
            status, out, err = run_line(command, tmp_path)
            assert status == 0, err
            assert skeleton(out) == skeleton(expected), command
    with (tmp_path / "new_facts.csv").open(encoding="utf-8", newline="") as file:
        proposed = [tuple(row[:3]) for row in reader(file)][1:]
    left_out = set(royals()[1])
    assert len(proposed) == 20
    wrong = [fact for fact in proposed if fact not in left_out]
    assert wrong == [("Charlotte of Wales", "grandparent_of", "Albert I of Belgium")], "as the page says"
