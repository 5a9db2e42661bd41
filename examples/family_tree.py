"""Learn the rules of a family tree: make a graph of kin, hide a part of it, fit, and read the rules.

Run it with `python examples/family_tree.py`; it takes some seconds.
"""

from __future__ import annotations

import numpy as np

import rnnlogic

Fact = tuple[str, str, str]

SETTINGS = {
    "max_length": 2,
    "generator": {"embedding_size": 32, "hidden_size": 32, "pretrain_steps": 100, "tune_steps": 20},
    "em": {"rounds": 2, "rules": 30, "selected": 10},
    "final": {"rules": 20},
}


def make_family(couples: int, generations: int, seed: int) -> list[Fact]:
    """Facts parent, married and grandparent of some generations; every couple has three children."""
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
    return facts


def main() -> None:
    """Fit and show."""
    dataset = rnnlogic.load_dataset(make_family(couples=12, generations=4, seed=0), name="family")
    print(dataset)
    model = rnnlogic.RNNLogic(SETTINGS).fit(dataset)
    for relation in dataset.vocab.relations:
        for rule in model.rules(relation, top=2):
            print(f"{rule.weight:7.3f}  {rule.text}")
    print(f"test MRR {model.evaluate('test').metrics()['mrr']:.3f}")
    head, relation, tail = dataset.test[0].tolist()
    names = dataset.vocab
    explanation = model.explain(names.entities[head], names.relations[relation], names.entities[tail])
    print("\n".join(explanation.lines(rules=2)))


if __name__ == "__main__":
    main()
