"""Labels for a run that is there already: names to show, for entities and relations."""

from __future__ import annotations

from pathlib import Path

from rnnlogic.base.lock import exclusive
from rnnlogic.data.labels import Labels, Relabelled, Templated, Templates, relabelled, templated
from rnnlogic.runs.dataset import write_vocabulary
from rnnlogic.runs.files import write_file
from rnnlogic.runs.finished import RULES, is_finished, read_weighted_rules, rules_text
from rnnlogic.runs.folder import Run


def label_run(folder: str | Path, labels: Labels) -> Relabelled:
    """Keep labels in a run folder; they go before those that it has, and change no result."""
    Run.open(folder)  # before the lock, which makes a folder that is missing
    with exclusive(folder):
        return _label(Run.open(folder), labels)


def template_run(folder: str | Path, templates: Templates) -> Templated:
    """Keep templates in a run folder; they go before those that it has, and change no result."""
    Run.open(folder)
    with exclusive(folder):
        run = Run.open(folder)
        dataset = run.dataset()
        found = templated(dataset.vocab, templates)
        write_vocabulary(run.folder, dataset.with_vocab(found.vocab))
        return found


def _label(run: Run, labels: Labels) -> Relabelled:
    place, dataset = run.folder, run.dataset()
    found = relabelled(dataset.vocab, labels)
    dataset = dataset.with_vocab(found.vocab)
    write_vocabulary(place, dataset)
    if is_finished(place):
        rules = read_weighted_rules(place, run.config(), dataset.vocab)
        write_file(place / RULES, rules_text(rules, dataset))
    return found
