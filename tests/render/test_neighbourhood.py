"""The picture of a neighbourhood: what is drawn where, where it leads, and that names stay names."""

import re
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from rnnlogic.data.dataset import load_dataset
from rnnlogic.render.neighbourhood import Around, Links, neighbourhood

HURTFUL = "<script>alert(1)</script>\"'&amp; " * 3
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def vocab():
    facts = [("a", "r", HURTFUL), (HURTFUL, "s", "c"), ("d", "r", "a")]
    return load_dataset(facts, ratios=(100, 0, 0)).vocab


def drawn(vocab, *facts):
    links = Links(lambda one: f"/page?{one}&x=1", lambda one: f"/turn?{one}")
    return neighbourhood(Around(vocab.entity_id("a"), facts=facts), vocab, links)


def boxes(svg):
    """Left and right end, and middle, of each box."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    sizes = [[float(one.get(name)) for name in ("x", "width", "y")] for one in found]
    return [(x, x + width, y) for x, width, y in sizes]


def test_names_are_escaped_and_links_lead_on(vocab):
    hurtful, back = vocab.entity_id(HURTFUL), vocab.entity_id("d")
    opened = Around(
        hurtful, 0, facts=(Around(vocab.entity_id("c"), 1),), left_out=3, can_open=True, is_open=True
    )
    svg = drawn(vocab, opened, Around(back, vocab.inverse(0), can_open=True))
    assert "<script" not in svg
    root = ElementTree.fromstring(svg)  # well-formed
    assert {one.get("href") for one in root.iter(f"{SVG}a")} >= {f"/page?{hurtful}&x=1", f"/turn?{back}"}
    signs = [one.get("aria-label") for one in root.iter(f"{SVG}a") if one.get("class") == "sign"]
    assert [label.split()[0] for label in signs] == ["Hide", "Show"]
    assert "and 3 more" in svg
    titles = [one.text for one in root.iter(f"{SVG}title")]
    assert "d r a" in titles or "d has r a" in titles  # said in the direction of the graph
    ends = sorted(boxes(svg))
    assert all(one[2] != two[2] or one[1] < two[0] for one, two in pairwise(ends))
    width = float(root.get("width"))
    assert max(end for _, end, _ in ends) < width


def test_arrows_point_at_the_tail(vocab):
    forward = drawn(vocab, Around(vocab.entity_id("d"), 0))
    backward = drawn(vocab, Around(vocab.entity_id("d"), vocab.inverse(0)))
    assert "l6,4 l-6,4" in forward
    assert "l-6,4 l6,4" in backward


def test_a_proposal_is_dashed_and_says_why(vocab):
    proposal = Around(vocab.entity_id("c"), 1, "Missing because <b>", "/why?x=1&y=2")
    svg = drawn(vocab, Around(vocab.entity_id("d"), 0), proposal)
    [told] = re.findall(r'data-why="([^"]*)"', svg)
    assert unescape(told) == "Missing because <b>"
    assert '<a class="proposed" href="/why?x=1&amp;y=2"' in svg
    assert svg.count("fact proposed") == 1


def test_an_entity_without_facts_is_a_box(vocab):
    assert len(boxes(drawn(vocab))) == 1
