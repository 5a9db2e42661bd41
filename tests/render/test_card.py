"""A run card says what the run says, and names of the data stay names."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rnnlogic.config import override
from rnnlogic.data.dataset import load_dataset
from rnnlogic.fit.result import FRONTIER, Learned
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.render.card import run_card
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.runs.folder import Run
from tests.helpers.family import family, given_rules, tiny_config

NASTY = "<script>alert(1)</script>|*a*_b_`c`[d](http://e)"


@pytest.fixture(scope="module")
def model():
    data = family()
    return RNNLogic()._take(data, tiny_config(), given_rules(data))


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = model.save(tmp_path_factory.mktemp("card") / "run")
    run = Run.open(path)
    run.save_report("valid", model.evaluate("valid").as_dict())
    frontier = {
        "rules": np.array([100, 30, 6]),
        "mrr": np.array([0.8, 0.79, 0.75]),
        "drop": np.array([0.01, 0.02, 0.06]),
        "error": np.full(3, 0.01),
        "chosen": np.array(1),
        "full_rules": np.array(200),
    }
    run.save(FRONTIER, frontier)
    return path


@pytest.fixture(scope="module")
def card(model, folder):
    return run_card(model, folder)


def section(card, title):
    return next(one for one in card.sections if one.title == title)


def test_it_counts_the_data(card, model):
    data = model.dataset
    rows = dict(section(card, "Data").table.rows)
    assert rows["entities"] == data.vocab.num_entities
    assert rows["facts of valid"] == len(data.valid)


def test_it_shows_settings_that_differ_and_no_others(card, model):
    rows = {key: value for key, value, _ in section(card, "Settings").table.rows}
    assert rows["em.rules"] == "20"
    assert "seed" not in rows
    changed = override(model.config, ["seed=7"])
    other = run_card(RNNLogic()._take(model.dataset, changed, model.learned))
    assert {key: value for key, value, _ in section(other, "Settings").table.rows}["seed"] == "7"


def test_scores_are_those_that_were_kept(card, model):
    row = section(card, "Scores").table.rows[0]
    assert row[0] == "valid"
    assert row[3] == pytest.approx(model.evaluate("valid").metrics()["mrr"])
    assert len(section(card, "Scores").table.rows) == 1  # the test facts were not evaluated


def test_without_a_folder_it_says_how_to_evaluate(model):
    card = run_card(model)
    assert "rnnlogic evaluate" in section(card, "Scores").text[0]
    assert "Frontier" not in [one.title for one in card.sections]


def test_the_frontier_marks_the_chosen_model(card):
    found = section(card, "Frontier")
    assert [row[0] for row in found.table.rows if row[3] == "this run"] == [30]
    assert found.picture.count("<circle") == 1


def test_reliability_has_a_dot_for_each_row(card, model):
    found = section(card, "Probabilities")
    assert found.picture.count("<circle") == len(found.table.rows) == len(model.level().reliability.bins)


def test_rules_are_sentences_those_that_decide_most_first(card):
    rows = [row[1] for row in section(card, "Best rules").table.rows if row[0] == "grandparent"]
    assert rows == [
        "X grandparent Y if X is married to A and A grandparent Y",
        "X grandparent Y if X parent A and A parent Y",
    ]


def test_markdown_has_every_section_and_whole_tables(card):
    text = card.markdown()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [one.title for one in card.sections]
    for one in card.sections:
        assert one.table is None or f"| {one.table.headers[0]} |" in text
    scores = text.split("## Scores")[1].split("\n\n")[2]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in scores.split("\n")}
    assert widths == {9}


class Reader(HTMLParser):
    """Collects tags and what they would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.loads = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href")]


def test_names_of_the_data_are_shown_and_never_acted_upon():
    data = load_dataset([(f"a{i}", NASTY, f"a{i + 1}") for i in range(9)], name=NASTY, ratios=(80, 10, 10))
    given = RuleSet.from_rules([Chain(0, (1,))])
    learned = Learned(RuleScorer(given, np.ones(1), "log1p"), np.zeros(1), np.ones(1, np.int64), np.ones(1))
    card = run_card(RNNLogic()._take(data, tiny_config(), learned))
    reader = Reader()
    reader.feed(card.page())
    assert "script" not in reader.tags
    assert reader.loads == []
    assert "&lt;script&gt;" in card.page()
    assert not re.search(r"(?<!\\)[<`*\[]", card.markdown())
