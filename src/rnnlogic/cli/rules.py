"""`rnnlogic rules`: the learned rules, readable."""

from __future__ import annotations

from typing import Annotated

import typer

from rnnlogic.cli.options import AsJson, RunFolder
from rnnlogic.cli.output import print_json, print_table

HEADERS = ["weight", "prior", "support", "confidence", "rule"]


def rules(
    run: RunFolder,
    relation: Annotated[
        str | None, typer.Option(help="Only rules for this relation; NAME^-1 for its inverse.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only the heaviest of each relation.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Show rules by relation, heaviest first.

    Prior: probability under the generator. Support: training queries that a rule answers. Confidence:
    support / (support + wrong), where wrong counts results for training queries that are no known answer.
    """
    from rnnlogic.model import RNNLogic

    found = RNNLogic.load(run).rules(relation, top)
    if as_json:
        print_json([rule.as_dict() for rule in found])
    elif not found:
        typer.echo(f"there are no rules for {relation or 'any relation'}")
    else:
        rows = [[r.weight, r.prior, r.support, r.confidence, r.text] for r in found]
        print_table(HEADERS, rows)
