"""Write the example of tests and of docs/own-data.md: a family with some facts missing, as TSV and as Turtle.

Run it with `python examples/family_files.py`; it writes family.tsv and family.ttl beside itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rnnlogic.base.files import write_atomically

Fact = tuple[str, str, str]

FOLDER = Path(__file__).parent
MISSING = 0.15  # share of the grandparent facts that are left out
PREFIXES = """@prefix p: <http://example.org/person/> .
@prefix k: <http://example.org/kin/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

"""


def family(seed: int = 0) -> tuple[list[Fact], list[Fact]]:
    """The facts that are known, and those that are missing."""
    random = np.random.default_rng(seed)
    facts = _whole_family(couples=10, generations=4, seed=seed)
    people = sorted({name for head, _, tail in facts for name in (head, tail)})
    names = dict(zip(people, _names(len(people), random), strict=True))
    known: list[Fact] = []
    missing: list[Fact] = []
    for head, relation, tail in facts:
        is_missing = relation == "grandparent" and random.random() < MISSING
        (missing if is_missing else known).append((names[head], relation, names[tail]))
    return known, missing


def turtle(facts: list[Fact]) -> str:
    """The facts as Turtle; people have labels."""
    people = sorted({name for head, _, tail in facts for name in (head, tail)})
    labels = "".join(f'p:{name.lower()} rdfs:label "{name}" .\n' for name in people)
    lines = "".join(f"p:{head.lower()} k:{relation} p:{tail.lower()} .\n" for head, relation, tail in facts)
    return PREFIXES + labels + lines


def tsv(facts: list[Fact]) -> str:
    """The facts as lines of head, relation and tail."""
    return "".join("\t".join(fact) + "\n" for fact in facts)


def _whole_family(couples: int, generations: int, seed: int) -> list[Fact]:
    """Couples over several generations with three children each; people are numbers."""
    random = np.random.default_rng(seed)
    facts: list[Fact] = []
    parents: dict[str, tuple[str, str]] = {}
    people = [f"g0_{i}" for i in range(2 * couples)]
    for generation in range(1, generations):
        order = random.permutation(len(people))[: 2 * couples].reshape(couples, 2)
        children: list[str] = []
        for first, second in ((people[i], people[j]) for i, j in order):
            facts += [(first, "married", second), (second, "married", first)]
            for _ in range(3):
                child = f"g{generation}_{len(children)}"
                children.append(child)
                parents[child] = (first, second)
                facts += [(parent, "parent", child) for parent in (first, second)]
                for parent in (first, second):
                    facts += [(elder, "grandparent", child) for elder in parents.get(parent, ())]
        people = children
    return list(dict.fromkeys(facts))


def _names(number: int, random: np.random.Generator) -> list[str]:
    syllables = [first + second for first in "bdfklmnrst" for second in "aeio"]
    pairs = random.permutation(len(syllables) ** 2)[:number]
    return [(syllables[i // len(syllables)] + syllables[i % len(syllables)]).capitalize() for i in pairs]


def main() -> None:
    """Write both files."""
    facts, _ = family()
    write_atomically(FOLDER / "family.tsv", tsv(facts))
    write_atomically(FOLDER / "family.ttl", turtle(facts))


if __name__ == "__main__":
    main()
