"""Decisions over HTTP: everything that the server answers knows of them at once."""

import pytest

from rnnlogic.complete.complete import NewFact
from rnnlogic.data.dataset import load_dataset
from rnnlogic.review.decision import Decision
from rnnlogic.review.log import DecisionLog
from rnnlogic.serve.review import accepted_facts, is_open, queue

PAGE = {"Accept": "text/html"}


@pytest.fixture
def log(run_folder):
    """The decisions of the run, which are gone afterwards."""
    made = DecisionLog.of_run(run_folder)
    yield made
    made.path.unlink(missing_ok=True)


def proposal(client):
    answer = client.get("/v1/complete", params={"max": 1})
    return {name: answer.json()[name] for name in ("head", "relation", "tail")}


def test_a_rejected_fact_is_gone_from_all_answers_and_undo_brings_it_back(client, log):
    fact = proposal(client)
    question = {"head": fact["head"], "relation": fact["relation"], "evidence": "all", "k": 50}

    def answers():
        found = client.get("/v1/predict", params=question).json()["results"][0]["answers"]
        return [one["entity"] for one in found]

    assert fact["tail"] in answers()
    given = fact | {"decision": "reject", "by": "Ada", "comment": "no", "probability": "0.5"}
    assert client.post("/runs/family/review", data=given).json() == {"decision": "reject"}
    assert fact["tail"] not in answers()
    assert proposal(client) != fact
    why = client.get("/runs/family/why", params=fact, headers=PAGE).text
    assert "rejected by Ada" in why
    assert "1 rejected" in client.get("/runs/family/review", headers=PAGE).text
    table = client.get("/runs/family/review/decisions.csv").text
    assert "reject,no,Ada" in table
    assert client.post("/runs/family/review", data={"decision": "undo"}).status_code == 200
    assert fact["tail"] in answers()
    assert len(log.read().every) == 2


def test_an_accepted_fact_is_known_and_shown_with_its_entity(client, log):
    fact = proposal(client)
    sent = fact | {"decision": "accept", "view": "why"}
    answer = client.post("/runs/family/review", data=sent, headers=PAGE, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/runs/family/why?")
    groups = client.get(f"/v1/entities/{fact['head']}").json()["groups"]
    known = [
        one["name"] for group in groups if group["relation"] == fact["relation"] for one in group["others"]
    ]
    assert fact["tail"] in known
    params = {"head": fact["head"], "relation": fact["relation"]}
    page = client.get("/runs/family/question", params=params, headers=PAGE).text
    assert 'data-decision="accept"' in page
    assert fact["tail"] in client.get("/runs/family/review/accepted.tsv").text


@pytest.mark.parametrize(
    "wrong",
    [
        {"probability": "x"},
        {"probability": "nan"},
        {"probability": "-1"},
        {"probability": "2"},
        {"decision": "?"},
    ],
)
def test_only_decisions_are_kept(client, log, wrong):
    given = {"head": "grandpa1", "relation": "parent", "tail": "grandma1", "decision": "accept"}
    assert client.post("/runs/family/review", data=given | wrong).status_code == 422
    assert client.post("/runs/family/review", data=given | {"tail": "nobody at all"}).status_code == 404
    assert not log.path.exists()


def test_the_queue_begins_with_what_is_open(log):
    vocab = load_dataset([("a", "r", "b"), ("b", "r", "c")], ratios=(100, 0, 0)).vocab
    proposals = [NewFact("a", "r", "c", 0.9, None, None, ()), NewFact("b", "r", "a", 0.8, None, None, ())]
    log.add(Decision("a", "r", "c", "accept"))
    log.add(Decision("c", "r", "a", "unsure"))
    log.add(Decision("stranger", "r", "a", "reject"))
    rows = queue(proposals, log.read(), vocab)
    assert [(row["head"], row["decision"] and row["decision"].verdict) for row in rows] == [
        ("b", None),
        ("c", "unsure"),
        ("a", "accept"),
    ]
    assert is_open(proposals, log.read())
    assert not is_open(proposals[:1], log.read())


def test_accepted_facts_as_files():
    log = DecisionLog()
    log.add(Decision("a b", "r", "http://x.org/c", "accept", probability=0.5, rule="r <- s"))
    log.add(Decision("a", "r", "d", "reject"))
    assert accepted_facts(log.read(), ".tsv").decode().splitlines()[1:] == [
        "a b\tr\thttp://x.org/c\t0.500000\tr <- s\t"
    ]
    nt = accepted_facts(log.read(), ".nt").decode().splitlines()
    assert nt[1] == "<urn:rnnlogic:a%20b> <urn:rnnlogic:r> <http://x.org/c> ."


def test_decisions_are_taken_where_facts_are_listed(client, log):
    fact = proposal(client)
    page = client.get("/runs/family/entity", params={"name": fact["head"], "min": 0}, headers=PAGE).text
    assert 'name="view" value="entity"' in page
    sent = fact | {"decision": "reject", "view": "entity", "of": fact["head"]}
    answer = client.post("/runs/family/review", data=sent, headers=PAGE, follow_redirects=False)
    assert answer.headers["location"] == f"/runs/family/entity?name={fact['head']}"
    rule = "grandparent(X,Y) <- married(X,Z) & grandparent(Z,Y)"
    assert 'name="view" value="rule"' in client.get("/runs/family/rule", params={"text": rule}).text
    sent = fact | {"decision": "undo", "view": "rule", "of": rule}
    answer = client.post("/runs/family/review", data=sent, headers=PAGE, follow_redirects=False)
    assert answer.headers["location"].startswith("/runs/family/rule?text=grandparent")


def test_improbable_facts_are_not_called_missing(client):
    def page(least):
        return client.get("/runs/family/entity", params={"name": "grandpa1", "min": least}).text

    assert "Nothing seems missing: no proposal has a chance of at least 1, the best one has" in page(1)
    assert "Nothing seems missing" not in page(0)
    assert page(0).count('class="because"') > 0


def test_known_answers_carry_no_bar(client):
    params = {"head": "grandpa1", "relation": "married", "facts": "all"}
    page = client.get("/runs/family/question", params=params).text
    items = page.split("<li ")[1:]
    known = [item for item in items if 'class="known"' in item]
    assert known
    assert all("rules alone give it" in item and 'class="bar' not in item for item in known)


def test_the_queue_begins_with_what_is_probable_or_with_what_teaches(client):
    pages = {
        order: client.get("/runs/family/review", params={"order": order}, headers=PAGE).text
        for order in ("probability", "teaching")
    }
    assert "the most probable first. Decisions" in pages["probability"]
    assert "much used rules first" in pages["teaching"]
    assert 'value="teaching" selected' in pages["teaching"]
    assert client.get("/runs/family/review", params={"order": "luck"}, headers=PAGE).status_code == 422
