"""The concrete walks by which a rule body leads from one entity to another, and their exact number.

The search meets in the middle: reached entities grow from the head and from the tail, always on the side with
fewer edges to follow. What remains is a layered graph in which every edge lies on a complete walk, so walks
can be counted layer by layer and listed without dead ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.features.conditions import holds
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature, Rule

Fact = tuple[int, int, int]  # head, relation (0..2R-1), tail
Entities = NDArray[np.int32]  # different entities, ascending
INT64_LIMIT = 2**63


@dataclass(frozen=True)
class Path:
    """A walk: `relations[i]` leads from `entities[i]` to `entities[i + 1]`; a condition has no steps."""

    entities: tuple[int, ...]
    relations: tuple[int, ...]

    def text(self, vocab: Vocab, labels: bool = True) -> str:
        """The walk with names, such as `alice -friend-> bob <-likes- carol`."""
        names = [vocab.described(e) if labels else vocab.entities[e] for e in self.entities]
        if not self.relations:
            return " and ".join(names)
        steps = [
            _step_text(relation, vocab, labels, vocab.told_of(head, relation, tail))
            for head, relation, tail in zip(self.entities, self.relations, self.entities[1:], strict=False)
        ]
        return " ".join([names[0], *(f"{step} {name}" for step, name in zip(steps, names[1:], strict=True))])


@dataclass(frozen=True)
class PathList:
    """The first walks in the order of their entity ids, and how many there are in all."""

    total: int
    paths: tuple[Path, ...]


def paths(
    graph: Graph,
    head: int,
    rule: Rule | Sequence[int],
    tail: int,
    limit: int | None = 10,
    hidden: Fact | None = None,
) -> PathList:
    """Paths from head to tail along a rule's body.

    Which walks are paths is up to the graph (`path_kind`). Of a rule with constants these are the facts that
    make its body true, which counts as one path. A condition needs no facts: its only path is the entities
    that it is about.

    Args:
        graph: The facts to walk along.
        head: The id of the entity that a path begins at.
        rule: A rule, or the relations of a body.
        tail: The id of the entity that a path ends at.
        limit: How many paths to list; None means all.
        hidden: A fact by its ids that no path may use, in either direction.

    Returns:
        The first paths in the order of their entity ids, and how many there are in all.

    Examples:
        >>> data = load_dataset("umls")
        >>> rule = parse_rule("affects(X,Y) <- causes(X,Z) & affects(Z,Y)", data.vocab)
        >>> found = paths(data.graph("train"), head=0, rule=rule, tail=5)
    """
    count, found = _found(graph, head, rule, tail, limit, hidden)
    return PathList(count(), found)


def first_paths(
    graph: Graph, head: int, rule: Rule, tail: int, limit: int, hidden: Fact | None = None
) -> tuple[Path, ...]:
    """The first of `paths`, without counting the others."""
    return _found(graph, head, rule, tail, limit, hidden)[1]


def _found(
    graph: Graph, head: int, rule: Rule | Sequence[int], tail: int, limit: int | None, hidden: Fact | None
) -> tuple[Callable[[], int], tuple[Path, ...]]:
    """The first paths, and what counts them all."""
    if isinstance(rule, Constant):
        told = _facts_behind(graph, head, rule, tail, limit, hidden)
        return lambda: told.total, told.paths
    if isinstance(rule, Condition):
        ends = (head, tail) if rule.compares else (tail if rule.at_head else head,)
        there = (Path(ends, ()),) if holds(graph, rule, head, tail) else ()
        return lambda: len(there), there[:limit]
    body = _body_of(rule)
    layers = _walk_layers(graph, head, body, tail, hidden)
    is_simple = graph.path_kind == "simple"
    walks = (Path(entities, body) for entities in _walks(layers, is_simple))
    return partial(_count, layers, is_simple), tuple(islice(walks, limit))


def _body_of(rule: Chain | Feature | Sequence[int]) -> tuple[int, ...]:
    if isinstance(rule, Feature):
        raise TypeError(f"{rule} is a feature, which has no walks")
    return rule.body if isinstance(rule, Chain) else tuple(int(relation) for relation in rule)


def _facts_behind(
    graph: Graph, head: int, rule: Constant, tail: int, limit: int | None, hidden: Fact | None
) -> PathList:
    """Facts from the head to what the body of a rule with constants names, or from there to the tail."""
    constant, variable = (head, tail) if rule.at_head else (tail, head)
    if constant != rule.constant:
        return PathList(0, ())
    step = graph.inverse(rule.step) if rule.at_head else rule.step
    others = _edges_from(graph, np.array([variable], np.int32), step, hidden)[1].tolist()
    found = [other for other in others if rule.other in (NONE, other)]
    ends = ((other, variable) if rule.at_head else (variable, other) for other in found[:limit])
    return PathList(min(len(found), 1), tuple(Path(pair, (rule.step,)) for pair in ends))


def _step_text(relation: int, vocab: Vocab, labels: bool, told: str) -> str:
    is_inverse = relation >= vocab.num_relations
    base = vocab.inverse(relation) if is_inverse else relation
    name = (vocab.relation_label(base) if labels else vocab.relations[base]) + told
    return f"<-{name}-" if is_inverse else f"-{name}->"


class _Layer(NamedTuple):
    """Entities that walks pass at one step, and the edges to the next step (none in the last layer)."""

    entities: Entities  # [n]
    first_edge: NDArray[np.intp]  # [n+1] edges of entity i: first_edge[i]:first_edge[i+1]
    target: NDArray[np.intp]  # [edges] position in the next layer's entities


def _walk_layers(
    graph: Graph, head: int, body: tuple[int, ...], tail: int, hidden: Fact | None
) -> list[_Layer]:
    """One layer for each entity of a walk; all of them empty if there is no walk."""
    reached, meeting = _reach_from_both_ends(graph, head, body, tail, hidden)
    edges: dict[int, tuple[Entities, Entities]] = {}
    for i in [*range(meeting - 1, -1, -1), *range(meeting, len(body))]:
        sources, targets = _edges_from(graph, reached[i], body[i], hidden)
        places = np.searchsorted(reached[i + 1], targets)  # np.isin takes five times as long for few
        kept = np.append(reached[i + 1], -1)[places] == targets
        edges[i] = sources[kept], targets[kept]
        if i < meeting:
            reached[i] = np.unique(sources[kept])
        else:
            reached[i + 1] = np.unique(targets[kept])
    layers = [_layer(reached[i], *edges[i], reached[i + 1]) for i in range(len(body))]
    return [*layers, _layer(reached[-1], reached[-1][:0], reached[-1][:0], reached[-1])]


def _layer(entities: Entities, sources: Entities, targets: Entities, next_entities: Entities) -> _Layer:
    first_edge = np.append(np.searchsorted(sources, entities), len(sources))
    return _Layer(entities, first_edge, np.searchsorted(next_entities, targets))


def _reach_from_both_ends(
    graph: Graph, head: int, body: tuple[int, ...], tail: int, hidden: Fact | None
) -> tuple[list[Entities], int]:
    """Entities reached at each step from the head up to a meeting step, and from the tail down to it."""
    forward = [np.array([head], np.int32)]
    backward = [np.array([tail], np.int32)]
    while len(forward) + len(backward) < len(body) + 2:
        ahead = body[len(forward) - 1]
        back = graph.inverse(body[len(body) - len(backward)])
        if _degree(graph, forward[-1], ahead) <= _degree(graph, backward[-1], back):
            forward.append(np.unique(_edges_from(graph, forward[-1], ahead, hidden)[1]))
        else:
            backward.append(np.unique(_edges_from(graph, backward[-1], back, hidden)[1]))
    both = np.intersect1d(forward[-1], backward[-1], assume_unique=True)
    return [*forward[:-1], both, *backward[-2::-1]], len(forward) - 1


def _degree(graph: Graph, entities: Entities, relation: int) -> int:
    """Number of edges of a relation that leave these entities."""
    first, last = graph.edge_ranges(entities, relation)
    return int((last - first).sum())


def _edges_from(
    graph: Graph, entities: Entities, relation: int, hidden: Fact | None
) -> tuple[Entities, Entities]:
    """Sources and targets of all edges that leave these entities, sorted by source, then target."""
    which, targets = graph.tails_within(*graph.edge_ranges(entities, relation))
    sources = entities[which]
    for source, hidden_relation, target in _both_directions(graph, hidden):
        if relation == hidden_relation:
            kept = (sources != source) | (targets != target)
            sources, targets = sources[kept], targets[kept]
    return sources, targets


def _both_directions(graph: Graph, fact: Fact | None) -> list[Fact]:
    if fact is None:
        return []
    head, relation, tail = fact
    return [fact, (tail, graph.inverse(relation), head)]


def _count(layers: list[_Layer], is_simple: bool) -> int:
    """Number of walks, or of simple paths, through all layers.

    Over each edge go the simple paths that do not come from its end. As in the kernels, a path is simple if
    it comes back neither to X nor to one of its last two entities. Numbers are Python integers where 64 bits
    could overflow.
    """
    arrived: NDArray[Any] = np.ones(len(layers[0].entities), np.int64)
    before: dict[tuple[int, int], Any] = {}
    for layer, following in pairwise(layers):
        if not len(layer.target):
            return 0
        sources = np.repeat(np.arange(len(layer.entities)), np.diff(layer.first_edge))
        if int(arrived.max()) * len(sources) >= INT64_LIMIT:
            arrived = arrived.astype(object)
        over = arrived[sources]
        if is_simple:
            start, end = layer.entities[sources], following.entities[layer.target]
            edges = list(zip(start.tolist(), end.tolist(), strict=True))
            turning = np.array([before.get((b, a), 0) for a, b in edges], arrived.dtype)
            is_new = (end != start) & (end != layers[0].entities[0])
            over = np.where(is_new, over - turning, 0)
            before = dict(zip(edges, over.tolist(), strict=True))
        arrived = np.zeros(len(following.entities), arrived.dtype)
        np.add.at(arrived, layer.target, over)
    return int(arrived.sum())


def _walks(layers: list[_Layer], is_simple: bool) -> Iterator[tuple[int, ...]]:
    """The entities of every walk or simple path, depth first in the order of entity ids, generated lazily."""

    def onward(path: tuple[int, ...], position: int) -> Iterator[tuple[int, ...]]:
        if len(path) == len(layers):
            yield path
            return
        layer, following = layers[len(path) - 1 : len(path) + 1]
        for target in layer.target[layer.first_edge[position] : layer.first_edge[position + 1]]:
            entity = int(following.entities[target])
            if not is_simple or (entity != path[0] and entity not in path[-2:]):
                yield from onward((*path, entity), target)

    if len(layers[0].entities):
        yield from onward((int(layers[0].entities[0]),), 0)
