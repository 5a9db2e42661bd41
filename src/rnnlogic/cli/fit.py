"""`rnnlogic fit`: learn rules and weights in a run folder; an interrupted fit resumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import reuse_memory
from rnnlogic.base.progress import StageProgress
from rnnlogic.base.text import whole_number
from rnnlogic.cli.folder import print_redone
from rnnlogic.cli.options import (
    AsJson,
    BanOption,
    ConstraintsOption,
    DataArgument,
    OnlyOption,
    Reading,
    Running,
    SetOption,
    TemplatesOption,
    ThreadsOption,
    given,
    grouped,
    load_named,
    print_notes,
)
from rnnlogic.cli.output import echo, print_json, print_note, print_pairs, print_table
from rnnlogic.cli.safety import exit_code

if TYPE_CHECKING:
    from rnnlogic.config import Config
    from rnnlogic.data.dataset import Dataset
    from rnnlogic.fit.given import GivenRules
    from rnnlogic.model import RNNLogic
    from rnnlogic.runs.folder import Run

EXAMPLES = 10  # held-out facts that are looked at for one to suggest; the first is often no good one


@dataclass(frozen=True)
class Chosen:
    """The settings of a fit."""

    config: Annotated[
        Path | None, typer.Option(help="YAML file of all settings. Default: the same for every graph.")
    ] = None
    changes: SetOption = None
    variant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="rnnlogic (default), rnnlogic-emb, plus or plus-emb; see docs."),
    ] = None
    constraints: ConstraintsOption = None
    compact: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|off", help="At most NUMBER rules per relation and direction; off: the full model."
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.", min=0)] = None
    threads: ThreadsOption = None


@dataclass(frozen=True)
class Given:
    """What a fit is given besides the data."""

    embeddings: Annotated[
        list[Path] | None,
        typer.Option(metavar="EMB", help="Folder of `rnnlogic embed`; repeatable. Default: trained first."),
    ] = None
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|RUN", help="Rule file or run whose rules are always used (plus: only these)."
        ),
    ] = None
    no_generate: Annotated[
        bool, typer.Option("--no-generate", help="Generate no other rules: only learn weights.")
    ] = False
    pin: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Always use this rule; repeatable.")
    ] = None
    ban: BanOption = None
    only: OnlyOption = None
    review: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Learn from decisions too: accepted facts, rejected ones as false."
        ),
    ] = None
    templates: TemplatesOption = None


@dataclass(frozen=True)
class Target:
    """The run folder that a fit writes, and what becomes of what it holds."""

    output: Annotated[Path, typer.Option("--output", "-o", metavar="RUN", help="Run folder to write.")]
    restart: Annotated[bool, typer.Option("--restart", help="Delete what RUN holds; start again.")] = False
    redo_damaged: Annotated[
        bool, typer.Option("--redo-damaged", help="Do finished stages again whose files are damaged.")
    ] = False


@grouped
def fit(
    name: DataArgument,
    target: Target,
    chosen: Chosen,
    given: Given,
    reading: Reading,
    running: Running,
    as_json: AsJson = False,
) -> None:
    """Learn rules from a knowledge graph. With the variants plus and plus-emb, a network on top of them.

    Run the same command again to resume a fit that was stopped.
    """
    from rnnlogic.base.clusters import on_cluster

    reuse_memory()  # before libraries start threads of their own
    budget, output = Budget.of_minutes(running.max_minutes), target.output
    dataset = load_named(name, reading, templates=given.templates)
    print_notes(dataset, err=True)
    dataset = dataset if given.review is None else _reviewed(dataset, given.review)
    _print_untrained(dataset)
    settings = _edited(_settings(dataset, chosen), given)
    if chosen.constraints is not None:
        settings = _constrained(settings, chosen.constraints, dataset)
    rules = None if given.rules is None else _given(given.rules, dataset, settings)
    if target.redo_damaged:
        print_redone(output)
    with stoppable("run the same command again to resume"), on_cluster(running.cluster):
        learning = partial(fit_run, dataset, settings, target, budget)
        model, was_finished = learning(given.embeddings, rules, False if given.no_generate else None)
    summary = _summary(model, output)
    if as_json:
        print_json(summary | {"was_finished": was_finished})
    else:
        _print_summary(model, summary, was_finished)


def fit_run(
    dataset: Dataset,
    config: Config,
    target: Target,
    budget: Budget = UNLIMITED,
    embeddings: list[Path] | None = None,
    rules: GivenRules | None = None,
    generate: bool | None = None,
) -> tuple[RNNLogic, bool]:
    """Fit and evaluate the validation set, with progress; also return whether the run was finished before."""
    from rnnlogic.model import RNNLogic
    from rnnlogic.runs.folder import Run

    folder, restart = target.output, target.restart
    was_finished = not restart and Run.exists(folder) and Run.open(folder).finished
    if Run.exists(folder) and not was_finished and not restart:
        echo(f"resuming the fit in {folder}", err=True)
    model = RNNLogic(config)
    with StageProgress() as progress:
        minutes = budget.share(0.93).minutes  # the rest is for the validation set
        model.fit(dataset, folder, progress, minutes, restart, embeddings, rules, generate)
        _measure(model, Run.open(folder), progress, budget)
    return model, was_finished


@contextmanager
def stoppable(message: str) -> Iterator[None]:
    """Ctrl-C, SIGTERM or SIGHUP inside the block print a message and exit."""
    try:
        yield
    except KeyboardInterrupt as stop:
        echo(f"stopped; {message}", err=True)
        raise typer.Exit(exit_code(stop)) from None


def _settings(dataset: Dataset, chosen: Chosen) -> Config:
    from rnnlogic.config import override, preset_for, read_config

    direct, file = {"variant": chosen.variant, "seed": chosen.seed, "threads": chosen.threads}, chosen.config
    wanted = [*(chosen.changes or []), *_compact_settings(chosen.compact)]
    wanted += given(direct)
    if file is not None:
        return override(read_config(file), wanted)
    return preset_for(dataset, chosen.variant or "rnnlogic", lambda own: override(own, wanted))


def _compact_settings(text: str | None) -> list[str]:
    """What `--compact` changes."""
    if text is None:
        return []
    if text == "off":
        return ["compact.enabled=false"]
    if not whole_number(text):
        raise RNNLogicError(f"--compact {text[:20]}: expected a number of rules from 1 on, or off")
    return ["compact.enabled=true", f"compact.rules={whole_number(text)}"]


def _print_untrained(dataset: Dataset) -> None:
    """Say which relations have no training facts."""
    named = dataset.without_training_facts()
    if named:
        shown = ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
        print_note(f"nothing is learned for {len(named):,} relation(s) without training facts: {shown}")
    if not len(dataset.valid):
        print_note(
            "there are no validation facts, so regularisation is the default one and all rules are kept;"
            " `rnnlogic data split` sets some facts aside"
        )


def _reviewed(dataset: Dataset, file: Path) -> Dataset:
    """The data with what people decided; prints what that changes."""
    from rnnlogic.review.judged import reviewed
    from rnnlogic.review.log import read_decisions

    learned, notes = reviewed(dataset, read_decisions(file), str(file))
    for note in notes:
        print_note(note)
    return learned


def _edited(config: Config, given: Given) -> Config:
    from rnnlogic.config import changed

    more = {"pinned": given.pin, "banned": given.ban, "only": given.only}
    return changed(config, {name: (*getattr(config, name), *(texts or [])) for name, texts in more.items()})


def _constrained(config: Config, file: Path, dataset: Dataset) -> Config:
    """The settings with the constraints that a file states."""
    from rnnlogic.config import changed
    from rnnlogic.runs.constraints import stated_texts

    texts = stated_texts(file, dataset.vocab)
    return changed(config, {"constraints": {"stated": (*config.constraints.stated, *texts)}})


def _given(source: Path, dataset: Dataset, config: Config) -> GivenRules:
    """Rules of a file or a run; prints what was dropped, and how many are banned."""
    from rnnlogic.rules.patterns import Banned
    from rnnlogic.runs.given import read_given

    given = read_given(source, dataset.vocab)
    banned = int(Banned.from_text(config.banned, dataset.vocab, only=config.only).mask(given.rules).sum())
    for note in (*given.notes, *[f"{source}: {banned:,} rules are banned and left out"] * (banned > 0)):
        print_note(note)
    return given


def _measure(model: RNNLogic, run: Run, progress: StageProgress, budget: Budget) -> None:
    """Evaluate the validation set, unless it is empty or was evaluated before, and keep the report."""
    if run.report("valid") is None and len(model.dataset.valid):
        stage = "evaluate valid"
        report = model.evaluate("valid", progress=partial(progress, stage), max_minutes=budget.minutes)
        run.save_report("valid", report.as_dict())


def _summary(model: RNNLogic, folder: Path) -> dict[str, Any]:
    from rnnlogic.runs.folder import Run

    run = Run.open(folder)
    report = run.report("valid")
    return {
        "run": str(folder),
        "dataset": model.dataset.name,
        "rules": len(model.learned.rules),
        "minutes": run.about()["minutes"],
        "left_out": dict(model.left_out),
        "frontier": _frontier(run),
        "valid": None if report is None else report["both"]["expected"],
    }


def _frontier(run: Run) -> list[list[Any]]:
    """The frontier that the compact model was chosen from; empty for a full model."""
    from rnnlogic.runs.folder import frontier_rows

    arrays = run.frontier()
    return [] if arrays is None else frontier_rows(arrays)


def _print_summary(model: RNNLogic, summary: dict[str, Any], was_finished: bool) -> None:
    folder = summary["run"]
    if was_finished:
        echo(f"{folder} is already finished; nothing was changed (use --restart to fit again)")
    metrics = summary["valid"] or {}
    pairs = [(key, summary[key]) for key in ("run", "dataset", "rules", "minutes")]
    print_pairs([*pairs, *((f"valid {name}", value) for name, value in metrics.items())])
    if summary["left_out"]:
        echo("\nSkipped because of the time limit")
        print_pairs(list(summary["left_out"].items()))
    if summary["frontier"]:
        from rnnlogic.runs.folder import HEADERS

        echo("\nFewer rules: the smallest model within the tolerance on validation facts is kept")
        print_table(list(HEADERS), summary["frontier"])
    head, relation, tail = map(quote, _example(model))
    echo("\nNext steps")
    echo(f"  rnnlogic evaluate {folder}")
    echo(f"  rnnlogic rules {folder} --most 3")
    echo(f"  rnnlogic predict {folder} --head {head} --relation {relation}")
    echo(f"  rnnlogic explain {folder} --head {head} --relation {relation} --tail {tail}")
    echo(f"  rnnlogic complete {folder} -o new_facts.tsv")


def _example(model: RNNLogic) -> tuple[str, str, str]:
    """Names of a fact that the model puts first, if possible one that was not used in training."""
    data = model.dataset
    facts = next(facts for facts in (data.test, data.valid, data.train) if len(facts))[:EXAMPLES].tolist()
    head, relation, tail = next((fact for fact in facts if _is_first(model, fact)), facts[0])
    return data.vocab.entities[head], data.vocab.relations[relation], data.vocab.entities[tail]


def _is_first(model: RNNLogic, fact: Sequence[int]) -> bool:
    """Whether no unknown answer has a higher score than that of a fact, by the other facts."""
    from rnnlogic.explain.question import Question, all_scores, rank_of

    question, graph = Question(*fact), model.dataset.graph("all")
    scores = all_scores(graph, model.scorer, question, is_hidden=True)
    return rank_of(scores, question.tail, graph.neighbours(question.head, question.relation)).mean == 1
