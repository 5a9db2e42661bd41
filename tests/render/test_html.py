"""Pages and notebook fragments: well formed, self-contained, and safe whatever names are."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from rnnlogic.data.vocab import Vocab
from rnnlogic.features.chains.paths import Path
from rnnlogic.model import RNNLogic
from rnnlogic.render.html import bdi
from rnnlogic.render.svg import NAME, Strand, picture
from rnnlogic.render.tables import Listed
from tests.helpers.explained import compare, explain
from tests.helpers.family import family, given_rules
from tests.render.test_text import dense_case

EVIL = "</bdi></script><script>alert('{}')</script><img src=x onerror=\"a\"> & שלום"
VOID = {"meta"}
ALLOWED = "html head body meta title style div p h1 h2 details summary span ul li code bdi em table tr th td"
SVG = "svg defs marker path g rect text title"


class Checker(HTMLParser):
    """Collects tags and attributes, and whether they are closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def checked(html):
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker


@pytest.mark.parametrize("name", [EVIL, "plain{}", "http://x.org/{}"])
def test_pages_hold_names_as_text_and_load_nothing(name):
    graph, vocab, scorer = dense_case(name, 3)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    for page in (told.page(), compare(graph, vocab, scorer, 0, 0, 1, 2, graph).page()):
        found = checked(page)
        assert set(found.tags) <= set(f"{ALLOWED} {SVG}".split())
        assert not any(key.startswith("on") or key in ("src", "href") for key, _ in found.attributes)
        links = re.findall(r"(?:https?:)?//[^\s\"'<]+", re.sub(r"<[^>]*xmlns=[^>]*>", "", page))
        assert all(link.startswith("http://x.org/") for link in links)  # only names of the graph
        assert "default-src 'none'" in page
        if name == EVIL:
            assert "alert(&#x27;" in page
            assert "<script" not in page
            assert any("<script>alert" in text for text in found.text)


def test_a_notebook_shows_the_same_fragment():
    graph, vocab, scorer = dense_case("x{}", 3)
    told = explain(graph, vocab, scorer, 0, 0, 1, graph)
    assert told._repr_html_() in told.page()
    checked(told._repr_html_())
    assert "prefers" in told.page() or "color-scheme" in told.page()  # light and dark
    for idea in told.ideas:
        assert f"{idea.contribution:+.4f}" in told._repr_html_()


def drawn(strands, vocab):
    """Boxes {name: x}, and labels of edges."""
    root = ElementTree.fromstring(picture(strands, vocab))
    space = "{http://www.w3.org/2000/svg}"
    names = [g.find(f"{space}text") for g in root.iter(f"{space}g")]
    boxes = {name.text: float(name.get("x")) for name in names}
    labels = [t.find(f"{space}title").tail for t in root.iter(f"{space}text") if t.get("class") == "step"]
    return boxes, labels


def test_the_picture_has_every_entity_and_every_fact_once():
    vocab = Vocab(tuple("abcde"), ("r", "s"))
    strands = [
        Strand(Path((0, 1, 4), (0, 1)), "#111111", False),
        Strand(Path((0, 1, 2, 4), (0, 3, 1)), "#222222", False),  # shares r(a, b)
        Strand(Path((0, 3, 0, 4), (0, 2, 0)), "#333333", True),  # there and back, by the same fact
    ]
    boxes, labels = drawn(strands, vocab)
    assert sorted(boxes) == list("abcde")
    assert sorted(labels) == ["r", "r", "r", "s", "s", "s"]
    assert min(boxes, key=boxes.get) == "a"
    assert max(boxes, key=boxes.get) == "e"
    assert boxes["a"] < boxes["b"] <= boxes["c"] < boxes["e"]
    text = picture(strands, vocab)
    assert "stroke-dasharray" in text
    assert "#111111" in text
    assert picture([], vocab) == ""


def test_loops_same_columns_and_long_names_are_drawn():
    vocab = Vocab(("a", "b" * 90, "c", "<&>"), ("r" * 80,))
    walks = [(0, 0, 3), (0, 1, 2, 3), (0, 2, 1, 3)]
    strands = [Strand(Path(walk, (0,) * (len(walk) - 1)), "#123456", False) for walk in walks]
    boxes, labels = drawn(strands, vocab)
    assert len(boxes) == 4
    assert max(map(len, boxes)) <= NAME
    assert "<&>" in boxes
    assert len(labels) == 8  # r(b, c) and r(c, b) are two
    assert "b" * 90 in picture(strands, vocab)  # in full as a tooltip
    assert "nan" not in picture(strands, vocab)


def test_answers_and_rules_are_tables():
    dataset = family()
    model = RNNLogic({})._take(dataset, RNNLogic({}).config, given_rules(dataset))
    answers, rules = model.predict("grandpa0", "grandparent", facts="train"), model.rules("parent")
    assert isinstance(answers, list)
    for rows in (answers, rules, model.predict_many([("grandpa0", "grandparent")], facts="train")[0]):
        found = checked(rows._repr_html_())
        assert found.tags.count("tr") == len(rows) + 1
        assert set(rows[0].as_dict()) <= set(found.text)
        assert len(str(rows).splitlines()) == len(rows) + 1
    assert answers[0].entity in str(answers).splitlines()[1]
    assert str(Listed()) == "nothing found"
    assert bdi(answers[0].entity) in answers._repr_html_()
    assert Listed()._repr_html_() == "<p>nothing found</p>"
    assert np.isfinite(answers[0].score)


def test_lines_and_boxes_carry_the_marks_of_their_paths():
    vocab = Vocab(("a", "b", "c"), ("r", "s"))
    strands = [
        Strand(Path((0, 1, 2), (0, 1)), "#2f80d0", False, "r0"),
        Strand(Path((0, 2), (1,)), "#d9731a", False, 'r1"'),
        Strand(Path((0, 1, 2), (0, 0)), "#d9731a", False, "r2"),
    ]
    tree = ElementTree.fromstring(picture(strands, vocab))
    marks = [(one.tag.split("}")[1], one.get("data-marks")) for one in tree.iter() if one.get("data-marks")]
    assert ("path", "r0 r2") in marks  # the fact that two paths share
    assert ("path", 'r1"') in marks
    assert sorted(m for tag, m in marks if tag == "g") == ['r0 r1" r2', 'r0 r1" r2', "r0 r2"]
    assert "data-marks" not in picture([strand._replace(mark="") for strand in strands], vocab)
