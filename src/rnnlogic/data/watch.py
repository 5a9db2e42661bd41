"""What is said while a large file is read: its size and what it will need, then every tenth."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rnnlogic.data.places import Opened

LARGE = 1 << 28  # bytes on the disk; less is read within seconds
# Peak memory of a fact while ids are sorted, split and checked: 361 MB at 3 million, 201 MB at one million
BYTES_PER_FACT = 100
STEPS = 10


def watched(
    pieces: Iterator[bytes], opened: Opened, name: str, tell: Callable[[str], None] | None
) -> Iterator[bytes]:
    """Pieces of a file; of a large one `tell` gets an estimate, then a line every tenth."""
    if tell is None or opened.size < LARGE:
        yield from pieces
        return
    lines, step = 0, 0
    for number, piece in enumerate(pieces):
        here = piece.count(b"\n")
        lines += here
        share = opened.position() / opened.size
        if number == 0 and share > 0:
            tell(_estimate(name, opened.size, lines / share))
        elif share * STEPS >= step + 1:
            step = int(share * STEPS)
            tell(f"{name}: {share:.0%} read, {lines:,} lines")
        yield piece


def _estimate(name: str, size: int, lines: float) -> str:
    """About how many lines there are and how much memory they take, to two digits."""
    about = float(f"{lines:.2g}")
    memory = about * BYTES_PER_FACT / 1e9
    rows = f"{size / 1e9:.1f} GB, about {about:,.0f} lines"
    return f"{name}: {rows}; reading will take about {memory:.2g} GB of memory"
