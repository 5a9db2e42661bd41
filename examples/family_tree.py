"""Learn the rules of kinship: make a family tree, hold facts back, fit, read the rules, explain a fact.

The tree consists of couples and their children; siblings, grandparents, uncles and aunts, and cousins follow
from that. Many of the derived facts are held back for validation and test: the rules have to predict them.
Run it with `python examples/family_tree.py`; it takes a few seconds.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import rnnlogic

Fact = tuple[str, str, str]
Parents = dict[str, tuple[str, str]]

# What each relation means in terms of others. We know these rules, so one of them must come out on top.
RULES = {
    "grandparent": ["grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)"],
    "uncle_or_aunt": [
        "uncle_or_aunt(X,Y) <- sibling(X,Z) & parent(Z,Y)",
        "uncle_or_aunt(X,Y) <- sibling(Z,X) & parent(Z,Y)",
    ],
    "cousin": [
        "cousin(X,Y) <- uncle_or_aunt(Z,X) & parent(Z,Y)",
        "cousin(X,Y) <- cousin(X,Z) & sibling(Y,Z)",
        "cousin(X,Y) <- cousin(X,Z) & sibling(Z,Y)",
    ],
    "sibling": ["sibling(X,Y) <- parent(Z,X) & parent(Z,Y)", "sibling(X,Y) <- sibling(Y,X)"],
    "spouse": ["spouse(X,Y) <- parent(X,Z) & parent(Y,Z)", "spouse(X,Y) <- spouse(Y,X)"],
    "parent": [
        "parent(X,Y) <- parent(X,Z) & sibling(Z,Y)",
        "parent(X,Y) <- parent(X,Z) & sibling(Y,Z)",
        "parent(X,Y) <- spouse(X,Z) & parent(Z,Y)",
        "parent(X,Y) <- spouse(Z,X) & parent(Z,Y)",
    ],
}
HELD_BACK = {"grandparent": 0.5, "uncle_or_aunt": 0.2, "cousin": 0.6}  # shares, half for the test
NAMES = ("Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jo", "Kim", "Leo")
SETTINGS = {
    "max_length": 2,
    "mine": {"smoothing": 20},
    "generator": {"embedding_size": 32, "hidden_size": 32, "pretrain_steps": 150, "tune_steps": 30},
    "predictor": {"weight_decay": 1.0},
    "em": {"rounds": 2, "rules": 60, "selected": 10},
    "final": {"rules": 20},
    "compact": {"enabled": False},  # few rules as it is; a compact model keeps paraphrases if they do as well
}


def make_family(couples: int = 10, generations: int = 4, children: int = 3, seed: int = 0) -> list[Fact]:
    """All facts of a family tree with this many couples in every generation but the last."""
    random = np.random.default_rng(seed)
    parents: Parents = {}
    spouses: list[tuple[str, str]] = []
    people = [_name(0, i) for i in range(2 * couples)]
    for generation in range(1, generations):
        pairs = _couples(people, parents, couples, random)
        spouses += pairs
        people = [_name(generation, i) for i in range(couples * children)]
        parents |= {child: pairs[i // children] for i, child in enumerate(people)}
    return _facts(parents, spouses)


def _name(generation: int, number: int) -> str:
    return f"{NAMES[number % len(NAMES)]}{generation}.{number // len(NAMES)}"


def _couples(
    people: list[str], parents: Parents, number: int, random: np.random.Generator
) -> list[tuple[str, str]]:
    """Couples of people who are not siblings."""
    single = [people[i] for i in random.permutation(len(people))]
    found: list[tuple[str, str]] = []
    while len(found) < number:
        first = single.pop()
        own = parents.get(first)
        second = next(other for other in reversed(single) if own is None or parents[other] != own)
        single.remove(second)
        found.append((first, second))
    return found


def _facts(parents: Parents, spouses: list[tuple[str, str]]) -> list[Fact]:
    parent = {(elder, child) for child, pair in parents.items() for elder in pair}
    sibling = {(a, b) for a in parents for b in parents if a != b and parents[a] == parents[b]}
    uncle_or_aunt = _joined(sibling, parent)
    facts = {
        "parent": parent,
        "spouse": {*spouses, *((b, a) for a, b in spouses)},
        "sibling": sibling,
        "grandparent": _joined(parent, parent),
        "uncle_or_aunt": uncle_or_aunt,
        "cousin": _joined({(child, aunt) for aunt, child in uncle_or_aunt}, parent),
    }
    return [(head, name, tail) for name, pairs in facts.items() for head, tail in sorted(pairs)]


def _joined(first: set[tuple[str, str]], second: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs (x, y) with some z such that (x, z) is in the first and (z, y) in the second."""
    following: dict[str, list[str]] = {}
    for middle, end in second:
        following.setdefault(middle, []).append(end)
    return {(start, end) for start, middle in first for end in following.get(middle, ())}


def split(facts: list[Fact], seed: int) -> dict[str, list[Fact]]:
    """Facts for train, valid and test."""
    random = np.random.default_rng(seed)
    parts: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    for fact in facts:
        share, drawn = HELD_BACK.get(fact[1], 0.0), random.random()
        parts["train" if drawn >= share else "valid" if drawn < share / 2 else "test"].append(fact)
    return parts


def learn(seed: int = 0) -> rnnlogic.RNNLogic:
    """A model of a family; the facts are written to a folder first, as most datasets are."""
    with TemporaryDirectory() as folder:
        for name, facts in split(make_family(seed=seed), seed).items():
            text = "".join("\t".join(fact) + "\n" for fact in facts)
            Path(folder, f"{name}.txt").write_text(text, encoding="utf-8")
        dataset = rnnlogic.load_dataset(folder, name="family")
    return rnnlogic.RNNLogic(SETTINGS | {"seed": seed}).fit(dataset)


def main() -> None:
    """Fit a model and show what it learned."""
    model = learn()
    print(model.dataset)
    print("\nThe best rules of each relation; * marks the rules we know")
    for relation, known in RULES.items():
        for rule in model.rules(relation, most=2):
            print(f"{'*' if rule.text in known else ' '} {rule.weight:6.2f}  {rule.text}")
    print(f"\ntest MRR {model.evaluate('test').metrics()['mrr']:.3f}\n")
    names, cousin = model.dataset.vocab, model.dataset.vocab.relation_id("cousin")
    head, _, tail = next(fact for fact in model.dataset.test.tolist() if fact[1] == cousin)
    question = names.entities[head], "cousin", names.entities[tail]
    explanation = model.explain(*question, paths=1, facts="train")  # the test facts are not known
    print("\n".join(explanation.lines()))


if __name__ == "__main__":
    main()
