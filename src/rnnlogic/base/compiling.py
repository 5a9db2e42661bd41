"""How many kernels this process has compiled, and how long that took; loads nothing."""

from __future__ import annotations

from typing import NamedTuple


class Compiled(NamedTuple):
    """Kernels that were compiled, not read from the cache on disk."""

    kernels: int = 0
    seconds: float = 0.0

    def since(self, before: Compiled) -> Compiled:
        """What came after an earlier count."""
        return Compiled(self.kernels - before.kernels, self.seconds - before.seconds)


class Count:
    """The count of this process; base/compiled.py adds to it."""

    now = Compiled()

    @classmethod
    def add(cls, seconds: float) -> None:
        """One more kernel, compiled in so many seconds."""
        cls.now = Compiled(cls.now.kernels + 1, cls.now.seconds + seconds)
