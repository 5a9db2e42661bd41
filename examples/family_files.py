"""Write the example of docs/own-data.md: a family of which some facts are missing, as TSV and as Turtle.

Run it with `python examples/family_files.py`; it writes family.tsv and family.ttl beside itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from family_tree import Fact, make_family
from rnnlogic.atomic import write_atomically

FOLDER = Path(__file__).parent
MISSING = 0.15  # share of the grandparents that nobody wrote down
PREFIXES = """@prefix p: <http://example.org/person/> .
@prefix k: <http://example.org/kin/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

"""


def family_facts(seed: int = 0) -> list[Fact]:
    """Facts with readable names, without those that are missing."""
    random = np.random.default_rng(seed)
    facts = make_family(couples=10, generations=4, seed=seed)
    people = sorted({name for head, _, tail in facts for name in (head, tail)})
    names = dict(zip(people, _names(len(people), random), strict=True))
    known = [fact for fact in dict.fromkeys(facts) if fact[1] != "grandparent" or random.random() >= MISSING]
    return [(names[head], relation, names[tail]) for head, relation, tail in known]


def turtle(facts: list[Fact]) -> str:
    """The facts as Turtle; people have labels."""
    people = sorted({name for head, _, tail in facts for name in (head, tail)})
    labels = "".join(f'p:{name.lower()} rdfs:label "{name}" .\n' for name in people)
    lines = "".join(f"p:{head.lower()} k:{relation} p:{tail.lower()} .\n" for head, relation, tail in facts)
    return PREFIXES + labels + lines


def tsv(facts: list[Fact]) -> str:
    """The facts as lines of head, relation and tail."""
    return "".join("\t".join(fact) + "\n" for fact in facts)


def _names(number: int, random: np.random.Generator) -> list[str]:
    syllables = [first + second for first in "bdfklmnrst" for second in "aeio"]
    pairs = random.permutation(len(syllables) ** 2)[:number]
    return [(syllables[i // len(syllables)] + syllables[i % len(syllables)]).capitalize() for i in pairs]


def main() -> None:
    """Write both files."""
    facts = family_facts()
    write_atomically(FOLDER / "family.tsv", tsv(facts))
    write_atomically(FOLDER / "family.ttl", turtle(facts))


if __name__ == "__main__":
    main()
