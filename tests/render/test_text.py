"""Explanations on a terminal: one screen, whatever the names are; for first, against last."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rnnlogic.base.text import printable
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.sentences import shortened, wrapped
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.rule import Chain, Feature
from rnnlogic.rules.ruleset import RuleSet
from tests.helpers.explained import compare, explain
from tests.helpers.people import people
from tests.helpers.questions import KINDS, VOCAB, questions, scorer_of

LONG = [
    "neuroreactive_substance_or_biogenic_amine_{}",
    "http://example.org/a/very/long/path/to/some/thing/of/number/{}",
    "名前の長い実体はここにある{}",
    "اسم طويل جدا {}",
    "x{}",
    "two words {}",
    "A" * 300 + "{}",
]


def dense_case(name, length=4, relations=3):
    """A graph in which many rules reach the answer, for and against it."""
    rng = np.random.default_rng(0)
    facts = rng.integers(0, [9, relations, 9], size=(150, 3))
    graph = Graph.from_triples([f for f in facts.tolist() if f != [0, 0, 1]], 9, relations)
    bodies = {tuple(rng.integers(0, 2 * relations, rng.integers(1, length + 1)).tolist()) for _ in range(80)}
    rules = RuleSet.from_rules(Chain(0, body) for body in sorted(bodies) if body != (0,))
    scorer = RuleScorer(rules, rng.normal(0.3, 1, len(rules)), "log1p", 1)
    names = tuple(name.format(i) for i in range(9)), tuple("r" + name.format(i) for i in range(relations))
    return graph, Vocab(*names), scorer


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("length", [2, 5])
def test_it_fits_one_screen(name, length):
    graph, vocab, scorer = dense_case(name, length)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    other = compare(graph, vocab, scorer, 0, 0, 1, 2, graph)
    assert len(told.contributions) > 10
    for lines in (list(told.lines()), list(other.lines())):
        assert len(lines) <= 24
        assert max(map(cell_len, lines)) <= 80
        assert any("rule  " in line or "  +" in line for line in lines)
        assert any("--all" in line for line in lines)
    assert max(map(cell_len, told.lines(width=60, height=20))) <= 60
    assert len(list(told.lines(width=60, height=20))) <= 20
    assert len(list(told.lines(everything=True))) > 24


@given(questions(KINDS))
def test_any_explanation_fits_one_screen(question):
    graph, scorer, *asked = question
    lines = list(explain(graph, VOCAB, scorer, *asked, known=graph).lines())
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= 80


def test_at_most_three_reasons_then_what_speaks_against_and_one_line_for_the_rest():
    graph, vocab, scorer = dense_case("x{}", 2)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    lines = list(told.lines(height=99))
    leads = [line[:10].strip() for line in lines if line[:1].isalpha() and line[9:10] == " "]
    assert [lead for lead in leads if lead in ("because", "also", "against")] == [
        "because",
        *["also"] * (len(told.reasons) - 1),
        "against",
    ]
    rules = [line.partition("rule  ")[2] for line in lines if line.startswith("  rule ")]
    assert len(rules) == len(told.reasons)
    for rule, reason in zip(rules, told.reasons, strict=False):
        assert rule.strip() == reason.rule.rule
        assert any(f"adds {reason.share * 100:.0f} %" in line for line in lines)
    named = {reason.rule.chain for reason in told.reasons}
    weaker = [c for c in told.contributions if c.contribution > 0 and c.chain not in named]
    share = math.fsum(c.contribution for c in weaker) / math.fsum(
        c.contribution for c in told.contributions if c.contribution > 0
    )
    assert lines[-1] == f"{len(weaker)} weaker reasons add {share * 100:.0f} %: --all"


def test_a_rule_with_constants_is_told_with_its_record_and_its_fact():
    vocab = Vocab(("octave", "group", *(f"p{i}" for i in range(9))), ("depends", "maintained_by"))
    facts = [(e, 1, 1) for e in range(2, 11)] + [(e, 0, 0) for e in range(4, 11)] + [(0, 1, 2)]
    rules = RuleSet.from_rules(
        [Feature(0, "best_constant_of_x"), Feature(0, "frequency"), Feature(0, "linked")]
    )
    graph = Graph.from_triples([*facts, (2, 1, 0)], 11, 2)
    scorer = RuleScorer(rules, np.array([2.0, 0.5, -1.0]), "binary", 1)
    told = explain(graph, vocab, scorer, 2, 0, 0, graph)
    lines = list(told.lines())
    assert lines[0].split("  ")[0] == "p0 depends on octave"
    assert "because   7 of the 8 others that are maintained by group depend on octave" in lines
    assert "  rule    depends(X,octave) <- maintained_by(X,group)" in lines
    assert "          by a shared property, adds 89 %. This reason alone puts it first." in lines
    assert "  fact    p0 is maintained by group" in lines
    assert "against   Another relation leads from p0 to octave already (-11 %)" in lines
    assert any(line.startswith("base rate octave is a common answer: +") for line in lines)
    assert told.as_dict()["reasons"][0]["facts"] == [["p0", "maintained_by", "group"]]
    assert "7 of 8" in "\n".join(told.lines(everything=True))
    assert "7 of the 8 others that are" in told.page()


def test_a_comparison_of_answers_that_a_condition_compares_has_no_walk():
    data = load_dataset(people(60), ratios=(1, 0, 0))
    vocab, graph = data.vocab, data.graph("train")
    scorer = RuleScorer(RuleSet.from_text(["elder(X,Y) <- born(X) < born(Y)"], vocab), np.ones(1), "binary")
    elder, (head, one, other) = vocab.relation_id("elder"), map(vocab.entity_id, ("p0", "p1", "p2"))
    told = compare(graph, vocab, scorer, head, elder, one, other, graph)
    for lines in (told.lines(), told.lines(everything=True)):
        assert any("p0 and p" in line for line in lines)


def test_all_shows_every_rule_with_its_numbers():
    graph, vocab, scorer = dense_case("x{}", 2)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph, detailed=None, limit=2)
    text = "\n".join(told.lines(everything=True))
    for rule in told.contributions:
        assert f"{rule.contribution:+9.4f}  {rule.rule}\n" in text
    for idea in told.ideas:
        assert f"{idea.contribution:+9.4f}  {idea.sentence}" in text
    assert "(comes back to where it was)" not in text
    walked = explain(graph.counting("walks"), vocab, scorer, 0, 0, 1, graph, detailed=None, limit=2)
    assert "(comes back to where it was)" in "\n".join(walked.lines(everything=True))
    assert "               ... " in text  # paths beyond the limit


def test_rules_by_the_same_facts_are_shown_as_one():
    vocab = Vocab(("a", "b", "c"), ("r", "s", "t"))
    rules = ["r <- s & t", "r <- s & t & t^-1 & t", "r <- s & s^-1 & s & t"]
    scorer = RuleScorer(RuleSet.from_text(rules, vocab), np.array([1.0, 0.5, 0.25]), "count", 1)
    graph = Graph.from_triples([(0, 1, 2), (2, 2, 1)], 3, 3).counting("walks")  # s(a,c) t(c,b)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    assert [len(group) for idea in told.ideas for group in idea.groups] == [3]
    lines = list(told.lines())
    assert "because   a has s c and c has t b" in lines
    assert lines[-1] == "2 weaker reasons add 43 %: --all"
    everything = "\n".join(told.lines(everything=True))
    assert everything.count(", alike") == 2
    assert "a -s-> c -t-> b <-t- c -t-> b (comes back to where it was)" in everything


def test_names_cannot_steer_the_terminal():
    graph, vocab, scorer = dense_case("\x1b[31mred\u202e\n{}", 3)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    other = compare(graph, vocab, scorer, 0, 0, 1, 2, graph)
    for text in (str(told), "\n".join(told.lines(everything=True)), str(other)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31mred\\u202e" in text


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc…fg"),
        ("日本語日本語", 7, "日…語"),
        ("abcdefgh", 5, "ab…gh"),
    ],
)
def test_shortened(text, most, expected):
    assert shortened(text, most) == expected
    assert cell_len(expected) <= most


@given(st.text(max_size=80), st.integers(20, 60))
def test_wrapped_lines_fit_and_lose_no_short_word(text, width):
    clean = printable(text)
    lines = wrapped(clean, width, "- ")
    assert all(cell_len(line) <= width for line in lines)
    words = [word for word in clean.split() if cell_len(word) <= width - 2]
    assert [word for line in lines for word in line.split() if word in words] or not words
    assert lines[0].startswith("- ")
    assert "\n" not in "".join(lines)


def test_the_text_of_left_out_rules_is_labelled():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (1, 3))])
    graph = Graph.from_triples([(0, 1, 1), (2, 1, 1), (0, 1, 2)], 5, 2)
    told = explain(graph, VOCAB, scorer_of("plus", rules, np.ones(2), "binary"), 0, 0, 1, graph)
    assert told.as_dict()["contributions"] == "leave-one-out"
    assert "the score minus the score without it" in str(told)
