"""Are proposals true that a model makes with all known facts? Facts are removed from the WHOLE dataset first.

    python -m experiments.proposals FOLDER [NAME ...] [--gaps 0 .05 .2] [--fit] [--json]

Names: nations, umls, kinship, and two generated graphs: `firm`, in which every relation follows from others,
and `town`, where people live in one city and are friends or rivals, but for 4 % exceptions.
Of each a share of the facts is removed at random (0: nothing), before anything else. The rest is split and
fitted as any graph is, in FOLDER/NAME-SHARE. `complete` then proposes facts with all known facts. A proposal
counts as true if it was removed, so a true fact that the original lacks counts as false.

`--fit` only fits what FOLDER lacks; without it nothing is fitted, and what is there is measured:

    true of 20, of 100  how many of the first proposals were removed facts
    above .9            how many proposals say so, and which share of them is true
    stated, of facts    sum of the probabilities of the first 30,000 proposals; and as a share of the facts
    missing             how many facts are missing, as the model estimates, and how many were removed
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import rnnlogic as rl
from experiments.shown import print_table
from rnnlogic.base.types import silent
from rnnlogic.complete.complete import proposed_facts

Fact = tuple[str, str, str]
NAMES = ("nations", "umls", "kinship", "firm", "town")
MOST = 30_000
PEOPLE, TEAMS = 150, 20
RESIDENTS, FIRMS, CITIES, EXCEPTIONS = 500, 40, 25, 0.04


def firm() -> list[Fact]:
    """People in teams, teams in departments at places; all that follows is there, and nothing is missing."""
    random, facts = np.random.default_rng(0), set[Fact]()
    for team in range(TEAMS):
        facts.add((f"team{team}", "part_of", f"department{team % 5}"))
    for department in range(5):
        facts.add((f"department{department}", "at", f"place{department % 3}"))
    leads: dict[int, int] = {}
    for person in range(PEOPLE):
        team = int(random.integers(TEAMS))
        lead = leads.setdefault(team, person)
        facts.add((f"person{person}", "member_of", f"team{team}"))
        facts.add((f"person{person}", "works_for", f"department{team % 5}"))
        facts.add((f"person{person}", "works_at", f"place{team % 5 % 3}"))
        facts.add((f"person{person}", "knows", f"person{int(random.integers(PEOPLE))}"))
        if lead != person:
            facts |= {(f"person{person}", "reports_to", f"person{lead}")}
            facts |= {(f"person{lead}", "manages", f"person{person}")}
    return sorted(facts)


def town() -> list[Fact]:
    """People work for one firm and live in one of its cities; colleagues are friends or rivals."""
    random, facts = np.random.default_rng(0), set[Fact]()
    sites = [random.choice(CITIES, int(random.integers(2, 4)), replace=False) for _ in range(FIRMS)]
    facts |= {(f"firm{firm}", "at", f"city{city}") for firm in range(FIRMS) for city in sites[firm]}
    firms, homes = list[set[int]](), list[set[int]]()
    for person in range(RESIDENTS):
        firms.append(set(random.integers(FIRMS, size=1 + (random.random() < EXCEPTIONS)).tolist()))
        places = np.unique(np.concatenate([sites[firm] for firm in firms[person]]))
        homes.append(set(random.choice(places, 1 + (random.random() < EXCEPTIONS), replace=False).tolist()))
        facts |= {(f"person{person}", "works_for", f"firm{firm}") for firm in firms[person]}
        facts |= {(f"person{person}", "lives_in", f"city{city}") for city in homes[person]}
        seen = [city for city in places.tolist() if city in homes[person] or random.random() < 0.6]
        facts |= {(f"person{person}", "visited", f"city{city}") for city in seen}
    for one in range(RESIDENTS):
        for other in range(RESIDENTS):
            if one != other and firms[one] & firms[other]:
                is_friend = random.random() < (0.75 if homes[one] & homes[other] else 0.3)
                is_rival = random.random() < (EXCEPTIONS if is_friend else 0.6)
                kinds = [kind for kind, holds in (("friend", is_friend), ("rival", is_rival)) if holds]
                facts |= {(f"person{one}", kind, f"person{other}") for kind in kinds}
    return sorted(facts)


def facts_of(name: str) -> list[Fact]:
    """All facts of a dataset, by name."""
    if name in ("firm", "town"):
        return firm() if name == "firm" else town()
    data = rl.load_dataset(name)
    every = np.concatenate([data.train, data.valid, data.test]).tolist()
    vocab = data.vocab
    return sorted((vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in every)


def split(name: str, gap: float) -> tuple[list[Fact], list[Fact]]:
    """The facts that stay, and those that are removed."""
    facts = facts_of(name)
    gone = np.random.default_rng(7).random(len(facts)) < gap
    kept = [fact for fact, is_gone in zip(facts, gone, strict=True) if not is_gone]
    return kept, [fact for fact, is_gone in zip(facts, gone, strict=True) if is_gone]


def fit(folder: Path, name: str, gap: float) -> None:
    """Fit on what stays."""
    kept, _ = split(name, gap)
    rl.RNNLogic(seed=0).fit(rl.load_dataset(kept, name=f"{name}-{gap:g}"), run=folder, verbose=False)


def measure(folder: Path, name: str, gap: float) -> dict[str, Any]:
    """One row of the table."""
    model = rl.RNNLogic.load(folder)
    kept, removed = split(name, gap)
    graph, level, names = model.graph("all"), model.level("all"), model.dataset.vocab
    found, probability = proposed_facts(graph, model.scorer, level, range(graph.num_relations), MOST, silent)
    best = np.argsort(-probability, kind="stable")
    true = set(removed)
    is_true = np.array(
        [
            (names.entities[h], names.relations[r], names.entities[t]) in true
            for h, r, t in found[best].tolist()
        ],
        bool,
    )
    stated, sure = probability[best], probability[best] >= 0.9
    return {
        "graph": f"{name}, {gap:.0%} removed",
        "facts": len(kept),
        "removed": len(removed),
        "missing": level.basis.missing,
        "true of 20": int(is_true[:20].sum()),
        "true of 100": int(is_true[:100].sum()),
        "above .9": int(sure.sum()),
        "of them true": float(is_true[sure].mean()) if sure.any() else None,
        "highest": float(stated[0]) if len(stated) else None,
        "stated": float(stated.sum()),
        "of facts": float(stated.sum()) / len(kept),
        "true": int(is_true.sum()),
    }


def main() -> None:
    """Parse arguments; fit, or measure and print a table or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--gaps", type=float, nargs="+", default=[0.0, 0.05, 0.2])
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in options.names:
        for gap in options.gaps:
            folder = options.folder / f"{name}-{gap:g}"
            if options.fit and not (folder / "model.json").exists():
                fit(folder, name, gap)
            elif not options.fit and (folder / "model.json").exists():
                rows.append(measure(folder, name, gap))
    if options.json:
        print(json.dumps(rows, indent=1))
    elif rows:
        print_table(rows)


if __name__ == "__main__":
    main()
