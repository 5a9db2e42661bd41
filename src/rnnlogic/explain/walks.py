"""The walks that are shown for a rule: those without a detour first."""

from __future__ import annotations

from collections.abc import Iterator

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.ideas import Question
from rnnlogic.features.chains.paths import Fact, Path, first_paths
from rnnlogic.rules.rule import Feature, Rule


def shown_paths(
    graph: Graph, question: Question, rule: Rule, limit: int, hidden: Fact | None = None
) -> tuple[Path, ...]:
    """Up to `limit` walks of a rule, those that visit no entity twice first, then by entity ids."""
    if isinstance(rule, Feature):
        return tuple(_links(graph, question, rule.name))[:limit]
    found = first_paths(graph, question.head, rule, question.tail, limit, hidden)
    if any(comes_back(path) is not None for path in found):
        # Paths without a repeated entity are looked for among this many walks
        found = first_paths(graph, question.head, rule, question.tail, max(limit, 256), hidden)
    return tuple(sorted(found, key=lambda path: comes_back(path) is not None)[:limit])


def _links(graph: Graph, question: Question, name: str) -> Iterator[Path]:
    """The facts between head and tail that an exclusion is about; none for other features."""
    head, relation, tail = question
    for step in range(2 * graph.num_relations):
        if step == relation or not graph.has(head, step, tail):
            continue
        is_turned = step == graph.inverse(relation)
        if head == tail and is_turned:  # r(x,x) turned is the same fact
            continue
        kind = "reversed" if is_turned else "linked" if step < graph.num_relations else "linked_back"
        if kind == name:
            yield Path((head, tail), (step,))


def comes_back(path: Path) -> int | None:
    """The first entity that a walk visits a second time; a walk whose two ends are the same may end there."""
    seen: set[int] = set()
    for place, entity in enumerate(path.entities):
        is_end = place == len(path.entities) - 1 and entity == path.entities[0]
        if entity in seen and not (is_end and place > 0 and len(seen) == place):
            return entity
        seen.add(entity)
    return None


def facts_of(path: Path, vocab: Vocab) -> Iterator[Fact]:
    """The facts of a path as ids, each in the direction in which it is in the graph."""
    for source, relation, target in zip(path.entities, path.relations, path.entities[1:], strict=False):
        if relation >= vocab.num_relations:
            source, relation, target = target, vocab.inverse(relation), source
        yield source, relation, target


def named_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The facts of a path with names, each in the direction in which it is in the graph."""
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in facts_of(path, vocab)]


def labelled_facts(path: Path, vocab: Vocab) -> list[tuple[str, str, str]]:
    """The same with names for people."""
    entity, relation = vocab.entity_label, vocab.relation_label
    return [(entity(h), relation(r), entity(t)) for h, r, t in facts_of(path, vocab)]
