"""Do weights of facts help where some facts are false? Graphs are made noisy on purpose.

Of each graph the validation and test facts stay as they are. The training facts get false ones, a fifth as
many: the tail of a true fact is replaced by another answer of its relation. A true fact has a weight between
.7 and 1, a false one between .1 and .5. Default fits see

    all      all facts, and no weights
    weights  all facts with their weights
    true     only the true facts, without weights: as good as it can get

    MRR          filtered, of validation and test facts, on the training facts
    of 100       how many of the first 100 proposals are test facts, on training and validation facts

Run: python -m experiments.weights [NAME ...]   (umls, kinship, team; about 15 minutes on one core)
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import rnnlogic as rl
from rnnlogic.data.annotations import Annotations
from rnnlogic.data.graph import Triples
from rnnlogic.review.judged import without

NAMES = ("umls", "kinship", "team")
FALSE = 0.2  # false facts for each true one
OF_TRUE, OF_FALSE = (0.7, 1.0), (0.1, 0.5)  # weights, drawn evenly between
SEED = 5
PROPOSALS = 100
PEOPLE, TEAMS = 300, 40


class Noisy(NamedTuple):
    """A graph in three ways."""

    all: rl.Dataset
    weights: rl.Dataset
    true: rl.Dataset


def team() -> list[tuple[str, str, str]]:
    """People in teams, teams in departments at places: what follows is there in nine of ten cases."""
    random, facts = np.random.default_rng(0), set[tuple[str, str, str]]()
    for one in range(TEAMS):
        facts.add((f"team{one}", "part_of", f"department{one % 8}"))
    for department in range(8):
        facts.add((f"department{department}", "at", f"place{department % 5}"))
    for person in range(PEOPLE):
        number = int(random.integers(TEAMS))
        name = f"person{person}"
        facts.add((name, "member_of", f"team{number}"))
        facts.add((name, "knows", f"person{int(random.integers(PEOPLE))}"))
        if random.random() < 0.9:
            facts.add((name, "works_for", f"department{number % 8}"))
        if random.random() < 0.9:
            facts.add((name, "works_at", f"place{number % 8 % 5}"))
        if random.random() < 0.9:
            facts.add((f"team{number}", "has_member", name))
    return sorted(facts)


def noisy(name: str) -> Noisy:
    """A graph with false facts, and their weights."""
    dataset = rl.load_dataset(team(), name="team", seed=0) if name == "team" else rl.load_dataset(name)
    random = np.random.default_rng(SEED)
    known = np.concatenate([dataset.train, dataset.valid, dataset.test])
    false = _false_facts(dataset.train, known, round(FALSE * len(dataset.train)), random)
    train = np.concatenate([dataset.train, false])
    weights = np.append(random.uniform(*OF_TRUE, len(dataset.train)), random.uniform(*OF_FALSE, len(false)))
    every = replace(dataset, train=train)
    return Noisy(every, replace(every, annotations=Annotations(train, weights)), dataset)


def _false_facts(train: Triples, known: Triples, number: int, random: np.random.Generator) -> Triples:
    """So many facts that are not known, made of true ones with the tail of another fact of the relation."""
    found = np.empty((0, 3), np.int32)
    while len(found) < number:
        drawn = train[random.integers(len(train), size=4 * number)].copy()
        for relation in np.unique(drawn[:, 1]):
            own = drawn[:, 1] == relation
            drawn[own, 2] = random.choice(train[train[:, 1] == relation, 2], own.sum())
        drawn = drawn[drawn[:, 0] != drawn[:, 2]]
        new = without(np.unique(drawn, axis=0), known).astype(np.int32)
        found = np.unique(np.concatenate([found, new]), axis=0)
    return found[np.sort(random.permutation(len(found))[:number])]


def measured(dataset: rl.Dataset) -> tuple[float, float, int]:
    """Validation and test MRR of a default fit, and how many of its first proposals are test facts."""
    model = rl.RNNLogic(seed=0).fit(dataset, verbose=False)
    valid, test = (model.evaluate(split, facts="train").metrics()["mrr"] for split in ("valid", "test"))
    names = dataset.vocab
    true = {(names.entities[h], names.relations[r], names.entities[t]) for h, r, t in dataset.test.tolist()}
    first = model.complete(most=PROPOSALS, facts="train+valid")
    return valid, test, sum((one.head, one.relation, one.tail) in true for one in first)


def main() -> None:
    """Print a row for each graph and way of learning."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=NAMES)
    print("| graph | facts | valid MRR | test MRR | of 100 |\n|---|---|---|---|---|")
    for name in parser.parse_args().names:
        for kind, dataset in noisy(name)._asdict().items():
            valid, test, right = measured(dataset)
            print(
                f"| {name} | {kind}: {len(dataset.train):,} | {valid:.3f} | {test:.3f} | {right} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
