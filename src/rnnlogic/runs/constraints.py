"""The constraints of a model: found in the known facts, or stated by its settings or the graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rnnlogic.constraints.constraint import Constraint
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.constraints.shapes import lines_of_graph
from rnnlogic.constraints.stated import Line, known_lines, lines_of, read_lines, stated
from rnnlogic.data.dataset import Dataset, Evidence
from rnnlogic.data.graph import Graph
from rnnlogic.data.types import EntityTypes
from rnnlogic.data.vocab import Vocab

StatedSource = str | Path | Sequence[str]  # a file, or lines such as "functional: section"

__all__ = ["FoundConstraints", "StatedSource", "stated_texts"]


def stated_texts(source: StatedSource, vocab: Vocab) -> tuple[str, ...]:
    """What a file or lines state of this graph, as settings keep it; an error names file and line."""
    lines = read_lines(source) if isinstance(source, str | Path) else lines_of(source, "constraints")
    known = known_lines(lines, vocab)
    stated(known, vocab)
    return tuple(line.text() for line in known)


class FoundConstraints:
    """Finds the constraints of a dataset once for each kind of evidence, and applies them to known facts."""

    def __init__(self, texts: Sequence[str] = (), is_moved: bool = False) -> None:
        self.texts = tuple(texts)
        self._is_moved = is_moved  # to another graph, which may lack what they name
        self._found: dict[
            tuple[int, str, str | None], tuple[Graph, Sequence[Constraint], EntityTypes | None]
        ] = {}
        self._last: dict[tuple[str, str | None], Constraints] = {}

    def on(self, dataset: Dataset, evidence: Evidence, graph: Graph, types: str | None) -> Constraints:
        """Constraints found on the facts of the dataset, as they apply beside the known facts `graph`."""
        base, vocab = dataset.graph(evidence), dataset.vocab
        key = (id(base), evidence, types)
        if key not in self._found:
            found = Constraints.of(base, vocab, stated(self._lines(base, vocab), vocab), types)
            self._found[key] = base, found.every, found.types
        last = self._last.get((evidence, types))
        if last is None or last.graph is not graph or last.vocab is not vocab:
            _, every, kinds = self._found[key]
            last = self._last[evidence, types] = Constraints(graph, vocab, every, kinds)
        return last

    def _lines(self, graph: Graph, vocab: Vocab) -> list[Line]:
        own = [line._replace(is_axiom=self._is_moved) for line in lines_of(self.texts)]
        return known_lines([*own, *lines_of_graph(graph, vocab)], vocab)
