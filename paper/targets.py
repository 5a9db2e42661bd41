"""The targets: the paper's tables and figures, and the work behind each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from paper.experiment import EMBEDDINGS, Bench
from paper.published import Side
from paper.work import Work, named_works
from rnnlogic.base.errors import UnknownNameError

SMALL = ("kinship", "umls")
VARIANTS = ("rotate", "ours", "emb", "plus", "plus-emb")
ABLATION = "alone"  # prefix of the ablation's settings
SCRATCH = "scratch"  # prefix of the settings that train without mined rules
OPTIMISERS = {
    "ours": "EM",
    "reinforce": "REINFORCE",
    SCRATCH: "EM, from scratch",
    f"{SCRATCH}-reinforce": "REINFORCE, from scratch",
}


class Target(NamedTuple):
    """A table or figure."""

    title: str
    datasets: tuple[str, ...]
    side: Side | None = None  # set for a table of all methods: the queries that it counts
    about: str = ""  # the text below the title


class Points(NamedTuple):
    """The points of a figure: some settings with different values of one key."""

    settings: tuple[str, ...]
    key: str
    values: tuple[int, ...]
    small_values: tuple[int, ...]
    label: str
    is_log: bool


TARGETS = {
    "table1": Target("Table 1: FB15k-237 and WN18RR", ("fb15k-237", "wn18rr"), "both"),
    "table2": Target("Table 2: FB15k-237 and WN18RR, tail side only", ("fb15k-237", "wn18rr"), "tail"),
    "table3": Target("Table 3: Kinship and UMLS", SMALL, "both"),
    "table4": Target(
        "Table 4: REINFORCE against EM",
        SMALL,
        about="RNNLogic w/o emb. Both start from a generator that was pre-trained on mined rules, replay"
        " these rules in every round, and end with at least a thousand rules per relation. From scratch: no"
        " mined rules, an untrained generator, 500 rules per relation.",
    ),
    "rules": Target(
        "Figure: number of rules per relation",
        SMALL,
        about="The same predictor w/o emb. on the best rules by the miner's quality and by the generator's"
        " prior, before and after EM; and the full model, compacted to so many rules per relation and"
        " direction.",
    ),
    "facts": Target(
        "Figure: share of training facts",
        SMALL,
        about="A random share of the training facts; those left out are still filtered in ranking.",
    ),
    "dimension": Target(
        "Figure: embedding dimension",
        ("kinship",),
        about="RNNLogic with emb. takes the rules of the run w/o emb. and learns their weights for each"
        " embedding.",
    ),
    "case": Target(
        "Case study: which rules explain right answers",
        ("fb15k-237", "umls"),
        about="RNNLogic w/o emb., compact model, seed 0. Of the 15 relations with the most test facts, these"
        " are the 5 with the most answers ranked first, among up to 40 test facts each. Shown are the"
        " heaviest rules that reach at least a tenth of the test answers: how many each reaches, how many of"
        " those are ranked first, and one example with its path in the training facts. Of Freebase's names"
        " only the last part is shown.",
    ),
    "ablation": Target(
        "Ablation: the parts of RNNLogic+",
        ("umls",),
        about="The network as in the paper, without our linear part, on the rules of the run w/o emb.",
    ),
}
SMALL_DATASETS = {"dimension": ("umls",), "facts": ("umls",), "case": ("umls",), "ablation": ("umls",)}
FIGURES = {
    "facts": Points(
        ("rotate", "ours"), "facts", (20, 40, 60, 80, 100), (20, 60, 100), "training facts, %", False
    ),
    "dimension": Points(
        ("rotate", "emb"),
        "dim",
        (50, 100, 200, 500, 1000, 2000),
        (50, 200),
        "embedding dimension (complex)",
        True,
    ),
}


def datasets_of(target: str, is_small: bool) -> tuple[str, ...]:
    """The datasets of a target; at the small size only Kinship and UMLS."""
    return SMALL_DATASETS.get(target, SMALL) if is_small else TARGETS[target].datasets


def point_setting(setting: str, key: str, value: int) -> str:
    """The setting of a point; with all facts, the setting itself."""
    return setting if (key, value) == ("facts", 100) else f"{setting}@{key}={value}"


def point_values(figure: Points, is_small: bool) -> tuple[int, ...]:
    """The x values of a figure."""
    return figure.small_values if is_small else figure.values


def table_works(target: str, bench: Bench, seeds: int | None) -> Iterator[Work]:
    """Our four variants, our embeddings, and the baselines that the experiment file names; all seeds."""
    for dataset in datasets_of(target, bench.is_small):
        experiment = bench.experiment(dataset)
        for setting in (*VARIANTS, *EMBEDDINGS, *experiment.baselines):
            yield from named_works(f"{dataset}/{setting}", bench, seeds)


def optimiser_works(target: str, bench: Bench, seeds: int | None) -> Iterator[Work]:
    """EM and REINFORCE, with and without mined rules."""
    for dataset in datasets_of(target, bench.is_small):
        for setting in OPTIMISERS:
            yield from named_works(f"{dataset}/{setting}", bench, seeds)


def figure_works(target: str, bench: Bench, seeds: int | None) -> Iterator[Work]:
    """Every point of a figure, seed 0."""
    del seeds
    figure = FIGURES[target]
    for dataset in datasets_of(target, bench.is_small):
        for setting in figure.settings:
            for value in point_values(figure, bench.is_small):
                yield Work(dataset, point_setting(setting, figure.key, value))


def study_works(target: str, bench: Bench, seeds: int | None) -> Iterator[Work]:
    """A study of the run of seed 0."""
    del seeds
    for dataset in datasets_of(target, bench.is_small):
        yield Work(dataset, "ours", 0, target)


def ablation_works(target: str, bench: Bench, seeds: int | None) -> Iterator[Work]:
    """RNNLogic+ without its linear part, with one thing changed at a time."""
    del seeds
    for dataset in datasets_of(target, bench.is_small):
        for setting in bench.experiment(dataset).settings:
            if setting.startswith(ABLATION):
                yield Work(dataset, setting)


WORKS: dict[str, Callable[[str, Bench, int | None], Iterator[Work]]] = {
    "table1": table_works,
    "table2": table_works,
    "table3": table_works,
    "table4": optimiser_works,
    "facts": figure_works,
    "dimension": figure_works,
    "rules": study_works,
    "case": study_works,
    "ablation": ablation_works,
}


def works_of(targets: list[str], bench: Bench, seeds: int | None) -> list[Work]:
    """The work of some targets (of all if none is named), each once, without what it needs.

    A target is the name of a table or figure, or a row `DATASET/SETTING` such as `umls/plus-emb`.
    """
    works: list[Work] = []
    for target in targets or list(TARGETS):
        if "/" in target:
            works += named_works(target, bench, seeds)
        elif target in TARGETS:
            works += WORKS[target](target, bench, seeds)
        else:
            raise UnknownNameError("target", target, TARGETS)
    return list(dict.fromkeys(works))
