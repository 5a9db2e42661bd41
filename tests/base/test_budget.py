"""Time budgets: shares, cuts, and passes that cover everything."""

import math

import pytest

from rnnlogic.base.budget import UNLIMITED, Budget, TimeIsUp, passes


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
