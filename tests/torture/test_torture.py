"""The short form of the campaign: some trials of every attack on one variant; `make torture` does more."""

import pytest

from tests.torture.__main__ import campaign, table
from tests.torture.outcome import BAD, Tally
from tests.torture.page import page

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


def test_the_page_sums_up_the_parts_of_a_campaign():
    parts = []
    for seed in (3, 4):
        tally = Tally("x")
        tally.add("clear", times=seed)
        about = {"seed": seed, "minutes": 5, "cpu_seconds": 1000, "python": "3.11.0", "workers": 2}
        parts.append(about | {"rows": [tally.row()]})
    text = page(parts)
    assert "| x | 7 | 7 | 0 |" in text
    assert page([*parts[:1], parts[1] | {"note": " A note."}]).count("3.11.0. A note.\n") == 1
    assert "10 minutes with 2 process(es), 2,000 s of CPU, in 2 part(s) with the seeds\n3, 4" in text
