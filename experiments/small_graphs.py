"""The default fit on small graphs, beside AnyBURL-like aggregation of confidences.

    python -m experiments.small_graphs [NAME ...] [--test] [--seed 0] [--runs FOLDER] [--json FILE]
    python -m experiments.small_graphs --write FOLDER

Names: nations; fb (like FB15k-237 v1 of GraIL), the facts between random entities, and wn (like WN18RR v1),
those between entities found breadth first, both split anew; codex (like CoDEx-S), the facts of the 40 most
frequent relations of FB15k-237 between the entities that have most; countries (Countries S3), from the
package `countryinfo`, if that is installed.

Ours is `rnnlogic fit` as it comes, run folder, calibration and compact model included; below it, the full
model that this is made of, which may be better by the tolerance of compaction. Beside it, the
confidences of mined chains and rules with constants, support / (predictions + 5): the largest, ties by the
next two (max-plus), and noisy-or. Evidence train, both sides, expected ties; one thread. CPU seconds are of
fitting only, or of mining and counting. Test facts are asked with --test only.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.constants import Ids, aggregations, grown, mrr, within
from paper.studies import full_model
from rnnlogic import RNNLogic
from rnnlogic.base.budget import Work
from rnnlogic.config import Config, changed
from rnnlogic.data.cleaning import split_facts
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.graph import Triples
from rnnlogic.data.saving import save_dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.mine import mine_rules
from rnnlogic.runs.folder import Run

CHAINS, CONSTANTS = 300, 500  # mined for each relation and direction, for the aggregations
Chosen = Callable[[Triples, int, int], Ids]  # so many entities of a graph, by facts and seed
ASKED = 24  # countries that validation facts ask about, and as many for test facts


def all_facts(name: str) -> tuple[Vocab, Triples]:
    """The names of a dataset, and the facts of all its splits."""
    dataset = load_dataset(name)
    return dataset.vocab, np.concatenate([dataset.facts(split) for split in ("train", "valid", "test")])


def split_anew(name: str, vocab: Vocab, facts: Triples, ratios: tuple[int, int, int], seed: int) -> Dataset:
    """A dataset of some facts, with the names that occur in them, split at random."""
    entities, ends = np.unique(facts[:, [0, 2]], return_inverse=True)
    relations, relation = np.unique(facts[:, 1], return_inverse=True)
    ends = ends.reshape(-1, 2)
    own = np.stack([ends[:, 0], relation, ends[:, 1]], axis=1).astype(np.int32)
    names = Vocab(
        tuple(vocab.entities[i] for i in entities.tolist()),
        tuple(vocab.relations[i] for i in relations.tolist()),
    )
    splits, _ = split_facts(own, ratios, seed, len(entities), len(relations))
    return Dataset(name, names, splits["train"], splits["valid"], splits["test"])


def part(name: str, source: str, facts: int, entities: Chosen, seed: int) -> Dataset:
    """The facts between some entities of a graph, about so many, 80/10/10."""
    vocab, every = all_facts(source)
    low, high = 2, vocab.num_entities
    while low < high:  # the fewest entities with so many facts between them
        middle = (low + high) // 2
        is_enough = len(within(every, entities(every, middle, seed))) >= facts
        low, high = (low, middle) if is_enough else (middle + 1, high)
    inside = entities(every, low, seed)
    own = every[np.isin(every[:, 0], inside) & np.isin(every[:, 2], inside)]
    return split_anew(name, vocab, own, (80, 10, 10), seed)


def nearby(facts: Triples, number: int, seed: int) -> Ids:
    """So many entities, found breadth first."""
    return grown(facts, number, np.random.default_rng(seed))


def anywhere(facts: Triples, number: int, seed: int) -> Ids:
    """So many random entities: in a dense graph, breadth first finds a far denser part than GraIL's."""
    order = np.random.default_rng(seed).permutation(np.unique(facts[:, [0, 2]]))
    return np.sort(order[:number]).astype(np.int64)


def like_codex(seed: int) -> Dataset:
    """The 40 most frequent relations of FB15k-237 between 2,000 entities, at most 36,000 facts, 90/5/5."""
    vocab, every = all_facts("fb15k-237")
    often = np.argsort(-np.bincount(every[:, 1]), kind="stable")[:40]
    own = every[np.isin(every[:, 1], often)]
    best = np.argsort(-np.bincount(own[:, [0, 2]].ravel(), minlength=vocab.num_entities), kind="stable")
    own = own[np.isin(own[:, 0], best[:2000]) & np.isin(own[:, 2], best[:2000])]
    few = np.random.default_rng(seed).permutation(len(own))[:36_000]
    return split_anew("codex", vocab, own[few], (90, 5, 5), seed)


def countries(seed: int) -> Dataset:
    """Countries S3: the region of a country by those of its neighbours, whose own region is not told."""
    from countryinfo import CountryInfo  # type: ignore[import-not-found]

    every = CountryInfo.all().values()
    places = {c["ISO"]["alpha3"]: c for c in every if c.get("subregion") and c["ISO"]["alpha3"]}
    borders = {a: sorted({b for b in c.get("borders") or () if b in places}) for a, c in places.items()}
    regions = {c["subregion"]: c["region"] for c in places.values()}
    rng = np.random.default_rng(seed)
    asked = rng.permutation(sorted(a for a in places if borders[a]))[: 2 * ASKED].tolist()
    around = {b for a in asked for b in borders[a]}
    train = [(a, "neighbor", b) for a, others in borders.items() for b in others]
    train += [(sub, "locatedIn", region) for sub, region in regions.items()]
    train += [(a, "locatedIn", c["subregion"]) for a, c in places.items() if a not in asked]
    hidden = around | set(asked)
    train += [(a, "locatedIn", c["region"]) for a, c in places.items() if a not in hidden]
    valid, test = (
        [(a, "locatedIn", places[a]["region"]) for a in half] for half in (asked[:ASKED], asked[ASKED:])
    )
    entities = sorted({end for head, _, tail in train for end in (head, tail)})
    names = Vocab(tuple(entities), ("locatedIn", "neighbor"))
    splits = [_ids(names, facts) for facts in (train, valid, test)]
    return Dataset("countries", names, splits[0], splits[1], splits[2])


def _ids(names: Vocab, facts: list[tuple[str, str, str]]) -> Triples:
    told = [(names.entity_id(h), names.relation_id(r), names.entity_id(t)) for h, r, t in facts]
    return np.array(told, np.int32)


GRAPHS: dict[str, Callable[[int], Dataset]] = {
    "nations": lambda _: load_dataset("nations"),
    "fb": lambda seed: part("fb", "fb15k-237", 5300, anywhere, seed),
    "wn": lambda seed: part("wn", "wn18rr", 6700, nearby, seed),
    "codex": like_codex,
    "countries": countries,
}


def aggregated(dataset: Dataset, seed: int, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Figures of the aggregations of mined rules."""
    started, graph = time.process_time(), dataset.graph("train")
    config = changed(Config(), {"mine": {"keep": CHAINS}})
    chains = mine_rules(graph, config.mine, config.max_length, seed=seed, work=Work(1)).rules
    scorers = aggregations(graph, chains | mine_constants(graph, CONSTANTS, threads=1))
    seconds = {"cpu": time.process_time() - started}
    return {how: {s: mrr(scorer, dataset, s) for s in splits} | seconds for how, scorer in scorers.items()}


def fitted(dataset: Dataset, seed: int, splits: tuple[str, ...], run: Path) -> dict[str, Any]:
    """Figures of the default fit."""
    started = time.process_time()
    model = RNNLogic(seed=seed, threads=1).fit(dataset, run=run, verbose=False)
    seconds = time.process_time() - started
    figures: dict[str, Any] = {split: mrr(model.scorer, dataset, split) for split in splits}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    chosen = [line["chosen"] for line in lines if line.get("stage") == "choice"]
    figures |= {"cpu": seconds, "rules": len(model.learned.rules)}
    full = full_model(Run.open(run))
    figures["full"] = {split: mrr(full.predictor, dataset, split) for split in splits}
    figures["full"]["rules"] = len(full.rules)
    return figures | {"chosen": chosen[-1] if chosen else ""}


def line(name: str, facts: str, figures: list[str]) -> str:
    """One aligned line of the table."""
    return f"{name:<10} {facts:>14} " + " ".join(f"{figure:>18}" for figure in figures)


def main() -> None:
    """Print the table, a line for each graph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*GRAPHS, []], help="all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--test", action="store_true", help="ask test facts, too")
    parser.add_argument("--runs", type=Path, help="keep the run folders here")
    parser.add_argument("--write", type=Path, help="only write the graphs into this folder")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    splits = ("valid", "test") if given.test else ("valid",)
    can_do = [name for name in GRAPHS if name != "countries" or importlib.util.find_spec("countryinfo")]
    rows, ways = [], ("ours", "max-plus", "noisy-or")
    print(line("graph", "facts", [f"{way}, {what}" for way in ways for what in ("MRR", "CPU s")]))
    for name in given.names or can_do:
        dataset = GRAPHS[name](given.seed)
        if given.write:
            print(save_dataset(dataset, given.write / name, force=True))
            continue
        with tempfile.TemporaryDirectory() as spare:
            run = (given.runs or Path(spare)) / name
            row: dict[str, Any] = {"ours": fitted(dataset, given.seed, splits, run)}
        row |= aggregated(dataset, given.seed, splits)
        facts = "/".join(str(len(dataset.facts(split))) for split in ("train", "valid", "test"))
        told = ([" ".join(f"{row[w][s]:.3f}" for s in splits), f"{row[w]['cpu']:.0f}"] for w in ways)
        print(line(name, facts, [figure for pair in told for figure in pair]), flush=True)
        ours, full = row["ours"], row["ours"]["full"]
        figures = " ".join(f"{full[split]:.3f}" for split in splits)
        print(f"{'':<10} {ours['rules']:,} rules; all {full['rules']:,} before compaction: {figures}")
        print(f"{'':<10} chosen: {ours['chosen']}", flush=True)
        rows.append({"graph": name, "facts": facts, "seed": given.seed} | row)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
