import contextlib
import threading
import time

import pytest

from rnnlogic.base.budget import TimeIsUp, Unwanted, check_time
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import AHEAD, QUEUED, THREADS_VARIABLE, default_threads, map_ordered
from tests.helpers.waiting import PATIENCE


def call(work, item):
    return work(item)


def run(work, items, threads, most=10**9):
    return map_ordered(call, items, work, threads, size=lambda result: result, most=most)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_keep_the_order_of_items(threads):
    def work(item):
        time.sleep(0.002 * (item % 3))
        return item * item

    assert list(run(work, range(40), threads)) == [i * i for i in range(40)]


def test_an_error_of_one_piece_reaches_the_caller_and_ends_the_work():
    begun = []

    def work(item):
        begun.append(item)
        if item == 3:
            raise ValueError("piece 3")
        return item

    with pytest.raises(ValueError, match="piece 3"):
        list(run(work, range(10_000), 2))
    assert len(begun) < 10_000


def test_work_that_nobody_waits_for_ends_inside_a_unit():
    ended, has_begun = [], threading.Event()

    def work(item):
        if item == 0:
            has_begun.wait(PATIENCE)
            raise KeyboardInterrupt
        has_begun.set()
        try:
            for _ in range(100 * PATIENCE):  # a long unit that looks at the time now and then
                time.sleep(0.01)
                with contextlib.suppress(TimeIsUp):
                    check_time()
        except Unwanted:
            ended.append(item)
            raise

    with pytest.raises(KeyboardInterrupt):
        list(run(work, range(2), threads=2))
    assert ended == [1]


def test_work_waits_for_a_slow_consumer():
    begun = []
    results = run(lambda item: begun.append(item) or 1, range(1000), threads=2)
    for taken in range(1, 4):
        next(results)
        time.sleep(0.02)
        assert len(begun) <= taken + 2 * AHEAD


def test_large_results_hold_back_new_work():
    begun, may_finish = [], threading.Event()

    def work(item):
        begun.append(item)
        if item == 0:
            may_finish.wait(PATIENCE)
        return 100

    def release_the_first():
        time.sleep(0.2)
        seen.append(len(begun))
        may_finish.set()

    seen = []
    threading.Thread(target=release_the_first).start()
    assert len(list(run(work, range(200), threads=2, most=300))) == 200
    # While the first piece ran: itself, results worth 400 (the last one tipped it over), and what was queued.
    assert seen[0] <= 1 + 4 + 2 * QUEUED


def test_the_number_of_threads_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv(THREADS_VARIABLE, "3")
    assert default_threads() == 3
    for wrong in ("0", "x", "-1", "\u00b2", "1" * 5000):
        monkeypatch.setenv(THREADS_VARIABLE, wrong)
        with pytest.raises(RNNLogicError, match="it must be a whole number"):
            default_threads()
