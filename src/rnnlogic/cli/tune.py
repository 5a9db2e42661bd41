"""`rnnlogic tune`: search for good settings on validation facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rnnlogic.base.progress import StageProgress
from rnnlogic.cli.fit import stoppable
from rnnlogic.cli.options import AsJson, load_named, print_notes
from rnnlogic.cli.output import echo, print_json, print_table

SHOWN = 5  # trials that are printed


def tune(
    name: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset name, folder or file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")],
    minutes: Annotated[float, typer.Option(help="Minutes for all trials together.", min=0)] = 30.0,
    variants: Annotated[
        str, typer.Option(metavar="NAMES", help="Variants to try, such as rnnlogic,plus.")
    ] = "rnnlogic",
    seed: Annotated[int, typer.Option(help="Seed of everything random.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Search for good settings.

    Rule length, number of rules, feature and weight decay are varied, and the variant if asked.

    Trials are judged by validation facts; test facts are not looked at. Run the same command again to resume
    a search that was stopped. DIR/settings.yaml is for `rnnlogic fit --config`; DIR/report.md tells the rest.
    """
    from rnnlogic.fit.tune import REPORT, SETTINGS, tune

    dataset = load_named(name)
    print_notes(dataset, err=True)
    with stoppable("run the same command again to resume"), StageProgress() as progress:
        found = tune(dataset, output, minutes, variants.split(","), seed, progress)
    if as_json:
        about = {"settings": str(output / SETTINGS), "gain": found.gain, "minutes": found.minutes}
        print_json(about | {"importance": dict(found.importance), "trials": list(found.trials)})
        return
    best = found.trials[:SHOWN]
    print_table(
        list(best[0]), [list(trial.values()) for trial in best], f"Best of {len(found.trials)} trials"
    )
    if found.importance:
        print_table(["knob", "importance"], [[k, round(v, 2)] for k, v in found.importance.items()])
    echo(f"validation MRR {found.gain:+.4f} against the default settings; see {output / REPORT}")
    echo(f"\nNext step\n  rnnlogic fit {name} -o RUN --config {output / SETTINGS}")
