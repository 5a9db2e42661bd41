"""Labels and templates are changed on pages, kept in the run folder, and nothing else changes."""

import shutil

import pytest
from starlette.testclient import TestClient

from rnnlogic.model import RNNLogic
from rnnlogic.serve.app import make_app
from rnnlogic.serve.security import Access


@pytest.fixture
def copied(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "family")


def client_of(folder, *access):
    return TestClient(make_app([folder], *access), base_url="http://127.0.0.1")


def test_a_template_and_a_label_are_kept(copied):
    before = RNNLogic.load(copied).predict("grandpa1", "grandparent")
    with client_of(copied) as client:
        given = {"name": "married", "text": "X is wedded to  Y", "turned": "Y is the spouse of X"}
        answer = client.post("/runs/family/words", data=given, follow_redirects=False)
        assert answer.status_code == 303
        asked = {"tail": "grandpa1", "relation": "married"}
        assert "is the spouse of" in client.get("/runs/family/question", params=asked).text
        client.post("/runs/family/words", data={"name": "grandma1", "label": "Ada <b>"})
        assert "Ada &lt;b&gt;" in client.get("/runs/family/entity?name=grandma1").text
        assert client.get("/v1/entities?query=Ada").json()[0]["name"] == "grandma1"
    kept = RNNLogic.load(copied)
    assert kept.dataset.vocab.templates["married"] == ("X is wedded to Y", "Y is the spouse of X")
    assert kept.dataset.vocab.entity_labels["grandma1"] == "Ada <b>"
    assert [one.entity for one in kept.predict("grandpa1", "grandparent")] == [one.entity for one in before]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "married", "text": "no slots"},
        {"name": "married", "text": ""},
        {"name": "grandma1", "label": " "},
        {"name": "grandma1", "label": "x" * 301},
    ],
)
def test_what_says_nothing_is_refused(client, given):
    assert client.post("/runs/family/words", data=given).status_code == 422


def test_nobody_renames_from_the_public(copied):
    with TestClient(make_app([copied], Access("0.0.0.0", public=True)), base_url="http://a.org") as client:
        given = {"name": "married", "text": "X is wedded to Y"}
        assert client.post("/runs/family/words", data=given).status_code == 403
        assert "Change" not in client.get("/runs/family/rules?relation=married").text


def test_two_runs_answer_side_by_side(run_folder, copied):
    other = copied.rename(copied.with_name("other"))
    with TestClient(make_app([run_folder, other]), base_url="http://127.0.0.1") as client:
        asked = {"head": "grandpa1", "relation": "grandparent", "beside": "other"}
        page = client.get("/runs/family/question", params=asked).text
        assert page.count("data-answers") == 2
        assert "same place" in page
        assert "/runs/other/why?" in page
        assert page.count("data-review") == 1  # decisions are about the first run
        start = client.get("/runs/family", params={"beside": "other"}).text
        assert "other</bdi>: first" in start
        rows = start.split('data-relation="')[1:]
        assert all(row.count('data-metric="hits@1"') == 2 for row in rows)
        unknown = client.get("/runs/family/question", params=asked | {"beside": "none"})
        assert unknown.status_code == 404
        assert "no run is called" in unknown.text
