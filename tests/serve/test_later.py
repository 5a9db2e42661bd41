"""Pages do not wait for slow work: they are sent, and the work goes on."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from rnnlogic.serve import views
from rnnlogic.serve.later import KEPT, Later
from rnnlogic.serve.runs import Served
from tests.helpers.waiting import PATIENCE, wait_until

BROWSER = {"Accept": "text/html", "Sec-Fetch-Dest": "document"}
SCRIPT = BROWSER | {"Sec-Fetch-Dest": "empty"}


@contextmanager
def held_up(monkeypatch, where, name):
    """Calls of a function wait until the block ends."""
    gate, real = threading.Event(), getattr(where, name)

    def slow(*arguments):
        assert gate.wait(PATIENCE)
        return real(*arguments)

    monkeypatch.setattr(where, name, slow)
    try:
        yield
    finally:
        gate.set()


def test_work_goes_on_and_is_done_once():
    async def story():
        later, made, gate = Later(), [], asyncio.Event()

        async def work():
            made.append(1)
            await gate.wait()
            return "done"

        assert await later.get("key", work, 0.0) is None
        gate.set()
        assert await later.get("key", work, None) == "done"
        assert await later.get("key", work, 0.0) == "done"
        assert made == [1]

    asyncio.run(story())


def test_what_fails_is_told_and_tried_again():
    async def story():
        later, tries = Later(), []

        async def work():
            tries.append(1)
            raise ValueError("no")

        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await later.get("key", work, None)
        assert len(tries) == 2

    asyncio.run(story())


def test_few_results_are_kept():
    async def story():
        later, made = Later(), []

        async def work():
            made.append(1)

        for key in [*range(KEPT + 1), 0]:
            await later.get(key, work, None)
        assert len(made) == KEPT + 2

    asyncio.run(story())


def test_a_browser_gets_a_sign_of_life_and_its_script_the_rest(client, monkeypatch):
    address = "/runs/family/question?head=grandpa1&relation=grandparent&facts=train"
    with held_up(monkeypatch, views, "lists_of"):
        page = client.get(address, headers=BROWSER)
        assert page.status_code == 200
        assert "data-filling" in page.text
        assert 'name="head" value="grandpa1"' in page.text
        assert "http-equiv" in page.text  # without a script, it loads again by itself
    whole = client.get(address, headers=SCRIPT).text
    assert "data-filling" not in whole
    assert 'id="answers"' in whole
    assert "Asking the rules" not in whole


def test_the_reasons_of_an_answer_come_later(client, monkeypatch):
    address = "/runs/family/why?head=grandpa1&relation=grandparent&tail=grandchild1_0&facts=train"
    with held_up(monkeypatch, views, "why_page"):
        assert "Looking for reasons" in client.get(address, headers=BROWSER).text
    assert "Looking for reasons" not in client.get(address, headers=SCRIPT).text


def test_what_is_missing_comes_later(client, monkeypatch):
    address = "/runs/family/entity?name=grandpa1&min=0.05"
    with held_up(monkeypatch, views, "missing_facts"):
        page = client.get(address, headers=BROWSER).text
        assert 'id="missing" data-fill' in page
        assert "<svg" in page  # what is known is there at once
    wait_until(lambda: "data-fill" not in client.get(address, headers=BROWSER).text, "it is filled in")


def test_lists_of_rules_come_later(client, monkeypatch):
    address = "/runs/family/rules?relation=grandparent&sort=support"
    with held_up(monkeypatch, Served, "rules"):
        page = client.get(address, headers=BROWSER).text
        assert "Counting how often rules are right" in page
        assert "<h1>X grandparent Y" in page.replace("<bdi>", "")
    assert "data-edit=" in client.get(address, headers=SCRIPT).text
