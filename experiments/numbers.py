"""Whether mining finds planted conditions on numbers and dates first.

    python -m experiments.numbers [--seeds 20] [--people 600] [--fits 0] [--json FILE]

Each graph has people with an age, a height and a birthday, whom they know, where they live, and one relation
that follows a condition. A share of its facts (5 or 20 %) follows chance instead. A condition counts as found
if it is the first of its relation and compares the same attributes, with every cut within one quantile step
(2.5 % of the values) of the planted one. `--fits` fits a default model on so many of the graphs, and counts
those in which the condition is the first rule of the relation in `rnnlogic rules`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnlogic import RNNLogic
from rnnlogic.data.attributes import value_text
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.mining.conditions import CUTS, conditions_of
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.parse import parse_rule

PLANTED = {
    "threshold": "risk(X,high) <- age(X) >= 60",
    "interval": "risk(X,high) <- 30 <= age(X) < 50",
    "date": "risk(X,high) <- born(X) < 1950-01-01",
    "order": "elder(X,Y) <- born(X) < born(Y)",
    "distance": "peer(X,Y) <- |age(X) - age(Y)| <= 2",
}
NOISE = (0.05, 0.2)
LEVELS = ("low", "middle", "unknown to us")  # what those have whom the condition does not concern
PAIRS = 2  # of each person, for a relation between people
Fact = tuple[str, str, str]


def graph(text: str, noise: float, people: int, seed: int) -> tuple[Dataset, Condition]:
    """A graph in which a share of the facts of one relation follows chance, and the others the condition."""
    rng = np.random.default_rng([seed, int(100 * noise), people])
    age, height = rng.integers(18, 95, people), rng.normal(170, 10, people).round(1)
    born = rng.permutation(30_000)[:people].astype(float) - 12_000
    facts: list[Fact] = []
    for i in range(people):
        facts += [(f"p{i}", "age", str(age[i])), (f"p{i}", "height", str(height[i]))]
        facts += [
            (f"p{i}", "born", value_text(born[i], "date")),
            (f"p{i}", "lives", f"town {rng.integers(12)}"),
        ]
    facts += [(f"p{a}", "knows", f"p{b}") for a, b in rng.integers(0, people, (3 * people, 2)).tolist()]
    relation = text.partition("(")[0]
    names = load_dataset([*facts, *((f"p{i}", relation, "high") for i in range(2))], ratios=(1, 0, 0))
    rule = parse_rule(text, names.vocab)
    assert isinstance(rule, Condition)
    assert names.values is not None
    order = [names.vocab.entity_id(f"p{i}") for i in range(people)]
    values = names.values[:, order]
    pairs = _between_people(rule, values, noise, rng) if rule.compares else _levels(rule, values, noise, rng)
    facts += [(head, relation, tail) for head, tail in pairs]
    dataset = load_dataset(facts, name="planted", seed=seed)
    found = parse_rule(text, dataset.vocab)
    assert isinstance(found, Condition)
    return dataset, found


def _holds(rule: Condition, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((values >= rule.interval.low) & (values < rule.interval.high))


def _levels(
    rule: Condition, values: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """A level for each person."""
    is_high = _holds(rule, values[rule.of_x]) != (rng.random(values.shape[1]) < noise)
    return [
        (f"p{i}", "high" if is_high[i] else LEVELS[rng.integers(len(LEVELS))]) for i in range(len(is_high))
    ]


def _between_people(
    rule: Condition, values: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Pairs of people; those of chance need not follow the condition."""
    people, found = values.shape[1], list[tuple[str, str]]()
    while len(found) < PAIRS * people:
        one, other = rng.integers(0, people, 2).tolist()
        difference = values[rule.of_y, other] - values[rule.of_x, one]
        if one != other and (rng.random() < noise or _holds(rule, difference)):
            found.append((f"p{one}", f"p{other}"))
    return found


def is_found(rule: Condition, planted: Condition, dataset: Dataset) -> bool:
    """Whether a rule is the planted one, up to a quantile step."""
    if rule._replace(interval=planted.interval) != planted:
        return False
    assert dataset.values is not None
    own = dataset.values[max(planted.of_x, planted.of_y)]
    values = np.sort(own[~np.isnan(own)])
    if planted.compares:
        values = np.sort(np.abs(values[:, None] - values[None, :]).ravel())
    places = np.searchsorted(values, [rule.interval, planted.interval])
    return bool(np.abs(np.diff(places, axis=0)).max() <= len(values) / CUTS + 1)


def main() -> None:
    """Print a row for each planted condition and share of noise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, help="graphs of each kind")
    parser.add_argument("--people", type=int, default=600, help="people in each graph")
    parser.add_argument("--fits", type=int, default=0, help="graphs of each kind that a model is fitted on")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    told, rows = parser.parse_args(), []
    print(f"{'planted':42} noise  found first" + ("  first in the model" if told.fits else ""))
    for text in PLANTED.values():
        for noise in NOISE:
            found = fitted = 0
            for seed in range(told.seeds):
                dataset, planted = graph(text, noise, told.people, seed)
                kinds = [one.kind for one in dataset.vocab.attributes]
                best = conditions_of(dataset.graph("train"), kinds, planted.head)
                found += bool(best) and is_found(best[0].rule, planted, dataset)
                if seed < told.fits:
                    model = RNNLogic().fit(dataset)
                    first = parse_rule(
                        model.rules(dataset.vocab.relation_name(planted.head))[0].text, dataset.vocab
                    )
                    fitted += isinstance(first, Condition) and is_found(first, planted, dataset)
            rows.append({"planted": text, "noise": noise, "found": found, "seeds": told.seeds})
            more = f"  {fitted} of {told.fits}" if told.fits else ""
            print(f"{text:42} {noise:4.0%}  {found} of {told.seeds}{more}", flush=True)
    if told.json:
        told.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
