"""The picture of the graph around an entity: which facts it shows, and what is dashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from markupsafe import Markup

from rnnlogic.calibrate.level import shown
from rnnlogic.explain.sentences import listed
from rnnlogic.render.neighbourhood import Around, Links, neighbourhood
from rnnlogic.serve.runs import Served
from rnnlogic.serve.views import Missing
from rnnlogic.serve.words import link, said_fact

MIDDLE, OTHERS = 12, 8  # facts drawn of the entity in the middle, and of others that are opened
PROPOSED = 4  # proposals that are drawn
OPENED = 12  # entities whose facts may be open at a time


def picture_around(run: Served, entity: int, missing: Sequence[Missing], opened: Sequence[str]) -> Markup:
    """The SVG around an entity; entities of `opened` show their facts, too."""
    names = [name for name in opened if run.vocab.has_entity(name)][:OPENED]
    wanted = {run.vocab.entity_id(name) for name in names}
    facts = _facts(run, entity, (entity,), wanted - {entity})
    middle = Around(entity, facts=(*facts, *_proposed(run, missing)))

    def turned(one: int) -> str:
        own = run.vocab.entities[one]
        now = [name for name in names if name != own] if own in names else [*names, own]
        return link(run, "entity", name=run.vocab.entities[entity], open=now) + "#around"

    def page(one: int) -> str:
        return link(run, "entity", name=run.vocab.entities[one])

    return Markup(neighbourhood(middle, run.vocab, Links(page, turned)))


def _facts(run: Served, entity: int, above: tuple[int, ...], wanted: set[int]) -> tuple[Around, ...]:
    """The first facts of an entity, some of each relation, without those that lead back."""
    most = OTHERS if len(above) > 1 else MIDDLE
    chosen = sorted(islice(_turns(run, entity, set(above)), most))
    found = []
    for relation, other in chosen:
        is_open = other in wanted
        wanted.discard(other)  # it is opened in one place
        facts = _facts(run, other, (*above, other), wanted) if is_open else ()
        both = run.graph.has(other, relation, entity)
        more = int(run.degree[other]) - 1 - both  # beside what leads to it
        left_out = max(more - sum(1 + fact.is_mutual for fact in facts), 0) if facts else 0
        found.append(Around(other, relation, "", "", facts, left_out, more > 0, is_open, both))
    return tuple(found)


def _turns(run: Served, entity: int, above: set[int]) -> Iterator[tuple[int, int]]:
    """Facts (relation, other) of an entity, one of each relation in turn."""
    number, graph = run.vocab.num_relations, run.graph
    groups = (
        [(relation, other) for other in graph.neighbours(entity, relation)[: MIDDLE + len(above)].tolist()]
        for relation in range(2 * number)
    )
    for turn in zip_longest(*filter(None, groups)):
        for relation, other in filter(None, turn):
            is_drawn = relation >= number and graph.has(entity, relation - number, other)  # it goes both ways
            if other not in above and not is_drawn:
                yield relation, other


def _proposed(run: Served, missing: Sequence[Missing]) -> Iterator[Around]:
    """What is probably missing, with its reason."""
    for one in missing[:PROPOSED]:
        tail, relation = one.answer.entity, run.vocab.relation_name(one.relation)
        address = link(run, "why", head=one.head, relation=relation, tail=tail)
        facts = listed([said_fact(run, *fact) for fact in one.facts])
        chance = f"Proposed with probability {shown(one.answer.probability)}"
        why = f"{chance}, because {facts}" if facts else chance
        yield Around(run.vocab.entity_id(tail), one.relation, why, address)
