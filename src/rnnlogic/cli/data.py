"""`rnnlogic data`: list, inspect and split datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.cli.options import (
    NO_READING,
    AsJson,
    ConstraintsOption,
    IdsOption,
    Reading,
    TypesOption,
    grouped,
    load_named,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_pairs, print_table

if TYPE_CHECKING:
    from rnnlogic.constraints.constraints import Constraints
    from rnnlogic.data.dataset import Dataset

app = typer.Typer(
    help="List, inspect and split datasets.",
    epilog="Example: rnnlogic data list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SPLITS = ("train", "valid", "test")
Source = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="Dataset name, folder, file, - for standard input, or address of a SPARQL endpoint.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the random split.", min=0)]


@app.command("list", epilog="Example: rnnlogic data list --json")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that can be loaded by name."""
    rows = _known_rows()
    if as_json:
        print_json(rows)
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows])


def _known_rows() -> list[dict[str, Any]]:
    from rnnlogic.data.named import KNOWN, local_names

    local = local_names()
    rows: list[dict[str, Any]] = []
    for name, known in KNOWN.items():
        sizes = {key: getattr(known, key) for key in ("entities", "relations", *SPLITS)}
        rows.append({"name": name, **sizes, "where": str(local.pop(name, known.where)), "about": known.about})
    unknown = dict.fromkeys(("entities", "relations", *SPLITS))
    rows += [{"name": name, **unknown, "where": str(path), "about": ""} for name, path in local.items()]
    return rows


@app.command("info", epilog="Example: rnnlogic data info umls --json")
@grouped
def info(
    name: Source,
    as_json: AsJson = False,
    seed: Seed = 0,
    most: Annotated[int, typer.Option(help="How many of the largest relations to show.", min=0)] = 10,
    reading: Reading = NO_READING,
    ids: IdsOption = False,
) -> None:
    """Show the size of a dataset, what cleaning found, and its largest relations."""
    dataset = load_named(name, reading, seed=seed, ids=ids)
    if as_json:
        print_json(_summary(dataset) | {"cleaning": dataset.report.as_dict()})
        return
    print_pairs(list(_summary(dataset).items()))
    print_notes(dataset)
    if most:
        echo()
        print_table(
            ["relation", *SPLITS], _relation_rows(dataset, most), "Largest relations, facts in each split"
        )


def _summary(dataset: Dataset) -> dict[str, Any]:
    attributes = dataset.vocab.attributes
    return {
        "name": dataset.name,
        "source": dataset.source,
        "entities": dataset.vocab.num_entities,
        "relations": dataset.vocab.num_relations,
        **({"attributes": ", ".join(one.name for one in attributes)} if attributes else {}),
        **{split: len(dataset.facts(split)) for split in SPLITS},
    }


def _relation_rows(dataset: Dataset, most: int) -> list[list[Any]]:
    import numpy as np

    count = dataset.vocab.num_relations
    sizes = np.array([np.bincount(dataset.facts(split)[:, 1], minlength=count) for split in SPLITS])  # [3, R]
    largest = np.argsort(-sizes.sum(axis=0), kind="stable")[:most]
    return [[dataset.vocab.relation_label(int(r)), *sizes[:, r].tolist()] for r in largest]


@app.command("constraints", epilog="Example: rnnlogic data constraints umls --json")
@grouped
def constraints(
    name: Source,
    stated: ConstraintsOption = None,
    most: Annotated[int, typer.Option(help="How many of each kind to show; 0 for all.", min=0)] = 20,
    reading: Reading = NO_READING,
    ids: IdsOption = False,
    types: TypesOption = None,
    as_json: AsJson = False,
) -> None:
    """List what the facts show to be impossible, with exceptions: a second answer, a loop, a wrong type, ...

    A constraint without exceptions rules answers out. One with exceptions is only told. All facts are looked
    at, those of valid and test too.
    """
    from rnnlogic.runs.constraints import FoundConstraints, stated_texts

    dataset = load_named(name, reading, ids=ids)
    texts = () if stated is None else stated_texts(stated, dataset.vocab)
    found = FoundConstraints(texts).on(dataset, "all", dataset.graph("all"), types)
    if as_json:
        print_json([one.as_dict(dataset.vocab) for one in found])
        return
    _print_constraints(found, most)


def _print_constraints(found: Constraints, most: int) -> None:
    """Kinds in their order; of each those first that have no exceptions and rule out most."""
    from rnnlogic.constraints.constraint import KINDS

    for kind in KINDS:
        own = [one for one in found if one.kind == kind]
        own.sort(key=lambda one: (not one.is_hard, -one.expected))
        shown = own[:most] if most else own
        for one in shown:
            mark = "stated: " if one.origin == "stated" else ""
            echo(f"{kind:<13}{mark}{one.text(found.vocab)}{'' if one.is_hard else ' (excludes nothing)'}")
        if len(own) > len(shown):
            echo(f"{kind:<13}and {len(own) - len(shown):,} more: --most 0 shows all")
    if not len(found):
        echo("the facts show no constraints; --constraints FILE states some")


@app.command("split", epilog="Example: rnnlogic data split facts.tsv -o my-data --ratios 80/10/10 --seed 1")
@grouped
def split(
    name: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    ratios: Annotated[
        str, typer.Option(help="train/valid/test (default 80/10/10; 30/20/50 for umls and kinship).")
    ] = "",
    seed: Seed = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the dataset in a folder that is not empty.")
    ] = False,
    reading: Reading = NO_READING,
) -> None:
    """Split facts at random into train, valid and test files; train keeps every entity and relation."""
    from rnnlogic.data.cleaning import default_ratios, parse_ratios
    from rnnlogic.data.places import stem_of
    from rnnlogic.data.saving import save_dataset

    wanted = parse_ratios(ratios) if ratios else default_ratios(stem_of(Path(name)))
    dataset = load_named(name, reading, seed=seed, ratios=wanted)
    save_dataset(dataset, output, force=force)
    print_pairs([*_summary(dataset).items(), ("written to", output)])
    print_notes(dataset)
