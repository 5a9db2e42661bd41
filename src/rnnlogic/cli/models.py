"""The model that a command works with: loaded from a run, on its own graph or another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlogic.base.errors import DataError
from rnnlogic.cli.options import Basis, ChangedBasis, load_named
from rnnlogic.cli.output import print_note

if TYPE_CHECKING:
    from rnnlogic.model import RNNLogic

PLAIN_BASIS = Basis()


def load_model(run: Path, basis: Basis = PLAIN_BASIS) -> RNNLogic:
    """The model of a run folder, moved to another graph if one is named; prints what does not fit."""
    from rnnlogic.model import RNNLogic

    model = RNNLogic.load(run)
    if model.preliminary:
        print_note(unfinished(model, run))
    for line in model.decisions.notes:
        print_note(line)
    if basis.graph is not None:
        known = [one.name for one in model.dataset.vocab.attributes]
        preliminary, model = model.preliminary, model.on(load_named(basis.graph, attributes=known))
        model.preliminary = preliminary
        notes = [] if model.transfer is None else model.transfer.lines()
        for line in [*model.dataset.report.lines(), *notes]:
            print_note(line)
    if isinstance(basis, ChangedBasis):
        model = model if basis.less is None else model.without_facts(facts_of_file(basis.less))
        model = model if basis.more is None else model.with_facts(facts_of_file(basis.more))
    model = model if basis.constraints is None else model.with_constraints(basis.constraints)
    return _showing(model, basis.labels, basis.ids)


def facts_of_file(path: Path) -> list[tuple[str, str, str]]:
    """The facts of a file of any kind that `fit` reads, by the names in it."""
    from rnnlogic.data.files import read_file
    from rnnlogic.data.options import ReadOptions

    if not path.is_file():
        raise DataError("no such file of facts", path)
    raw = read_file(path, ReadOptions())
    entities, relations = list(raw.entities), list(raw.relations)
    return [
        (entities[head], relations[relation], entities[tail])
        for facts in raw.splits.values()
        for head, relation, tail in facts.tolist()
    ]


def _showing(model: RNNLogic, labels: Path | None, ids: bool) -> RNNLogic:
    from rnnlogic.data.labels import relabelled

    vocab = model.dataset.vocab
    if labels is not None:
        found = relabelled(vocab, labels)
        vocab = found.vocab
        if found.note:
            print_note(found.note)
    return model.with_labels(vocab.with_ids() if ids else vocab)


def unfinished(model: RNNLogic, run: Path) -> str:
    """What a model of an unfinished fit is."""
    rules = len(model.learned.rules)
    return f"the fit in {run} is not finished: this is a preliminary model with {rules:,} rules"


def preliminary_mark(model: RNNLogic) -> dict[str, Any]:
    """What JSON says of a model whose fit is not finished; nothing if it is."""
    return {"preliminary": True} if model.preliminary else {}
