"""Docstrings of the public names: they tell every argument and no other, and their examples run."""

import inspect
import re
from doctest import DocTestParser

import numpy as np
import pytest

import rnnlogic
from rnnlogic.complete.complete import NewFact
from rnnlogic.explain.answers import Answer
from rnnlogic.explain.listing import RuleInfo
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.render.card import run_card
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.family import tiny_config

NAMES = {name: getattr(rnnlogic, name) for name in rnnlogic.__all__}
FUNCTIONS = {name: one for name, one in NAMES.items() if inspect.isfunction(one)} | {"run_card": run_card}
CLASSES = [one for one in NAMES.values() if inspect.isclass(one)]
COMPLETE = (rnnlogic.RNNLogic, rnnlogic.Question)  # every method has its sections
METHODS = {
    f"{owner.__name__}.{name}": getattr(owner, name)
    for owner in CLASSES
    for name in dir(owner)
    if not name.startswith("_")
    and inspect.isroutine(getattr(owner, name))
    and (owner in COMPLETE or "Args:" in (inspect.getdoc(getattr(owner, name)) or ""))
}
RECORDS = [rnnlogic.Question, rnnlogic.Dataset, rnnlogic.Chain, rnnlogic.Constant, rnnlogic.Feature]
RECORDS += [Answer, NewFact, RuleInfo]
PUBLIC = FUNCTIONS | METHODS | {"RNNLogic": rnnlogic.RNNLogic}
FITS = {"RNNLogic", "RNNLogic.fit", "RNNLogic.load"}  # their examples take minutes, or a run that these made
WITH_EXAMPLES = [name for name, one in PUBLIC.items() if name not in FITS and ">>>" in inspect.getdoc(one)]


def section(text, title):
    """The lines of a section, less indented; none if there is no such section."""
    found = re.search(rf"^{title}:\n((?: {{4}}.*\n?|\n)+)", text, re.MULTILINE)
    return [] if found is None else [line[4:] for line in found[1].splitlines()]


def told(text, title="Args"):
    """The names that a section tells."""
    return [line.split(":")[0].lstrip("*") for line in section(text, title) if re.match(r"[\w*]+: ?", line)]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_is_told(name):
    arguments = [one for one in inspect.signature(PUBLIC[name]).parameters if one != "self"]
    assert told(inspect.getdoc(PUBLIC[name])) == arguments


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_is_told(record):
    fields = [name for name in record.__annotations__ if not name.startswith("_")]
    assert told(inspect.getdoc(record), "Attributes") == fields


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_the_result_is_told(name):
    gives = inspect.signature(PUBLIC[name]).return_annotation not in (None, "None")
    assert bool(section(inspect.getdoc(PUBLIC[name]), "Returns")) == gives


def test_sections_are_told_apart():
    text = "Do it.\n\nArgs:\n    a: One.\n        Of: two.\n    **b: More.\n\nReturns:\n    c: It.\n"
    assert told(text) == ["a", "b"]
    assert section(text, "Returns") == ["c: It."]
    assert section(text, "Raises") == []


@pytest.fixture(scope="module")
def model():
    data = rnnlogic.load_dataset("nations")
    texts = ["embassy(X,Y) <- embassy(Y,X)", "embassy(X,Y) <- treaties(X,Z) & embassy(Z,Y)"]
    scorer = RuleScorer(RuleSet.from_text(texts, data.vocab), np.array([1.0, 0.5]), "log1p")
    learned = Learned(scorer, np.log([0.6, 0.4]), np.array([5, 3]), np.array([0.5, 0.4]))
    return rnnlogic.RNNLogic(tiny_config())._take(data, tiny_config(), learned)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = NAMES | {"model": model}
    for example in DocTestParser().get_examples(inspect.getdoc(PUBLIC[name])):
        exec(example.source, known)  # an error fails the test
