"""Trials that hang or end their process are counted, and those after them are made."""

import fcntl
import os
import signal
import time

import pytest

from tests.torture.outcome import Hang
from tests.torture.supervise import Attack, Worker, watch

TRIALS = 6


def odd_third(what):
    """A trial that is clear, except for the third one."""

    def trial(tally, seed):
        if seed.endswith(" 2"):
            what()
        tally.add("clear")

    return trial


def found_by(what, tmp_path):
    later = Attack("later", odd_third(lambda: None), time.monotonic() + 60, TRIALS)
    first = Attack("first", odd_third(what), time.monotonic() + 60, TRIALS)
    ((found, after),) = watch([Worker([first, later], "0", tmp_path / "place", silent=0.4)])
    assert dict(after.counts) == {"clear": TRIALS}
    return found


def _hang_in_python():
    while True:
        pass


def _hang_outside():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    signal.sigwait([signal.SIGALRM])


def _hang_as_noticed():
    raise Hang("a command of its own process")


@pytest.mark.parametrize("what", [_hang_in_python, _hang_outside, _hang_as_noticed])
def test_a_hang_is_counted(what, tmp_path):
    found = found_by(what, tmp_path)
    assert found.counts["hang"] == 1
    assert found.counts["clear"] > 0
    assert what is _hang_as_noticed or what.__name__ in found.examples[0], found.examples
    assert what is _hang_as_noticed or "trial 2 of seed '0'" in found.examples[0]


def _crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def _mistake():
    raise KeyError("of the campaign itself")


@pytest.mark.parametrize("what", [_crash, _mistake])
def test_the_end_of_the_process_is_counted(what, tmp_path):
    found = found_by(what, tmp_path)
    assert found.counts["traceback"] == 1
    assert what.__name__ in found.examples[0], found.examples


def test_a_hanging_trial_takes_its_own_processes_along(tmp_path):
    path = tmp_path / "held"

    def start_and_hang():
        file = path.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)  # by the child too, as long as it lives
        if not os.fork():
            time.sleep(30)
            os._exit(0)
        _hang_in_python()

    found_by(start_and_hang, tmp_path)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_attacks_end_with_their_time_but_make_one_trial(tmp_path):
    attack = Attack("late", odd_third(lambda: None), time.monotonic() - 1, TRIALS)
    ((found,),) = watch([Worker([attack], "0", tmp_path / "place")])
    assert found.tried == 1
