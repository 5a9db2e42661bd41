"""Who may ask, from where, and what pages may load."""

import pytest
from starlette.testclient import TestClient

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.serve.app import make_app
from rnnlogic.serve.security import Access, is_loopback
from tests.torture.web import Request, Site

TOKEN = "a-secret-of-ours"
DECISION = {"head": "grandpa1", "relation": "parent", "tail": "grandma1", "decision": "skip"}


@pytest.fixture(scope="module")
def guarded(run_folder):
    app = make_app([run_folder], Access("0.0.0.0", TOKEN))
    return TestClient(app, base_url="http://example.org", follow_redirects=False)


def test_other_addresses_need_a_token_or_public():
    for host in ("0.0.0.0", "192.168.0.7", "example.org", "::"):
        with pytest.raises(RNNLogicError, match="--token"):
            Access(host).check()
        Access(host, public=True).check()
        Access(host, token=TOKEN).check()
    with pytest.raises(RNNLogicError, match="too short"):
        Access("0.0.0.0", token="short").check()
    for host in ("127.0.0.1", "localhost", "::1", "127.8.9.1"):
        assert is_loopback(host)
        Access(host).check()


def test_a_token_is_asked_for(guarded):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "rnnlogic_token=wrong"}):
        answer = guarded.get("/v1/runs", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.get("/v1/runs", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/metrics").status_code == 401


def test_a_page_takes_the_token_once_and_keeps_it_as_a_cookie(guarded):
    answer = guarded.get(f"/runs/family/rules?token={TOKEN}&relation=parent")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/runs/family/rules?relation=parent"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert guarded.get("/", headers={"Cookie": f"rnnlogic_token={TOKEN}"}).status_code == 200
    guarded.cookies.clear()
    assert guarded.get(f"http://example.org//evil.org/?token={TOKEN}").headers["location"] == "/evil.org/"


@pytest.mark.parametrize("host", ["evil.org", "127.0.0.1.evil.org", "", "[::1"])
def test_other_host_names_are_refused_on_this_machine(client, host):
    assert client.get("/v1/runs", headers={"Host": host}).status_code == 400
    assert client.get("/v1/runs", headers={"Host": "localhost:8000"}).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.org"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}]
)
def test_other_sites_cannot_decide(client, run_folder, headers):
    answer = client.post("/runs/family/review", data=DECISION, headers=headers)
    assert answer.status_code == 403
    assert not run_folder.with_name("family.decisions.jsonl").exists()


def test_the_public_reads_only(run_folder):
    public = TestClient(make_app([run_folder], Access("0.0.0.0", public=True)), base_url="http://a.org")
    assert public.get("/v1/runs").status_code == 200
    assert public.post("/runs/family/review", data=DECISION).status_code == 403
    assert not run_folder.with_name("family.decisions.jsonl").exists()


def test_pages_load_nothing_from_elsewhere(client):
    answer = client.get("/", headers={"Origin": "http://evil.org"})
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers


def test_a_query_that_is_not_encoded_is_refused(app):
    site = Site(app)
    assert site.ask(Request("GET", b"/v1/rules", b"relation=\xff")).status == 400
    assert site.ask(Request("GET", b"/v1/rules", b"relation=%FF")).status == 404
