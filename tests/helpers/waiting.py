"""Waiting for what other threads and processes do, on machines of any speed."""

import time

PATIENCE = 300  # seconds; nothing that a test waits for takes as long, on any machine


def wait_until(condition, expected: str) -> None:
    """Return as soon as the condition holds; fail after PATIENCE seconds, saying what was expected."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE} s: {expected}"
        time.sleep(0.02)
