"""Proposals for a review come relation by relation, and what goes wrong with one is told."""

import asyncio
import threading
from types import SimpleNamespace

from rnnlogic.complete.complete import NewFact
from rnnlogic.data.dataset import load_dataset
from rnnlogic.review.decision import Decision
from rnnlogic.review.log import DecisionLog
from rnnlogic.serve.limits import Desk
from rnnlogic.serve.problems import ProblemError
from rnnlogic.serve.proposals import Search, Searches
from rnnlogic.serve.runs import Limits
from tests.helpers.waiting import PATIENCE

FACTS = [("a", "r", "b"), ("b", "s", "c"), ("c", "t", "a")]


class FakeRun:
    """A run whose relations are proposed for when the test says so."""

    name = "fake"

    def __init__(self):
        self.vocab = load_dataset(FACTS, ratios=(100, 0, 0)).vocab
        self.log = DecisionLog()
        self.may_go = threading.Event()
        self.asked = []

    @property
    def model(self):
        return SimpleNamespace(decisions=self.log.read())

    def cost(self, evidence):
        return SimpleNamespace(of_any_question=lambda relation: -relation)  # the last one is the cheapest

    def complete(self, question, progress):
        relation = question.relation
        self.asked.append(relation)
        if relation == "s":
            assert self.may_go.wait(PATIENCE)
            raise ProblemError(422, "too expensive")
        progress("questions", 1, 2)
        return iter([NewFact("a", relation, "c", 0.9 if relation == "r" else 0.5, None, None, ())])


async def until(condition):
    for _ in range(100 * PATIENCE):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not come")


def test_the_first_proposals_are_there_before_the_last_question_is_asked():
    async def story():
        run, desk = FakeRun(), Desk(Limits(), 1)
        search = Search(run, None).start(desk)
        await until(lambda: search.facts)
        assert [fact.relation for fact in search.facts] == ["t"]
        assert not search.is_done
        assert search.progress < 1
        run.may_go.set()
        await search.wait(PATIENCE)
        assert [fact.relation for fact in search.facts] == ["r", "t"]  # the most probable first
        assert run.asked == ["t", "s", "r"]
        assert search.problems == ["s: too expensive"]
        desk.close()

    asyncio.run(story())


def test_a_search_waits_while_another_completion_runs():
    async def story():
        run, desk, gate = FakeRun(), Desk(Limits(), 1), threading.Event()

        def other(deadline):
            assert gate.wait(PATIENCE)
            yield from ()

        async def read():
            async for _ in desk.stream(other):
                pass

        first = asyncio.create_task(read())
        await until(desk._is_long.locked)
        search = Search(run, "r").start(desk)
        await search.wait(0.05)
        assert not search.is_done
        gate.set()
        await first
        await search.wait(PATIENCE)
        assert [fact.relation for fact in search.facts] == ["r"]
        assert search.problems == []
        desk.close()

    asyncio.run(story())


def test_a_new_search_begins_when_all_is_decided():
    async def story():
        run, desk, searches = FakeRun(), Desk(Limits(), 1), Searches()
        first = searches.of(run, "r", desk)
        await first.wait(PATIENCE)
        assert searches.of(run, "r", desk) is first
        assert searches.of(run, "t", desk) is not first
        run.log.add(Decision("a", "r", "c", "reject"))
        second = searches.of(run, "r", desk)
        assert second is not first
        await second.wait(PATIENCE)
        desk.close()

    asyncio.run(story())
