"""Networks: nodes and edges with attributes. An edge is a fact, an attribute of it names the relation.

They come from networkx (known by its attributes), from GraphML and node-link JSON, and from the stores of
tools that have graphs extracted from texts: LightRAG keeps keywords, GraphRAG a description, no relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from rnnlogic.base.errors import DataError
from rnnlogic.data.columns import RELATION_WORDS, extras_of, note_unused
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.raw import Extra, RawFacts, Rows

NODE_LABELS = ("label", "name")  # node attributes that hold what people see
NODE_TYPE = "entity_type"  # LightRAG's node attribute; facts about it are worth having
TYPE_RELATION = "type"
KEYWORDS = "keywords"  # LightRAG's edge attribute: several words or phrases
KEYWORD_MARKS = ("<SEP>", ",", "，", ";")
UNNAMED = "related to"  # where an edge has a description, but no relation
Attributes = Mapping[str, Any]


class Edge(NamedTuple):
    """An edge; its key tells parallel edges apart."""

    head: Any
    tail: Any
    key: Any
    attributes: Attributes


class Network(NamedTuple):
    """Nodes and edges with attributes."""

    kind: str  # for messages
    directed: bool
    nodes: Sequence[tuple[Any, Attributes]]
    edges: Sequence[Edge]


def is_network(data: Any) -> bool:
    """Whether this is a networkx graph."""
    return all(hasattr(data, name) for name in ("edges", "nodes", "is_directed", "is_multigraph"))


def of_networkx(graph: Any) -> Network:
    """The same network as a plain value."""
    if graph.is_multigraph():
        edges = [Edge(*edge) for edge in graph.edges(keys=True, data=True)]
    else:
        edges = [Edge(head, tail, None, data) for head, tail, data in graph.edges(data=True)]
    return Network("networkx graph", graph.is_directed(), list(graph.nodes(data=True)), edges)


def network_rows(network: Network, raw: RawFacts, options: ReadOptions) -> Rows:
    """Facts of a network; node attributes called `label` or `name` become labels, `entity_type` a fact."""
    tally = raw.tally
    tally.read_by("given" if options.columns else "named")
    if not network.directed:
        tally.note("the graph is undirected: every edge is read once, in the direction in which it is kept")
    for node, attributes in network.nodes:
        label = next((attributes[key] for key in NODE_LABELS if attributes.get(key)), None)
        if label is not None and str(label) != str(node):
            raw.entity_labels[str(node)] = " ".join(str(label).split())
    attribute = options.columns[1] if options.columns else _relation_attribute(network)
    header = list(dict.fromkeys(name for edge in network.edges for name in edge.attributes))
    extras = extras_of(header, options)
    note_unused(header, {extra.kind for extra in extras}, tally)
    if attribute == KEYWORDS and options.columns is None:
        tally.note("each of the keywords of an edge is read as a relation (LightRAG)")
    elif attribute is None:
        tally.note(f"edges have a description but no relation: each is read as {UNNAMED!r} (GraphRAG)")
    columns = [header[extra.column] for extra in extras]
    rows = chain(_edge_rows(network, attribute, columns), _type_rows(network, extras, raw))
    return Rows(rows, extras)


def _edge_rows(network: Network, attribute: str | None, columns: Sequence[str]) -> Iterator[list[Any]]:
    for number, (head, tail, key, attributes) in enumerate(network.edges):
        beside = [attributes.get(name) for name in columns]
        if attribute is None:
            yield [head, UNNAMED, tail, *beside]
            continue
        relation = attributes.get(attribute, key if attribute == "key" else None)
        if relation is None:
            raise DataError(
                f"{network.kind}, edge {number} ({head!r}, {tail!r}): no attribute {attribute!r}; "
                f"it has {', '.join(map(repr, attributes)) or 'none'}"
            )
        for one in _keywords(str(relation)) if attribute == KEYWORDS else [relation]:
            yield [head, one, tail, *beside]


def _type_rows(network: Network, extras: Sequence[Extra], raw: RawFacts) -> Iterator[list[Any]]:
    """The types of nodes: as sure as a weight can say, from the same source as the node."""
    types = 0
    for node, attributes in network.nodes:
        kind = attributes.get(NODE_TYPE)
        if kind:
            types += 1
            beside = [e.divisor if e.kind == "weight" else attributes.get(e.name) for e in extras]
            yield [node, TYPE_RELATION, kind, *beside]
    if types:
        raw.tally.note(f"{types:,} types of nodes ({NODE_TYPE}) are read as facts with the relation 'type'")


def _keywords(text: str) -> list[str]:
    for mark in KEYWORD_MARKS[1:]:
        text = text.replace(mark, KEYWORD_MARKS[0])
    return list(
        dict.fromkeys(" ".join(part.split()) for part in text.split(KEYWORD_MARKS[0]) if part.strip())
    )


def _relation_attribute(network: Network) -> str | None:
    """The attribute of the first edge that names its relation; a text key of parallel edges does too."""
    first = network.edges[0] if network.edges else Edge(None, None, None, {"relation": ""})
    words = {str(name).lower(): str(name) for name in first.attributes}
    for word in (*RELATION_WORDS, "relationship_name"):
        if word in words:
            return words[word]
    if isinstance(first.key, str):
        return "key"
    for word in (KEYWORDS, "name"):  # LightRAG's, Graphiti's
        if word in words:
            return words[word]
    if "description" in words:
        return None
    raise DataError(
        f"{network.kind}: no edge attribute names the relation "
        f"(found {', '.join(map(repr, first.attributes)) or 'none'}). "
        'Set one: networkx.set_edge_attributes(graph, "knows", "relation"); or choose one: '
        '--columns source,ATTRIBUTE,target (columns=("source", ATTRIBUTE, "target") in Python)'
    )
