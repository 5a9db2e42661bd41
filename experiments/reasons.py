"""Is the first reason the one that a person would give?

    python -m experiments.reasons worlds [--seed 0] [--only NAME]   # definitions that we planted
    python -m experiments.reasons people [--seed 0]                 # scores that people gave
    python -m experiments.reasons runs RUN ...                      # finished runs of any graph

worlds: families, firms and places with known definitions, noise and missing facts. Of the test facts in first
place, and to which a definition has a path: the share whose first reason is a definition, or one that is
logically equal (inverse and symmetric relations may replace each other, and a relation its own definition).
people: a generated royal family; the mean score of the first reason by people's scores of kinds of
explanations (K-CAP 2021, shared data), 0 for kinds without a score; beside it, the best kind that has a path
of one or two steps. runs: where the score of right first answers comes from.

Default fits; known facts train; ranks among all entities without known answers; ties take the expected rank.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import numpy as np

from rnnlogic import Chain, Constant, RNNLogic
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.explanation import Explanation
from rnnlogic.explain.question import Question, all_scores, rank_of
from rnnlogic.features.chains.paths import paths
from rnnlogic.rules.rule import length_of

Fact = tuple[str, str, str]
Body = tuple[str, ...]  # relations in a chain; "r^-1" is r against its direction
Random = np.random.Generator
SCORES = "explanations/people-scores.json"  # in the shared data
ASKED = 300  # test facts that are explained, at most


@dataclass(frozen=True)
class World:
    """Facts, the definitions of derived relations, and which relations mean the same."""

    name: str
    facts: list[Fact]
    definitions: dict[str, list[Body]]
    symmetric: frozenset[str] = frozenset()
    inverses: tuple[tuple[str, str], ...] = ()  # (r, s): s(Y,X) says the same as r(X,Y)

    def meaning(self, body: Iterable[str]) -> Body:
        """A body with inverse and symmetric relations replaced by one of each kind."""
        return tuple(self._step(step) for step in body)

    def _step(self, step: str) -> str:
        name, against = step.removesuffix("^-1"), step.endswith("^-1")
        for one, other in self.inverses:
            if name == other:
                name, against = one, not against
        return name if name in self.symmetric or not against else f"{name}^-1"

    def is_definition(self, relation: str, body: Body) -> bool:
        """Whether a body defines a relation; one that merely restates the fact by an inverse counts, too."""
        meant = self.meaning(body)
        known = {self.meaning(one) for one in self.definitions[relation]}
        unfolded = {
            (*one[:i], *definition, *one[i + 1 :])
            for one in known
            for i, step in enumerate(one)
            for definition in self.definitions.get(step, ())
        }
        return meant in known | unfolded or meant == self.meaning([relation])


def composed(facts: Iterable[Fact], body: Body, name: str) -> list[Fact]:
    """The facts that a chain of relations defines, without loops."""
    links: dict[str, dict[str, list[str]]] = {}
    for head, relation, tail in facts:
        links.setdefault(relation, {}).setdefault(head, []).append(tail)
        links.setdefault(f"{relation}^-1", {}).setdefault(tail, []).append(head)
    found = []
    for start in links[body[0]]:
        ends = {start}
        for step in body:
            ends = {end for one in ends for end in links[step].get(one, ())}
        found += [(start, name, end) for end in sorted(ends - {start})]
    return found


def people_of(size: int, random: Random) -> tuple[list[Fact], list[str]]:
    """Couples over four generations, as (child, parent, parent) and (one, married, other); and all names."""
    couples, facts, generation = max(size // 60, 4), list[Fact](), list[str]()
    names, born, pairs = list[str](), dict[str, int](), list[tuple[str, str]]()
    for depth in range(4):
        if depth == 0:
            people = [f"p0_{i}" for i in range(2 * couples)]
        else:
            people = [f"p{depth}_{i}" for i in range(3 * couples)]
            for i, child in enumerate(people):
                facts += [(child, "parent", one) for one in pairs[i // 3]]
                born[child] = i // 3 + couples * depth
        names += people
        generation = list(random.permutation(people))
        pairs = []
        for one in list(generation):
            if len(pairs) == couples or one not in generation:
                continue
            generation.remove(one)
            other = next((o for o in generation if born.get(o, o) != born.get(one, one)), None)
            if other is None:
                break
            generation.remove(other)
            pairs.append((one, other))
        if depth < 3:
            facts += [
                fact for one, other in pairs for fact in ((one, "married", other), (other, "married", one))
            ]
    return facts, names


def family(size: int, random: Random) -> World:
    """A family with grandparents, siblings, and aunts and uncles."""
    facts, _ = people_of(size, random)
    facts += composed(facts, ("parent", "parent"), "grandparent")
    facts += composed(facts, ("parent", "parent^-1"), "sibling")
    facts += composed(facts, ("parent", "sibling"), "aunt_or_uncle")
    definitions: dict[str, list[Body]] = {
        "grandparent": [("parent", "parent")],
        "sibling": [("parent", "parent^-1")],
        "aunt_or_uncle": [("parent", "sibling")],
    }
    return World(f"family of {len(facts):,} facts", facts, definitions, frozenset({"sibling", "married"}))


def firm(size: int, random: Random) -> World:
    """Firms with teams: who leads whom, who are colleagues, in which city one works."""
    teams, facts = max(size // 40, 6), list[Fact]()
    offices = [f"office{i}" for i in range(max(teams // 4, 3))]
    for i, office in enumerate(offices):
        facts.append((office, "in_city", f"city{i // 2}"))
    for i in range(teams):
        team = f"team{i}"
        facts += [
            (team, "sits_in", offices[int(random.integers(len(offices)))]),
            (team, "led_by", f"boss{i}"),
        ]
        facts += [(f"worker{i}_{k}", "member_of", team) for k in range(int(random.integers(3, 7)))]
    facts += composed(facts, ("member_of", "led_by"), "reports_to")
    facts += composed(facts, ("member_of", "member_of^-1"), "colleague")
    facts += composed(facts, ("member_of", "sits_in"), "works_in")
    definitions: dict[str, list[Body]] = {
        "reports_to": [("member_of", "led_by")],
        "colleague": [("member_of", "member_of^-1")],
        "works_in": [("member_of", "sits_in")],
    }
    return World(f"firm of {len(facts):,} facts", facts, definitions, frozenset({"colleague"}))


def places(size: int, random: Random) -> World:
    """Towns, regions and countries: where towns lie, what is spoken there, who is governed from where."""
    towns, facts = max(size // 6, 40), list[Fact]()
    regions, countries = max(towns // 8, 5), max(towns // 50, 3)
    for i in range(countries):
        facts += [(f"country{i}", "language", f"language{i % max(countries // 2, 2)}")]
        facts += [(f"country{i}", "capital", f"town{i}")]
    facts += [(f"region{i}", "part_of", f"country{int(random.integers(countries))}") for i in range(regions)]
    facts += [(f"town{i}", "lies_in", f"region{int(random.integers(regions))}") for i in range(towns)]
    facts += composed(facts, ("lies_in", "part_of"), "in_country")
    facts += composed(facts, ("part_of", "language"), "region_language")
    facts += composed(facts, ("in_country", "language"), "town_language")
    facts += composed(facts, ("in_country", "capital"), "governed_from")
    definitions: dict[str, list[Body]] = {
        "in_country": [("lies_in", "part_of")],
        "region_language": [("part_of", "language")],
        "town_language": [("in_country", "language"), ("lies_in", "region_language")],
        "governed_from": [("in_country", "capital")],
    }
    return World(f"places of {len(facts):,} facts", facts, definitions)


WORLDS: dict[str, tuple[Callable[[int, Random], World], int]] = {
    "family": (family, 500),
    "large family": (family, 6_000),
    "firm": (firm, 900),
    "large firm": (firm, 6_000),
    "places": (places, 2_000),
    "large places": (places, 10_000),
}


def split(world: World, random: Random, noise: float = 0.02, missing: float = 0.1) -> Dataset:
    """A dataset: of derived facts a tenth each for valid and test, of all others some missing, some wrong."""
    order = random.permutation(len(world.facts))
    parts: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    entities = sorted({name for head, _, tail in world.facts for name in (head, tail)})
    for i in order.tolist():
        head, relation, _ = world.facts[i]
        place = random.random()
        if relation not in world.definitions:
            if place >= missing / 2:
                parts["train"].append(world.facts[i])
        elif place >= 3 * missing:
            parts["train"].append(world.facts[i])
        elif place < 2 * missing:
            parts["valid" if place < missing else "test"].append(world.facts[i])
        if random.random() < noise:
            parts["train"].append((head, relation, entities[int(random.integers(len(entities)))]))
    parts["train"] = list(dict.fromkeys(parts["train"]))
    known = {name for head, _, tail in parts["train"] for name in (head, tail)}
    for name in ("valid", "test"):
        own = set(parts[name]) - set(parts["train"])
        parts[name] = [one for one in parts[name] if one in own and one[0] in known and one[2] in known]
    with TemporaryDirectory() as folder:
        for name, facts in parts.items():
            lines = "".join("\t".join(fact) + "\n" for fact in facts)
            (Path(folder) / f"{name}.txt").write_text(lines, encoding="utf-8")
        return load_dataset(folder, name=world.name)


def asked(dataset: Dataset) -> list[Fact]:
    """Test facts by name, at most `ASKED` of them, evenly spread."""
    vocab, facts = dataset.vocab, dataset.test[:: max(len(dataset.test) // ASKED, 1)].tolist()
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in facts]


def is_attainable(world: World, dataset: Dataset, fact: Fact) -> bool:
    """Whether a definition of the relation has a path without repeated entities to the answer."""
    vocab, graph = dataset.vocab, dataset.graph("train")
    head, relation, tail = vocab.entity_id(fact[0]), fact[1], vocab.entity_id(fact[2])
    names = [vocab.relation_name(step) for step in range(2 * vocab.num_relations)]
    for length in (1, 2, 3):
        for body in product(names, repeat=length):
            is_known = body != (relation,) and world.is_definition(relation, body)
            if is_known and paths(graph, head, [*map(vocab.relation_id, body)], tail, limit=0).total:
                return True
    return False


def body_of(told: Explanation, vocab: Vocab) -> Body | None:
    """The relations of the first reason; None if it is no chain."""
    if not told.reasons or not isinstance(chain := told.reasons[0].rule.chain, Chain):
        return None
    return tuple(vocab.relation_name(step) for step in chain.body)


def is_first(model: RNNLogic, fact: Fact) -> bool:
    """Whether no other answer has a higher score by the facts of train, other known answers left out."""
    vocab = model.dataset.vocab
    question = Question(vocab.entity_id(fact[0]), vocab.relation_id(fact[1]), vocab.entity_id(fact[2]))
    scores = all_scores(model.dataset.graph("train"), model.scorer, question)
    known = model.dataset.graph("all").neighbours(question.head, question.relation)
    return rank_of(scores, question.tail, known).better == 0


def worlds(seed: int, only: Sequence[str]) -> None:
    """Print, for every world, how often the first reason is the definition."""
    columns = f"{'world':26} {'asked':>5} {'first':>5} {'has path':>8} {'definition':>10} {'CPU s':>5}"
    print(f"{columns}  other first reasons")
    for name, (make, size) in WORLDS.items():
        if only and name not in only:
            continue
        random = np.random.default_rng(seed)
        world = make(size, random)
        started, dataset = time.process_time(), split(world, random)
        model = RNNLogic(seed=seed).fit(dataset, verbose=False)
        seconds, facts = time.process_time() - started, asked(dataset)
        right, others, first, attainable = 0, dict[str, int](), 0, 0
        for fact in facts:
            if not is_first(model, fact):
                continue
            told = model.explain(*fact, facts="train")
            first += 1
            if not is_attainable(world, dataset, fact):
                continue
            attainable += 1
            body = body_of(told, dataset.vocab)
            if body is not None and world.is_definition(fact[1], body):
                right += 1
            else:
                text = told.reasons[0].rule.rule if told.reasons and body else "a rule with constants"
                others[text] = others.get(text, 0) + 1
        most = sorted(others, key=lambda text: -others[text])[:2]
        shown = "; ".join(f"{others[text]} {text}" for text in most)
        numbers = f"{len(facts):5} {first:5} {attainable:8} {right / max(attainable, 1):10.1%} {seconds:5.0f}"
        print(f"{world.name:26} {numbers}  {shown}", flush=True)


def royal(size: int, random: Random) -> World:
    """A family with the six relations that people were asked about."""
    base, names = people_of(size, random)
    woman = {name: bool(random.integers(2)) for name in names}
    facts = [(one, "spouse" if relation == "married" else relation, two) for one, relation, two in base]
    facts += [(two, "child", one) for one, relation, two in base if relation == "parent"]
    facts += composed(base, ("parent", "parent"), "grandparent")
    for one, _, two in composed(base, ("parent", "parent^-1"), "sibling"):
        facts.append((one, "sister" if woman[two] else "brother", two))
    definitions: dict[str, list[Body]] = {relation: [] for relation in {fact[1] for fact in facts}}
    return World(f"royal family of {len(facts):,} facts", facts, definitions, frozenset({"spouse"}))


def kind(relation: str, body: Iterable[str]) -> str:
    """The key of a kind of explanation in the people's scores."""
    return "_".join((relation, *sorted(step.removesuffix("^-1") for step in body)))


def people(seed: int) -> None:
    """Print the people's mean score of the first reasons, beside the best that is attainable."""
    folder = os.environ.get("RNNLOGIC_DATA")
    if folder is None:
        raise SystemExit(
            "set RNNLOGIC_DATA to the folder of the shared data, which holds the people's scores"
        )
    scores: dict[str, float] = json.loads((Path(folder) / SCORES).read_text(encoding="utf-8"))
    random = np.random.default_rng(seed)
    world = royal(2_000, random)
    dataset = split(world, random, noise=0.0)
    model = RNNLogic(seed=seed).fit(dataset, verbose=False)
    vocab, graph, got, best, kinds = dataset.vocab, dataset.graph("train"), [], [], dict[str, int]()
    steps = range(2 * vocab.num_relations)
    for head, relation, tail in asked(dataset):
        told = model.explain(head, relation, tail, facts="train")
        body = body_of(told, vocab)
        named = "none" if body is None else kind(relation, body)
        kinds[named] = kinds.get(named, 0) + 1
        got.append(scores.get(named, 0.0))
        start, end, attainable = vocab.entity_id(head), vocab.entity_id(tail), 0.0
        for one in steps:
            between = graph.neighbours(start, one)
            names = [vocab.relation_name(one)]
            if end in between:
                attainable = max(attainable, scores.get(kind(relation, names), 0.0))
            for two in steps:
                if any(
                    middle not in (start, end) and graph.has(middle, two, end) for middle in between.tolist()
                ):
                    names = [vocab.relation_name(one), vocab.relation_name(two)]
                    attainable = max(attainable, scores.get(kind(relation, names), 0.0))
        best.append(attainable)
    print(f"{world.name}: {len(got)} test facts, mean score of the first reason {mean(got):.3f}")
    print(f"the best kind that has a path: {mean(best):.3f}")
    for name in sorted(kinds, key=lambda name: -kinds[name])[:15]:
        print(f"{kinds[name]:6} {name} {scores.get(name, 0.0):.1f}")


def runs(folders: Sequence[str]) -> None:
    """Print where the score of right first answers comes from, for finished runs."""
    for folder in folders:
        model = RNNLogic.load(folder)
        parts, named, lengths, confidences = list[float](), list[float](), list[int](), list[float]()
        for fact in asked(model.dataset):
            if not is_first(model, fact) or not (told := model.explain(*fact, facts="train")).reasons:
                continue
            gains = [one for one in told.contributions if one.contribution > 0]
            whole = sum(one.contribution for one in gains) + max(told.embedding or 0.0, 0.0)
            rules = sum(one.contribution for one in gains if isinstance(one.chain, Chain | Constant))
            parts.append(rules / whole)
            named.append(sum(reason.share for reason in told.reasons))
            first = told.reasons[0].rule
            lengths.append(length_of(first.chain))
            confidences.append(first.record.right / first.record.cases if first.record else 0.0)
        learned = model.learned
        is_chain = learned.rules.are_chains
        wrong = is_chain & (learned.weights < 0) & (learned.lift > 1)
        print(
            f"{folder}: {len(parts)} right first answers; of their score rules {median(parts):.0%},"
            f" the named reasons {median(named):.0%} (medians); first reason: length {median(lengths):.0f},"
            f" confidence {median(confidences):.2f}; chains with a negative weight and a lift above 1:"
            f" {int(wrong.sum())} of {int(is_chain.sum())}"
        )


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("worlds", "people", "runs"))
    parser.add_argument("folders", nargs="*", metavar="RUN")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], choices=list(WORLDS))
    given = parser.parse_args()
    if given.what == "worlds":
        worlds(given.seed, given.only)
    elif given.what == "people":
        people(given.seed)
    else:
        runs(given.folders)


if __name__ == "__main__":
    main()
