"""What is too much is refused at once, and leaves the server as it was."""

import asyncio
import time
from threading import Event

import pytest
from starlette.testclient import TestClient

from rnnlogic.base.executor import map_ordered
from rnnlogic.serve.app import make_app
from rnnlogic.serve.limits import Deadline, Desk
from rnnlogic.serve.problems import ProblemError
from rnnlogic.serve.runs import Limits
from tests.helpers.waiting import PATIENCE


def test_dear_requests_are_refused(run_folder):
    app = make_app([run_folder], limits=Limits(steps=3.0))
    client = TestClient(app, base_url="http://127.0.0.1")
    for path in ("/v1/predict?head=grandpa1&relation=grandparent", "/v1/complete"):
        answer = client.get(path)
        assert answer.status_code == 422
        assert "too expensive" in answer.json()["detail"]


def test_time_is_limited_and_the_queue_too():
    release = Event()

    async def main():
        desk = Desk(Limits(seconds=0.05, waiting=1), threads=1)
        with pytest.raises(ProblemError) as late:
            await desk.run(release.wait)
        desk.limits = Limits(seconds=PATIENCE, waiting=1)
        waiting = asyncio.create_task(desk.run(release.wait))
        await asyncio.sleep(0.01)
        with pytest.raises(ProblemError) as full:
            await desk.run(release.wait)
        release.set()
        assert await waiting
        assert await desk.run(lambda: 7) == 7
        assert desk.taken == 0
        desk.close()
        return late.value.status, full.value.status

    assert asyncio.run(main()) == (504, 503)


def test_one_completion_at_a_time_and_a_gone_client_ends_it():
    ended = Event()

    def slow(deadline):
        try:
            while True:
                time.sleep(0.005)
                deadline("x", 0, 1)
        finally:
            ended.set()
        yield 1

    async def main():
        desk = Desk(Limits(), threads=1)
        first = asyncio.create_task(anext(desk.stream(slow)))
        await asyncio.sleep(0.02)
        with pytest.raises(ProblemError, match="another completion"):
            await anext(desk.stream(slow))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        while not ended.is_set():
            await asyncio.sleep(0.005)
        assert [part async for part in desk.stream(lambda _: iter(range(20)))] == [
            [*range(16)],
            [*range(16, 20)],
        ]
        desk.close()

    asyncio.run(main())


def test_a_deadline_ends_work():
    Deadline(10)("x", 0, 1)
    with pytest.raises(ProblemError, match="not finished"):
        Deadline(-1)("x", 0, 1)


def _thread(shared, unit):
    import threading

    time.sleep(0.001)
    return threading.current_thread().name


def test_work_of_a_request_stays_on_its_thread():
    async def main():
        desk = Desk(Limits(), threads=2)
        names = await desk.run(lambda: set(map_ordered(_thread, range(8), None, threads=4)))
        desk.close()
        return names

    assert len(asyncio.run(main())) == 1


def test_a_length_of_many_digits_is_refused(client):
    answer = client.post("/v1/predict", content=b"{}", headers={"Content-Length": "1" * 5000})
    assert answer.status_code == 413
