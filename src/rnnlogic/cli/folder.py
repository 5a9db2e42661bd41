"""`rnnlogic check`, `card` and `labels`: what a run folder holds, sums up to, and shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli.models import load_model
from rnnlogic.cli.options import AsJson, RunFolder, TemplatesOption
from rnnlogic.cli.output import echo, print_json, print_note, print_table, write_file

if TYPE_CHECKING:
    from rnnlogic.runs.check import Check


def check(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or an embedding.")],
    as_json: AsJson = False,
) -> None:
    """Verify the checksums of a run folder. The exit code is 1 if a file is damaged."""
    from rnnlogic.runs.check import check_folder

    found = check_folder(folder)
    if as_json:
        files = [{"file": file.name, "state": file.state.value, "bytes": file.bytes} for file in found.files]
        about = {"folder": str(folder), "whole": _is_whole(found), "missing": found.missing}
        print_json(about | {"seconds": found.seconds, "files": files})
    else:
        print_table(
            ("file", "bytes", ""), [(file.name, file.bytes, file.state.value) for file in found.files]
        )
        echo(_verdict(found))
    if not _is_whole(found):
        raise typer.Exit(1)


def print_redone(folder: Path) -> None:
    """Remove damaged stages of a fit, and say which are done again."""
    from rnnlogic.runs.check import drop_damaged

    if folder.is_dir():
        for name in drop_damaged(folder):
            print_note(f"{folder / name} is damaged and made again")


def _is_whole(found: Check) -> bool:
    return found.sealed and not found.problems


def _verdict(found: Check) -> str:
    if not found.sealed:
        return "there are no checksums here: it was made by an earlier version, or manifest.jsonl was removed"
    size = sum(file.bytes for file in found.files) / 1e6
    told = f"{len(found.files)} files, {size:.1f} MB, compared with their SHA-256 in {found.seconds:.2f} s"
    if not found.problems:
        return f"whole: {told}"
    first, *others = found.problems
    more = f" and {len(others)} more" if others else ""
    named = f"{first.name} is {first.state.value}{more}"
    return "; ".join([f"NOT whole: {named}, of {told}", *found.remedies()])


KINDS = (".md", ".html")


def card(
    run: RunFolder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .md or .html file; else Markdown is printed."),
    ] = None,
) -> None:
    """Sum up a run on one page.

    It shows data, settings, scores, how far probabilities are right, and the best rules.

    Scores are those that `fit` and `evaluate` have kept; nothing is computed anew.
    """
    from rnnlogic.render.card import run_card

    if output is not None and output.suffix.lower() not in KINDS:
        raise RNNLogicError(f"{output}: a card is a {' or '.join(KINDS)} file")
    made = run_card(load_model(run), run)
    if output is None:
        echo(made.markdown().removesuffix("\n"))
        return
    text = made.page() if output.suffix.lower() == ".html" else made.markdown()
    write_file(output, text)
    echo(f"card written to {output}")


def labels(
    run: RunFolder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Lines of name<TAB>label for entities and relations."),
    ] = None,
    templates: TemplatesOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a run labels to show, or templates to say facts by.

    Labels are names that stand for ids; templates say how a relation is put into words. They go before those
    that the run has, and nothing is learned again. Questions may use labels, and every command shows them;
    --ids shows the names of the data.
    """
    from rnnlogic.runs.fitted import label_run, template_run

    if file is None and templates is None:
        raise RNNLogicError("give a file of labels, or --templates")
    said = None if templates is None else template_run(run, templates)
    found = None if file is None else label_run(run, file)
    for note in (said and said.note, found and found.note):
        if note:
            print_note(note)
    entities, relations = (found.entities, found.relations) if found else (0, 0)
    number = said.relations if said else 0
    if as_json:
        numbers = {"entities": entities, "relations": relations, "templates": number}
        print_json({"run": str(run), **numbers})
        return
    if found:
        echo(f"{run}: {entities:,} entities and {relations:,} relations labelled")
    if said:
        echo(f"{run}: templates for {number:,} relations")
