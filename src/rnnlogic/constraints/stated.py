"""Constraints that people state: lines such as `functional: section`, in YAML, TSV, settings or shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import yaml

from rnnlogic.base.errors import DataError, RNNLogicError, UnknownNameError, nearest_spellings
from rnnlogic.constraints.constraint import Constraint, Kind
from rnnlogic.data.graph import Graph
from rnnlogic.data.types import EntityTypes, subtype_relation
from rnnlogic.data.vocab import INVERSE, Vocab

DROP, RANGE = "drop", "range"
WORDS = (*get_args(Kind), RANGE, DROP)
UNSTATED = ("types",)  # found only: they say which types were seen
TSV = (".tsv", ".tab")
SHAPES = (".ttl", ".nt", ".rdf", ".owl", ".xml")


class Line(NamedTuple):
    """What is stated, as text: a kind, and the names after it."""

    kind: str
    names: tuple[str, ...]
    place: str = ""  # file and line or key, for messages
    is_axiom: bool = False  # of an ontology, which may say more than a graph uses

    def text(self) -> str:
        """As settings keep it."""
        return f"{self.kind}: " + "\t".join(self.names)


@dataclass(frozen=True)
class Stated:
    """Constraints that hold whatever the facts say, and found ones that do not."""

    constraints: tuple[Constraint, ...] = ()
    dropped: tuple[tuple[str, int, int], ...] = ()  # kind or "" for any, relation, the other one or -1

    def drops(self, found: Constraint) -> bool:
        """Whether a found constraint is not to be used."""
        own = {found.relation, found.other if found.kind in ("exclusive", "roles") else -1}
        return any(
            kind in ("", found.kind) and relation in own and other in (-1, *own)
            for kind, relation, other in self.dropped
        )


NOTHING_STATED = Stated()


def read_lines(path: str | Path) -> list[Line]:
    """What a file states: YAML, TSV, or a shapes file (SHACL, OWL). Names are looked up by `stated`."""
    path = Path(path)
    if path.suffix.lower() in SHAPES:
        from rnnlogic.constraints.shapes import read_shapes

        return read_shapes(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError("not UTF-8 text; save the file in that encoding", path, line) from None
    return _tsv(text, path) if path.suffix.lower() in TSV else _yaml(text, path)


def lines_of(texts: Iterable[str], place: str = "constraints.stated") -> list[Line]:
    """Lines of settings, such as `exclusive: brother sister`; names with spaces are parted by tabs."""
    found = []
    for text in texts:
        kind, colon, rest = text.partition(":")
        if not colon:
            raise DataError(
                f"{text!r} is no constraint; write KIND: NAME, such as functional: section", place
            )
        found.append(Line(kind.strip(), tuple(filter(None, map(str.strip, rest.split("\t")))), place))
    return found


def known_lines(lines: Iterable[Line], vocab: Vocab) -> list[Line]:
    """The lines without axioms about what the graph lacks; IRIs become local names where it has these."""
    kept = []
    for line in lines:
        named = line._replace(names=tuple(_as_known(name, vocab) for name in line.names))
        try:
            stated([named], vocab)
        except UnknownStatedError:
            if not line.is_axiom:
                raise
        else:
            kept.append(named)
    return kept


class UnknownStatedError(DataError):
    """A stated constraint names what the graph lacks."""


def stated(lines: Iterable[Line], vocab: Vocab) -> Stated:
    """Lines as constraints of a graph; an error names file and line, and the nearest names."""
    constraints, dropped = list[Constraint](), list[tuple[str, int, int]]()
    for line in lines:
        try:
            if line.kind == DROP:
                dropped.append(_dropped(line, vocab))
            else:
                constraints.append(_constraint(line.kind, line.names, vocab))
        except UnknownNameError as error:
            raise UnknownStatedError(str(error), line.place or None) from None
        except RNNLogicError as error:
            raise DataError(str(error), line.place or None) from None
    return Stated(tuple(dict.fromkeys(constraints)), tuple(dropped))


def _constraint(kind: str, names: tuple[str, ...], vocab: Vocab) -> Constraint:
    if kind not in WORDS or kind in UNSTATED:
        known = [word for word in WORDS if word not in UNSTATED]
        near = nearest_spellings(kind, known)
        hint = f"; did you mean {near[0]!r}?" if near else f"; choose one of {', '.join(known)}"
        raise RNNLogicError(f"unknown kind of constraint {kind!r}{hint}")
    size, find = vocab.num_relations, vocab.relation_id
    if kind == "functional":
        names, most = _number(names)
        (relation,) = _names(kind, names, (find,))
        return Constraint("functional", relation, most=most, origin="stated")
    if kind in ("irreflexive", "asymmetric"):
        (relation,) = _names(kind, names, (find,))
        return Constraint(kind, relation % size, origin="stated")  # type: ignore[arg-type]
    if kind == "roles":
        first, second = sorted(_names(kind, names, (find, find)))
        return Constraint("roles", first, second, origin="stated")
    if kind == "exclusive":
        first, second = _names(kind, names, (find, find))
        return _exclusive(first, second, vocab)
    relation, entity = _names(kind, names, (find, vocab.entity_id))
    return Constraint(
        "domain", relation if kind == "domain" else vocab.inverse(relation), entity, origin="stated"
    )


def _exclusive(first: int, second: int, vocab: Vocab) -> Constraint:
    """The pair as it is found: the smaller relation first, never an inverse."""
    size = vocab.num_relations
    if first == second:
        raise RNNLogicError(f"{vocab.relation_name(first)} cannot exclude itself; name two relations")
    if first >= size:
        first, second = vocab.inverse(first), vocab.inverse(second)
    if first == second % size:
        return Constraint("asymmetric", first, origin="stated")
    if second % size < first:
        first, second = second % size, first + (second - second % size)
    return Constraint("exclusive", first, second, origin="stated")


def _dropped(line: Line, vocab: Vocab) -> tuple[str, int, int]:
    """`drop: functional section`, or `drop: section` for all that is found of it."""
    names = line.names
    if len(names) == 1 and not _knows(vocab.relation_id, names[0]):
        names = tuple(names[0].split(None, 1))
    kind = ""
    if names and names[0] in get_args(Kind):
        kind, names = names[0], names[1:]
        if len(names) == 1:
            names = _split(names[0], (vocab.relation_id,) * 2) or names
    if not 1 <= len(names) <= 2:
        raise RNNLogicError("drop needs KIND and NAME, such as `drop: functional section`")
    ids = [vocab.relation_id(name) for name in names]
    if kind in ("irreflexive", "asymmetric"):
        ids = [one % vocab.num_relations for one in ids]
    if kind == "exclusive" and len(ids) == 2:
        made = _exclusive(ids[0], ids[1], vocab)
        return made.kind, made.relation, made.other
    return kind, ids[0], ids[1] if len(ids) == 2 else -1


def _as_known(name: str, vocab: Vocab) -> str:
    """The name, or what stands after the last # or / of an IRI, if only this is known."""
    base, suffix = (name[: -len(INVERSE)], INVERSE) if name.endswith(INVERSE) else (name, "")
    local = re.split("[#/]", base)[-1]
    known = {*vocab.relations, *vocab.relation_labels.values()}
    if base == local or base in known or vocab.has_entity(base):
        return name
    return local + suffix if local in known or vocab.has_entity(local) else name


Find = Callable[[str], int]


def _names(kind: str, names: tuple[str, ...], find: tuple[Find, ...]) -> list[int]:
    """The ids of as many names as a kind needs; a single text is parted at the space that makes sense."""
    if len(names) == 1 < len(find):
        names = _split(names[0], find) or tuple(names[0].split())
    if len(names) != len(find):
        wanted = "1 name" if len(find) == 1 else f"{len(find)} names"
        raise RNNLogicError(f"{kind} needs {wanted}, found {len(names)}: {' '.join(names)!r}")
    return [look_up(name) for look_up, name in zip(find, names, strict=True)]


def _split(text: str, find: tuple[Find, ...]) -> tuple[str, ...] | None:
    words = text.split()
    for place in range(1, len(words)):
        parts = " ".join(words[:place]), " ".join(words[place:])
        if all(_knows(look_up, part) for look_up, part in zip(find, parts, strict=True)):
            return parts
    return None


def _knows(find: Find, name: str) -> bool:
    try:
        find(name)
    except UnknownNameError:
        return False
    return True


def _number(names: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """The names, and the number of answers that may stand after them."""
    words = names if len(names) > 1 else tuple(names[0].rsplit(None, 1)) if names else ()
    if len(words) == 2 and words[1].isascii() and words[1].isdigit():
        if not 1 <= int(words[1]) < 1 << 31:
            raise RNNLogicError(f"functional allows 1 answer or more, not {words[1]}")
        return words[:1], int(words[1])
    return names, 1


def _tsv(text: str, path: Path) -> list[Line]:
    """Lines of kind<TAB>name<TAB>name; empty ones and those that begin with # are skipped."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if not line.strip() or line.startswith("#"):
            continue
        if len(fields) < 2 or not all(fields):
            raise DataError("expected kind<TAB>name, such as functional<TAB>section", path, number)
        found.append(Line(fields[0], tuple(fields[1:]), f"{path}:{number}"))
    return found


def _yaml(text: str, path: Path) -> list[Line]:
    """A mapping of kinds; values are a name, names, or lists of them. Keys may be repeated."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise DataError(f"not valid YAML: {problem}", path, mark and mark.line + 1) from None
    except RecursionError:
        raise DataError("not valid YAML: lists in lists without end", path) from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise DataError("expected lines such as `functional: section`", path, root.start_mark.line + 1)
    return [line for key, value in root.value for line in _entries(str(key.value), value, path)]


def _entries(kind: str, node: Any, path: Path) -> Iterator[Line]:
    """A name; a list of names or of lists of names; or a mapping from names to names or numbers."""
    number = node.start_mark.line + 1
    items = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            for line in _entries(kind, value, path):
                yield line._replace(names=(str(key.value), *line.names))
        return
    for item in items:
        parts = item.value if isinstance(item, yaml.SequenceNode) else [item]
        if not parts or not all(isinstance(part, yaml.ScalarNode) and part.value for part in parts):
            raise DataError(f"{kind}: expected the name of a relation", path, number)
        yield Line(kind, tuple(part.value for part in parts), f"{path}:{item.start_mark.line + 1}")


def figures_of(one: Constraint, graph: Graph, types: EntityTypes | None, vocab: Vocab) -> Constraint:
    """A stated constraint with the number of cases and exceptions among the facts."""
    heads, tails = graph.edges(one.relation)
    cases, exceptions = len(heads), 0
    if one.kind == "functional":
        degrees = np.bincount(heads, minlength=1)
        cases, exceptions = int(np.count_nonzero(degrees)), int(np.count_nonzero(degrees > one.most))
    elif one.kind == "irreflexive":
        exceptions = int(np.count_nonzero(heads == tails))
    elif one.kind in ("asymmetric", "exclusive"):
        other = graph.inverse(one.relation) if one.kind == "asymmetric" else one.other
        first, second = _keys(graph, one.relation), _keys(graph, other)
        exceptions = len(np.intersect1d(first, second, assume_unique=True))
        cases = len(first) if one.kind == "asymmetric" else len(first) + len(second) - exceptions
    elif one.kind == "roles":
        own, others = np.unique(heads), np.unique(graph.edges(one.other)[0])
        cases, exceptions = len(own), len(np.intersect1d(own, others, assume_unique=True))
    elif types is None:
        cases = 0
    else:
        own, right = np.unique(heads), np.zeros(graph.num_entities, bool)
        right[subtypes(one.other, graph, vocab)] = True
        typed = np.intersect1d(own, types.entity)
        fitting = np.intersect1d(own, types.entity[right[types.kind]])
        cases, exceptions = len(typed), len(typed) - len(fitting)
    return replace(one, cases=cases, exceptions=exceptions)


def subtypes(kind: int, graph: Graph, vocab: Vocab) -> list[int]:
    """A type and all types below it, where the graph says which are (rdfs:subClassOf, P279)."""
    relation = subtype_relation(vocab)
    found, waiting = {kind}, [kind]
    while relation is not None and waiting:
        below = graph.neighbours(waiting.pop(), graph.inverse(relation)).tolist()
        waiting += [one for one in below if one not in found]
        found.update(below)
    return sorted(found)


def _keys(graph: Graph, relation: int) -> Any:
    heads, tails = graph.edges(relation)
    different = heads != tails
    return heads[different].astype(np.int64) * graph.num_entities + tails[different]
