"""Proposals for a review: looked for relation by relation, so that the first are there at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import printable
from rnnlogic.complete.complete import NewFact
from rnnlogic.explain.asking import Question
from rnnlogic.serve.limits import Deadline, Desk
from rnnlogic.serve.problems import ProblemError, problem_of
from rnnlogic.serve.review import is_open
from rnnlogic.serve.runs import Served

MOST, LEAST = 200, 0.01  # proposals in a queue, and how probable they are at least
BUSY, AGAIN = 503, 1.0  # the status while another completion runs; seconds until the next attempt


class Search:
    """The proposals of a run, found so far. It goes on whatever pages are open."""

    def __init__(self, run: Served, relation: str | None) -> None:
        self.facts: list[NewFact] = []
        self.problems: list[str] = []
        self.done, self.total, self.share = 0, 1, 0.0  # relations; how far the one is that is asked
        self.decided = len(run.model.decisions.every)  # when it began
        self._run, self._relation = run, relation
        self._task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether all has been asked."""
        return self._task is not None and self._task.done()

    @property
    def progress(self) -> float:
        """The share of the relations that have been asked."""
        return min((self.done + self.share) / max(self.total, 1), 1.0)

    def start(self, desk: Desk) -> Search:
        """Begin to ask."""
        self._task = asyncio.create_task(self._work(desk))
        return self

    async def wait(self, seconds: float | None) -> None:
        """Wait until it is done, or the time is up; without a time to the end."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=seconds)

    async def _work(self, desk: Desk) -> None:
        try:
            relations = await desk.run(self._relations)
            self.total = len(relations)
            for relation in relations:
                await self._ask(desk, relation)
                self.done, self.share = self.done + 1, 0.0
        except Exception as error:  # shown on the page, which has been sent already
            self._failed(error)

    def _relations(self) -> list[str]:
        """Those to be asked, the cheapest first."""
        run = self._run
        if self._relation is not None:
            return [self._relation]
        cost = run.cost("all")
        order = sorted(range(run.vocab.num_relations), key=lambda r: (cost.of_any_question(r), r))
        return [run.vocab.relations[relation] for relation in order]

    async def _ask(self, desk: Desk, relation: str) -> None:
        """Add the proposals of a relation; while another completion runs, wait for it."""
        while True:
            try:
                async for part in desk.stream(lambda deadline: self._found(relation, deadline)):
                    self.facts = sorted([*self.facts, *part], key=lambda fact: -fact.probability)[:MOST]
                return
            except (ProblemError, RNNLogicError) as error:
                if not (isinstance(error, ProblemError) and error.status == BUSY):
                    self._failed(error, relation)
                    return
            await asyncio.sleep(AGAIN)

    def _found(self, relation: str, deadline: Deadline) -> Iterator[NewFact]:
        """All is done in the worker: even to begin takes long, where probabilities are measured first."""

        def tick(stage: str, done: int, total: int, note: str = "") -> None:
            deadline(stage, done, total, note)
            self.share = done / max(total, 1) if stage == "questions" else self.share

        asked = Question(relation=relation, min_probability=LEAST, most=MOST)
        yield from self._run.complete(asked, tick)

    def _failed(self, error: Exception, relation: str = "") -> None:
        problem = problem_of(error)
        if problem.status == 500:
            logging.getLogger("uvicorn.error").error("review", exc_info=error)
        self.problems.append(printable(f"{relation}: {problem.detail}" if relation else problem.detail))


class Searches:
    """The searches of a server: a new one begins when all that the last one found is decided."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str | None], Search] = {}

    def of(self, run: Served, relation: str | None, desk: Desk) -> Search:
        """The search for a queue."""
        kept = self._kept.get((run.name, relation))
        if kept is None or self._is_used_up(kept, run):
            kept = self._kept[run.name, relation] = Search(run, relation).start(desk)
        return kept

    def _is_used_up(self, search: Search, run: Served) -> bool:
        decisions = run.model.decisions
        if not search.is_done or is_open(search.facts, decisions):
            return False
        return bool(search.problems) or len(decisions.every) != search.decided
