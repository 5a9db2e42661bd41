"""Time budgets: shares, cuts, and passes that cover everything."""

import math

import pytest

from rnnlogic.base.budget import UNLIMITED, Budget, TimeIsUp, check_time, growing, passes
from rnnlogic.base.executor import map_ordered


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("rnnlogic.base.budget.time.monotonic", lambda: now[0])
    return now


def test_a_share_is_of_what_is_left(clock):
    whole = Budget.of_minutes(1)
    clock[0] += 20
    part = whole.share(0.25)
    assert (whole.left, part.left) == (40, 10)
    clock[0] += 11
    assert part.is_over
    assert not whole.is_over
    with pytest.raises(TimeIsUp):
        part.check()


def test_without_a_limit_nothing_is_ever_over():
    assert UNLIMITED.share(0.1).left == math.inf
    UNLIMITED.check()
    assert not Budget.of_minutes(None).is_limited


def test_a_guarded_tick_lets_finished_work_pass(clock):
    seen = []
    tick = Budget.of_minutes(1).guarded(lambda *event: seen.append(event))
    tick(1, 3)
    clock[0] += 100
    tick(3, 3)
    with pytest.raises(TimeIsUp):
        tick(2, 3)
    assert len(seen) == 3


def test_cuts_are_noted():
    noted = {}
    Budget(note=noted.__setitem__).share(0.5).cut("mine", "half")
    assert noted == {"mine": "half"}


@pytest.mark.parametrize(("first", "total"), [(4, 0), (4, 3), (4, 4), (4, 21), (40, 1000)])
def test_passes_cover_everything_once(first, total):
    ranges = passes(first, total)
    assert [i for a, b in ranges for i in range(a, b)] == list(range(total))


def test_an_enforced_budget_ends_work_inside_a_unit(clock):
    with Budget.of_minutes(1).enforced():
        check_time()
        clock[0] += 61
        with UNLIMITED.enforced(), pytest.raises(TimeIsUp):  # the outer one still holds
            check_time()
    check_time()


@pytest.mark.parametrize("threads", [1, 2])
def test_units_on_threads_keep_to_it_too(threads):
    with Budget(until=0.0).enforced(), pytest.raises(TimeIsUp):
        list(map_ordered(_checked, [1, 2, 3], None, threads))
    assert list(map_ordered(_checked, [1, 2, 3], None, threads)) == [1, 2, 3]


def _checked(shared, unit):
    check_time()
    return unit


def test_timely_results_end_with_the_time(clock):
    def work():
        for i in range(5):
            check_time()
            clock[0] += 25
            yield i

    assert list(UNLIMITED.timely(work())) == [0, 1, 2, 3, 4]
    assert list(Budget.of_minutes(1).timely(work())) == [0, 1, 2]
    assert list(Budget.of_minutes(0).timely(work())) == [0]  # one in any case


@pytest.mark.parametrize(("minutes", "size"), [(0, 2), (1, 38), (60, 100)])
def test_samples_grow_as_long_as_there_is_time(clock, minutes, size):
    def ask(number):
        clock[0] += number
        return -number

    assert growing(ask, 2, 100, Budget.of_minutes(minutes)) == (-size, size)
