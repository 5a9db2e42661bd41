"""Every number that README.md and docs/ quote is in docs/metrics.json, and is what stands there.

A decimal or a number with thousands outside code needs its key. Pages that a command writes are exempt.
"""

import json
import re

import pytest

from experiments.metrics import QUOTED, measured, pages, quoting, read_metrics, shown

GENERATED = {"benchmarks.md", "dependencies.md", "reliability.md"}
NOT_QUOTED = re.compile(
    r"<!--[\w./+-]+-->|Python \d\.\d+(?: and \d\.\d+)?|(?:SPARQL|SHACL) \d\.\d|[Vv]ersion \d+\.\d+"
    r"|\(\d\.\d+\)|\b0\.[12]\b"
)
NUMBER = re.compile(r"(?<![\w.,])\d*\.\d+\b|(?<![\w.,])\d{1,3}(?:,\d{3})+\b")
FILES = pages()


def prose(text):
    """A page without code, addresses and quoted metrics."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]+`|\]\([^)]*\)|^    .*$", "", QUOTED.sub("", text), flags=re.MULTILINE)
    return NOT_QUOTED.sub("", text)


@pytest.mark.parametrize("page", FILES, ids=[page.name for page in FILES])
def test_quoted_numbers_are_those_of_the_file(page):
    text = page.read_text(encoding="utf-8")
    assert quoting(text, read_metrics()) == text, "run python -m experiments.metrics"


@pytest.mark.parametrize("page", FILES, ids=[page.name for page in FILES])
def test_every_number_has_a_key(page):
    if page.name not in GENERATED:
        assert NUMBER.findall(prose(page.read_text(encoding="utf-8"))) == []


def test_a_number_without_a_key_is_found():
    assert NUMBER.findall(prose("MRR .389, 0.5 and 1,792 rules; `0.3`, Python 3.11, .1<!--a/b-->")) == [
        ".389",
        "0.5",
        "1,792",
    ]


def test_every_entry_says_where_it_comes_from():
    for key, entry in read_metrics().items():
        assert entry["value"], key
        assert entry.get("command") or entry.get("source"), key


def test_every_entry_is_quoted_or_kept_for_a_row_of_the_paper():
    quoted = {key for page in FILES for _, key in QUOTED.findall(page.read_text(encoding="utf-8"))}
    unused = set(read_metrics()) - quoted
    assert unused == set()


def test_values_come_from_finished_runs(tmp_path):
    for seed, mrr in ((0, 0.25), (1, 0.75)):
        folder = tmp_path / "umls" / "links" / f"seed-{seed}" / "reports"
        folder.mkdir(parents=True)
        (folder / "test.json").write_text(json.dumps({"both": {"expected": {"mrr": mrr}}}))
    entry = {"value": ".1", "what": "mrr", "runs": "umls/links", "from": "a page"}
    assert measured(entry, tmp_path) == entry | {"value": ".500", "seeds": 2, "from": "runs"}
    assert measured(entry | {"runs": "umls/none"}, tmp_path)["value"] == ".1"


def test_numbers_are_shown_in_one_way():
    assert [shown(0.3891, "mrr"), shown(1792, "rules"), shown(2.36, "minutes")] == [".389", "1,792", "2.4"]
