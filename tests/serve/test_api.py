"""The service for programs: its OpenAPI document holds, answers are the model's, errors are problems."""

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
from urllib.request import urlopen

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from rnnlogic.serve.schemas import LIMITS
from tests.helpers.site import HEBREW, HTML, LONG, RENAMED, SLASH
from tests.helpers.waiting import PATIENCE

QUESTIONS = [("grandpa1", "parent"), (HTML, "grandparent"), (SLASH, "parent^-1"), ("child1_0", "married")]


def test_the_document_tells_the_truth(server):
    document = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:

        @settings(max_examples=6, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case):
            case.call_and_validate(excluded_checks=[positive_data_acceptance])  # names must exist

        check()


def model_of(app):
    return app.state.runs["family"].model


def test_runs_and_relations(client):
    (run,) = client.get("/v1/runs").json()
    assert run["name"] == "family"
    assert run["rules"] == 6
    relations = client.get("/v1/relations").json()
    assert {one["name"] for one in relations} == {"married", "parent", "grandparent"}
    assert all(one["validation"]["both"]["mrr"] > 0 for one in relations)
    assert [one["name"] for one in client.get("/v1/relations?query=grand").json()] == ["grandparent"]


@pytest.mark.parametrize("facts", ["facts", "evidence"])
def test_a_batch_marks_questions_that_cannot_be_asked_and_answers_the_others(client, facts):
    good = {"head": "grandpa1", "relation": "parent"}
    wrong = [
        ({"head": "grandpa11", "relation": "parent"}, "did you mean 'grandpa1'"),
        ({"head": "grandpa1", "relation": "parents"}, "did you mean 'parent'"),
        ({"tail": "nobody at all", "relation": "parent"}, "unknown entity 'nobody at all'"),
        ({"relation": "parent"}, "either head or tail"),
    ]
    questions = [good, *(one for one, _ in wrong), good]
    found = client.post("/v1/predict", json={"questions": questions, facts: "train"})
    assert found.status_code == 200
    first, *marked, last = found.json()["results"]
    assert first == last
    assert first["answers"]
    assert "problem" not in first
    for row, (_, message) in zip(marked, wrong, strict=True):
        assert message in row["problem"]
        assert row["answers"] == []


@pytest.mark.parametrize("name", RENAMED.values())
def test_entities_by_any_name(server, name):
    (first, *_) = httpx.get(f"{server.address}/v1/entities", params={"query": name[:60]}).json()
    assert first["name"] == name
    with urlopen(f"{server.address}/v1/entities/{quote(name, safe='')}") as answer:  # httpx quotes %2F twice
        assert json.load(answer)["name"] == name


def test_the_run_card_is_a_file(client):
    (run,) = client.get("/v1/runs").json()
    answer = client.get(f"/runs/{run['name']}/card")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.text.startswith("<!doctype html>")
    assert f"/runs/{run['name']}/card" in client.get(f"/runs/{run['name']}").text


def test_entities_by_label(client):
    assert client.get("/v1/entities?query=grandfather").json()[0]["name"] == "grandpa1"
    found = client.get("/v1/entities/Grandfather One").json()
    assert found["name"] == "grandpa1"
    assert found["facts"] == sum(group["total"] for group in found["groups"])


def test_answers_are_the_models(client, app):
    body = {"questions": [{"head": h, "relation": r} for h, r in QUESTIONS], "k": 3}
    results = client.post("/v1/predict", json=body).json()["results"]
    for (head, relation), result in zip(QUESTIONS, results, strict=True):
        assert result["answers"] == [a.as_dict() for a in model_of(app).predict(head, relation, 3)]
        one = client.get("/v1/predict", params={"head": head, "relation": relation, "k": 3}).json()
        assert one["results"] == [result]
    heads = client.get("/v1/predict", params={"tail": SLASH, "relation": "parent", "k": 3}).json()
    assert heads["results"][0]["relation"] == "parent^-1"
    assert heads["results"][0]["answers"] == results[2]["answers"]


def test_explanations_are_the_models(client, app):
    answer = model_of(app).predict(HTML, "grandparent", 2, "all", "keep")
    asked = {"head": HTML, "relation": "grandparent", "tail": answer[0].entity, "evidence": "all"}
    told = client.get("/v1/explain", params=asked).json()
    expected = model_of(app).explain(HTML, "grandparent", answer[0].entity, facts="all")
    assert told == json.loads(json.dumps(expected.as_dict()))
    assert told["ideas"][0]["rules"][0]["paths"]
    compared = client.post("/v1/explain", json=asked | {"instead": answer[1].entity}).json()
    assert compared["instead"] == answer[1].entity


def test_rules_come_in_pages(client, app):
    every = client.get("/v1/rules").json()
    assert every["rules"] == [rule.as_dict() for rule in model_of(app).rules()]
    page = client.get("/v1/rules?size=2&page=2").json()
    assert page["rules"] == every["rules"][2:4]
    assert page["total"] == 6
    strong = client.get("/v1/rules?min_confidence=0.5&sort=support&relation=parent").json()["rules"]
    assert strong
    assert all(rule["confidence"] >= 0.5 and rule["relation"] == "parent" for rule in strong)


def test_complete_streams_lines(client, app):
    answer = client.get("/v1/complete?max=40&evidence=train")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines == [
        json.loads(json.dumps(f.as_dict())) for f in model_of(app).complete(most=40, facts="train")
    ]
    assert len(lines) > 16  # more than one piece of the stream


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/v1/predict?head=grandpa11&relation=parent", 404, "did you mean 'grandpa1'"),
        ("/v1/predict?head=Both&relation=parent", 404, "label of 'grandma1' and 'grandma2'"),
        ("/v1/predict?head=grandpa1&relation=parents", 404, "did you mean 'parent'"),
        ("/v1/predict?relation=parent", 422, "either head or tail"),
        ("/v1/predict?head=grandpa1&relation=parent&k=101", 422, "most: "),
        ("/v1/predict?head=grandpa1&relation=parent&facts=none", 422, "facts: "),
        ("/v1/complete?relation=parent%5E-1", 422, "leave out ^-1"),
        ("/v1/rules?run=other", 404, "no run is called 'other'"),
        ("/v1/nothing", 404, "Not Found"),
        ("/v1/entities/nobody", 404, "unknown entity 'nobody'"),
        ("/runs/family/question?head=nobody&relation=parent", 404, "unknown entity"),
        ("/runs/family/rule?text=parent+%3C-", 422, "expected"),
    ],
)
def test_errors_are_problems(client, path, status, text):
    answer = client.get(path)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == status == answer.json()["status"]
    assert text in answer.json()["detail"]


def test_problems_name_the_nearest(client):
    assert client.get("/v1/entities/grandpa11").json()["nearest"][0] == "grandpa1"
    assert client.get("/v1/predict?head=Both&relation=parent").json()["nearest"] == ["grandma1", "grandma2"]


def test_other_methods_and_broken_bodies_are_problems(client):
    for answer, status in [
        (client.delete("/v1/runs"), 405),
        (client.post("/v1/predict", content=b"{"), 422),
        (client.post("/v1/predict", content=b"\xff"), 422),
        (client.post("/v1/predict", json={"questions": []}), 422),
        (client.post("/v1/predict", json={"questions": [{"relation": "parent", "head": "x" * 10_001}]}), 422),
        (client.post("/v1/predict", content=b" " * (LIMITS.body + 1)), 413),
    ]:
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"


def test_old_names_of_what_is_asked_are_understood(client):
    new = client.get("/v1/predict?head=grandpa1&relation=parent&most=2&facts=train").json()
    assert client.get("/v1/predict?head=grandpa1&relation=parent&k=2&evidence=train").json() == new
    body = {"questions": [{"head": "grandpa1", "relation": "parent"}], "k": 2, "evidence": "train"}
    assert client.post("/v1/predict", json=body).json() == new
    lines = client.get("/v1/complete?max=3&evidence=train").text
    assert lines == client.get("/v1/complete?most=3&facts=train").text


def test_metrics_count_routes(client):
    client.get("/v1/entities/grandpa1")
    text = client.get("/metrics").text
    assert 'rnnlogic_requests_total{method="GET",route="/v1/entities/{name:path}",status="200"}' in text
    assert "process_resident_memory_bytes" in text
    assert "grandpa1" not in text


def test_many_at_once_get_what_one_gets(server):
    names = [HTML, HEBREW, LONG.strip(), *(f"grandpa{i}" for i in range(1, 8)), "child3_0"]
    asked = [
        {"head": name, "relation": relation, "k": 5, "evidence": evidence}
        for name in names
        for relation in ("parent", "grandparent", "married")
        for evidence in ("train", "all")
    ]
    with httpx.Client(base_url=server.address, timeout=PATIENCE) as one:

        def ask(params):
            predicted = one.get("/v1/predict", params=params).json()
            best = predicted["results"][0]["answers"][:1]
            if not best:
                return predicted
            rest = {k: v for k, v in params.items() if k != "k"}
            return predicted, one.get("/v1/explain", params=rest | {"tail": best[0]["entity"]}).json()

        serial = [ask(params) for params in asked]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, asked)) == serial
    assert any(isinstance(result, tuple) for result in serial)
