"""networkx graphs (known by their attributes): an edge is a fact, an attribute of it names the relation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import RELATION_WORDS, ReadOptions
from rnnlogic.data.raw import RawFacts

NODE_LABELS = ("label", "name")  # node attributes that hold what people see
Edge = tuple[Any, Any, Any, dict[str, Any]]  # head, tail, key (None without parallel edges), attributes


def is_network(data: Any) -> bool:
    """Whether this is a networkx graph."""
    return all(hasattr(data, name) for name in ("edges", "nodes", "is_directed", "is_multigraph"))


def network_rows(graph: Any, raw: RawFacts, options: ReadOptions) -> Iterator[tuple[Any, Any, Any]]:
    """Facts of a graph; node attributes called `label` or `name` become labels."""
    raw.tally.read_by("given" if options.columns else "named")
    if not graph.is_directed():
        raw.tally.note("the graph is undirected: every edge is read once, in the direction networkx gives it")
    for node, attributes in graph.nodes(data=True):
        label = next((attributes[key] for key in NODE_LABELS if attributes.get(key)), None)
        if label is not None and str(label) != str(node):
            raw.entity_labels[str(node)] = " ".join(str(label).split())
    edges = _edges(graph)
    attribute = options.columns[1] if options.columns else _relation_attribute(edges)
    for number, (head, tail, key, attributes) in enumerate(edges):
        relation = attributes.get(attribute, key if attribute == "key" else None)
        if relation is None:
            raise DataError(
                f"networkx graph, edge {number} ({head!r}, {tail!r}): no attribute {attribute!r}; "
                f"it has {', '.join(map(repr, attributes)) or 'none'}"
            )
        yield head, relation, tail


def _edges(graph: Any) -> list[Edge]:
    if graph.is_multigraph():
        return [(head, tail, key, data) for head, tail, key, data in graph.edges(keys=True, data=True)]
    return [(head, tail, None, data) for head, tail, data in graph.edges(data=True)]


def _relation_attribute(edges: list[Edge]) -> str:
    """The attribute of the first edge that names its relation; a text key of parallel edges does too."""
    _, _, key, attributes = edges[0] if edges else (None, None, None, {"relation": ""})
    words = {str(name).lower(): name for name in attributes}
    for word in RELATION_WORDS:
        if word in words:
            return str(words[word])
    if isinstance(key, str):
        return "key"
    raise DataError(
        "networkx graph: no edge attribute names the relation "
        f"(found {', '.join(map(repr, attributes)) or 'none'}). "
        'Set one: networkx.set_edge_attributes(graph, "knows", "relation"); or choose one: '
        'columns=("source", ATTRIBUTE, "target")'
    )
