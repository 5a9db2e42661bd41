"""What constraints mean for answers: which are allowed beside the known facts, and why others are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.constraints.constraint import KINDS, Constraint, ends_of
from rnnlogic.constraints.find import find
from rnnlogic.constraints.stated import NOTHING_STATED, Stated, figures_of, subtypes
from rnnlogic.data.dataset import Evidence, load_dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.types import EntityTypes, type_relation
from rnnlogic.data.vocab import Vocab

KEPT = 64  # relations whose forbidden ends are kept at a time: each takes two masks of all entities
CODES = {kind: number for number, kind in enumerate(KINDS, 1)}  # what `broken` says; 0: nothing is broken
NAMED = 3  # answers that a reason lists

Codes = NDArray[np.int8]
Mask = NDArray[np.bool_]


class Constraints:
    """Constraints of a graph. Those without exceptions, and stated ones, rule answers out."""

    def __init__(
        self, graph: Graph, vocab: Vocab, every: Sequence[Constraint], types: EntityTypes | None = None
    ) -> None:
        """For internal use; others call `Constraints.of`."""
        self.graph, self.vocab, self.every, self.types = graph, vocab, tuple(every), types
        self._checks: dict[int, _Checks] = {}

    @staticmethod
    def of(
        graph: Graph, vocab: Vocab, stated: Stated = NOTHING_STATED, types: str | None = None
    ) -> Constraints:
        """Those found in the facts of a graph and not dropped, and the stated ones.

        `types` is the relation that says what kind of thing an entity is, or "off"; usual names are found.
        """
        relation = type_relation(vocab, graph, types)
        kinds = None if relation is None else EntityTypes.from_graph(graph, relation)
        named = {one.key for one in stated.constraints}
        found = [one for one in find(graph, kinds) if one.key not in named and not stated.drops(one)]
        told = [figures_of(one, graph, kinds, vocab) for one in stated.constraints]
        return Constraints(graph, vocab, [*told, *found], kinds)

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __repr__(self) -> str:
        hard = sum(one.is_hard for one in self.every)
        return f"Constraints({len(self.every):,}, {hard:,} of them without exceptions or stated)"

    def lines(self) -> list[str]:
        """For people, one line each."""
        return [one.text(self.vocab) for one in self.every]

    def allowed(self, head: int, relation: int, entities: NDArray[np.integer]) -> Mask:
        """Which entities [n] may be answers of (head, relation, ?), relation in 0..2R-1."""
        return np.asarray(self.broken_by(head, relation, entities) == 0)

    def broken_by(self, head: int, relation: int, entities: NDArray[np.integer]) -> Codes:
        """What answers [n] of (head, relation, ?) break, as `broken` says it."""
        facts = np.empty((len(entities), 3), np.int64)
        facts[:, 0], facts[:, 1], facts[:, 2] = head, relation, entities
        return self.broken(facts)

    def broken(self, facts: NDArray[np.integer]) -> Codes:
        """For facts [n, 3] of one relation in 0..2R-1 the first kind they break (CODES), 0 if none.

        Known facts break nothing: they are not proposals.
        """
        found = np.zeros(len(facts), np.int8)
        if not len(facts) or not self._hard:
            return found
        asked, size = int(facts[0, 1]), self.graph.num_relations
        ends = (facts[:, 0], facts[:, 2]) if asked < size else (facts[:, 2], facts[:, 0])
        heads, tails = (np.asarray(end, np.int64) for end in ends)
        relation = asked % size
        checks = self._checked(relation)
        for code, head_fails, tail_fails in checks.ends:
            _mark(found, code, head_fails[heads] | tail_fails[tails])
        for one in checks.functional:
            own = heads if one.relation == relation else tails
            first, last = self.graph.edge_ranges(own, one.relation)
            _mark(found, CODES["functional"], last - first >= one.most)
        if checks.irreflexive:
            _mark(found, CODES["irreflexive"], heads == tails)
        for code, other in checks.pairs:
            rest = np.flatnonzero(found == 0)
            found[rest[self._known(heads[rest], other, tails[rest])]] = code
        broken = np.flatnonzero(found)
        found[broken[self._known(heads[broken], relation, tails[broken])]] = 0
        return found

    def left_out(self, codes: Codes) -> dict[str, int]:
        """How many facts break each kind."""
        number = np.bincount(codes, minlength=len(KINDS) + 1)
        return {kind: int(number[code]) for kind, code in CODES.items() if number[code]}

    def reason(self, head: int, relation: int, tail: int) -> str:
        """Why a fact cannot be true, as a sentence; empty if it breaks no constraint."""
        if not self.broken(np.array([[head, relation, tail]]))[0]:
            return ""
        size = self.graph.num_relations
        fact = (head, relation, tail) if relation < size else (tail, relation - size, head)
        for one in self._hard:
            told = self._sentence(one, *fact)
            if told:
                return told
        return ""

    def doubt(self, head: int, relation: int, tail: int) -> str:
        """What a fact would be an exception to, as a sentence with its record: X has an answer already.

        Empty if there is nothing. Other constraints with exceptions are rules, which have weights.
        """
        size = self.graph.num_relations
        for one in self.every:
            if one.kind == "functional" and not one.is_hard and one.relation % size == relation % size:
                own, answer = (head, tail) if one.relation == relation else (tail, head)
                answers = self.graph.neighbours(own, one.relation)
                others = answers[answers != answer]
                if len(others) >= one.most:
                    return f"{self._already(own, one.relation, others)}; {one.kept(self.vocab)}"
        return ""

    def _already(self, head: int, relation: int, answers: NDArray[np.integer]) -> str:
        label = self.vocab.entity_label
        shown = ", ".join(label(int(answer)) for answer in answers[:NAMED])
        more = ", ..." if len(answers) > NAMED else ""
        return f"{label(head)} already has {self.vocab.relation_label(relation)}: {shown}{more}"

    @cached_property
    def _hard(self) -> tuple[Constraint, ...]:
        """Those that rule answers out, in the order in which people want to be told."""
        hard = [one for one in self.every if one.is_hard]
        return tuple(sorted(hard, key=lambda one: (KINDS.index(one.kind), one.origin != "stated")))

    @cached_property
    def _by_relation(self) -> dict[int, list[Constraint]]:
        found: dict[int, list[Constraint]] = {}
        size = self.graph.num_relations
        for one in self._hard:
            about = {one.relation % size}
            if one.kind in ("exclusive", "roles"):
                about.add(one.other % size)
            for relation in about:
                found.setdefault(relation, []).append(one)
        return found

    def _checked(self, relation: int) -> _Checks:
        checks = self._checks.get(relation)
        if checks is None:
            if len(self._checks) >= KEPT:
                self._checks = {}
            checks = self._checks[relation] = self._make_checks(relation)
        return checks

    def _make_checks(self, relation: int) -> _Checks:
        """What facts of a relation < R must keep."""
        size = self.graph.num_relations
        sides = relation, relation + size
        ends: dict[int, list[Mask]] = {}
        functional, pairs, irreflexive = list[Constraint](), list[tuple[int, int]](), False
        for one in self._by_relation.get(relation, []):
            if one.kind == "functional":
                functional.append(one)
            elif one.kind == "irreflexive":
                irreflexive = True
            elif one.kind in ("asymmetric", "exclusive"):
                pairs.append((CODES[one.kind], self._rival(one, relation)))
            else:
                masks = ends.setdefault(
                    CODES[one.kind], [np.zeros(self.graph.num_entities, bool) for _ in sides]
                )
                for side, mask in zip(sides, masks, strict=True):
                    self._forbid(one, side, mask)
        found = tuple((code, masks[0], masks[1]) for code, masks in ends.items())
        return _Checks(found, tuple(functional), irreflexive, tuple(pairs))

    def _rival(self, one: Constraint, relation: int) -> int:
        """The relation that must not hold for a pair of which `relation` holds."""
        if one.kind == "asymmetric":
            return self.graph.inverse(relation)
        if one.relation == relation:
            return one.other
        return one.relation if one.other == relation else self.graph.inverse(one.relation)

    def _forbid(self, one: Constraint, side: int, mask: Mask) -> None:
        """Mark in a mask [E] the entities that a constraint keeps from being heads of `side`."""
        if one.kind == "roles":
            for own, other in ((one.relation, one.other), (one.other, one.relation)):
                if own == side:
                    mask[self._heads(other)] = True
        elif one.relation == side and self.types is not None:
            mask |= self._wrong_type(one)

    def _heads(self, relation: int) -> NDArray[np.int32]:
        a = self.graph.arrays
        return a.row_head[a.relation_rows[relation] : a.relation_rows[relation + 1]]

    def _wrong_type(self, one: Constraint) -> Mask:
        """Entities with types [E] none of which the heads of a relation may have."""
        assert self.types is not None
        size = self.graph.num_entities
        right = np.zeros(size, bool)  # types
        if one.kind == "domain":
            right[subtypes(one.other, self.graph, self.vocab)] = True
        else:
            heads = np.zeros(size, bool)
            heads[self._heads(one.relation)] = True
            right[self.types.kind[heads[self.types.entity]]] = True
        wrong = np.zeros(size, bool)
        wrong[self.types.entity] = True
        wrong[self.types.entity[right[self.types.kind]]] = False
        return wrong

    def _known(self, heads: NDArray[np.int64], relation: int, tails: NDArray[np.int64]) -> Mask:
        """Which pairs [n] the graph has for a relation in 0..2R-1."""
        if not len(heads):
            return np.zeros(0, bool)
        if (heads == heads[0]).all():
            return np.isin(tails, self.graph.neighbours(int(heads[0]), relation))
        own_heads, own_tails = self.graph.edges(relation)
        known = own_heads.astype(np.int64) * self.graph.num_entities + own_tails
        asked = heads * self.graph.num_entities + tails
        place = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
        return np.asarray(known[place] == asked) if len(known) else np.zeros(len(asked), bool)

    def _sentence(self, one: Constraint, head: int, relation: int, tail: int) -> str:
        """What a fact, relation < R, breaks of one constraint; empty if nothing."""
        size, vocab, graph = self.graph.num_relations, self.vocab, self.graph
        name = vocab.relation_label
        if one not in self._by_relation.get(relation, []):
            return ""
        if one.kind == "functional":
            own = head if one.relation == relation else tail
            answers = graph.neighbours(own, one.relation)
            return "" if len(answers) < one.most else self._already(own, one.relation, answers)
        if one.kind == "irreflexive":
            return f"{name(relation)} never joins an entity to itself" if head == tail else ""
        if one.kind in ("asymmetric", "exclusive"):
            rival = self._rival(one, relation)
            if not graph.has(head, rival, tail):
                return ""
            ends = (head, tail) if rival < size else (tail, head)
            start, end = map(vocab.entity_label, ends)
            return f"{name(rival % size)}({start}, {end}) is known, which excludes {name(relation)}"
        for side, entity in ((relation, head), (graph.inverse(relation), tail)):
            mask = np.zeros(graph.num_entities, bool)
            self._forbid(one, side, mask)
            if mask[entity]:
                return self._end_sentence(one, side, entity)
        return ""

    def _end_sentence(self, one: Constraint, side: int, entity: int) -> str:
        vocab = self.vocab
        base, ends = ends_of(side, vocab)
        label = vocab.entity_label(entity)
        if one.kind == "roles":
            other, others = ends_of(one.other if side == one.relation else one.relation, vocab)
            return f"{label} is among the {others} of {other}, and {ends} of {base} never are"
        assert self.types is not None
        kinds = " and ".join(map(vocab.entity_label, self.types.of(entity)[:NAMED].tolist()))
        if one.kind == "domain":
            return f"{label} is of type {kinds}, and {ends} of {base} must be {vocab.entity_label(one.other)}"
        return f"{label} is of type {kinds}, and {ends} of {base} never are"


class _Checks(NamedTuple):
    """What facts of one relation must keep."""

    ends: tuple[tuple[int, Mask, Mask], ...]  # code, forbidden heads [E], forbidden tails [E]
    functional: tuple[Constraint, ...]
    irreflexive: bool
    pairs: tuple[tuple[int, int], ...]  # code, relation in 0..2R-1 that must not hold


def _mark(codes: Codes, code: int, broken: ArrayLike) -> None:
    codes[np.asarray(broken) & (codes == 0)] = code


def find_constraints(
    dataset: Any, evidence: Evidence = "all", stated: Stated = NOTHING_STATED, types: str | None = None
) -> Constraints:
    """The constraints of a graph, those with exceptions too.

    Args:
        dataset: Anything that `load_dataset` takes.
        evidence: The facts to look at.
        stated: Constraints that people stated, to add.
        types: The relation that says what kind of thing an entity is, or "off"; usual ones are found.

    Returns:
        The constraints. Print `.lines()`, ask `.reason(...)`, or iterate.

    Raises:
        RNNLogicError: If the data cannot be read, or `types` is no relation.

    Examples:
        >>> for line in find_constraints("nations").lines():
        ...     print(line)
    """
    data = load_dataset(dataset)
    return Constraints.of(data.graph(evidence), data.vocab, stated, types)
