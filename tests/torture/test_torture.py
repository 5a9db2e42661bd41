"""The short form of the campaign: some trials of every attack on one variant; `make torture` does more."""

import pytest

from tests.torture.__main__ import campaign, table
from tests.torture.outcome import BAD, Tally

SECONDS = 4.0


def test_nothing_is_lost_and_nothing_wrong_in_silence():
    tallies = campaign(SECONDS, seed=1, variants=("rnnlogic",))
    assert all(tally.tried for tally in tallies)
    examples = [example for tally in tallies for example in tally.examples]
    assert not any(tally.counts[kind] for tally in tallies for kind in BAD), examples


@pytest.mark.parametrize("kind", BAD)
def test_what_is_bad_is_counted_and_shown(kind):
    tally = Tally("x")
    tally.add("clear")
    tally.add(kind, "an example")
    assert tally.row()[kind] == 1
    assert tally.examples == [f"{kind}: an example"]
    assert table([tally.row()]).count("| x | 2 | 1 |") == 1
