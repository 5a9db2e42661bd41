"""An ordered set of rules, stored as columns that kernels can read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import Arrays
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.conditions import Condition, Interval
from rnnlogic.rules.features import FEATURES, code_of, name_of
from rnnlogic.rules.old import old_rules
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Chain, Constant, Feature, Rule, relations_of

MOST_ATTRIBUTES = 1 << 20  # whoever has the vocabulary checks them against it
RULE_ARRAYS: Declaration = {  # what `pack_rules` gives
    "heads": Declared("int32", ("rules",), least=0, below="2*R"),
    # Files of earlier versions have negative ids here: features and entities
    "body": Declared("int32", ("steps",), least="-1*E-999", below="2*R"),
    "body_ptr": Declared("int64", ("rules+1",), points_into="body"),
    # Only where some rules are not chains
    "kind": Declared("int8", ("rules",), least=0, below=5, optional=True),
    "constant": Declared("int32", ("rules",), least=-1, below="E", optional=True),
    "other": Declared("int32", ("rules",), least=-1, below="E", optional=True),
    "feature": Declared("int16", ("rules",), least=-1, optional=True),
    "feature_names": Declared("uint8", ("characters",), optional=True),
    # Only where some rules are conditions
    "of_x": Declared("int32", ("rules",), least=-1, below=MOST_ATTRIBUTES, optional=True),
    "of_y": Declared("int32", ("rules",), least=-1, below=MOST_ATTRIBUTES, optional=True),
    "low": Declared("float64", ("rules",), finite=False, optional=True),
    "high": Declared("float64", ("rules",), finite=False, optional=True),
}


CONDITION_COLUMNS = ("of_x", "of_y", "low", "high")


class Kind(IntEnum):
    """What a rule is, in the column `kind` of a set."""

    CHAIN = 0
    OF_ANSWER = 1  # with constants: head(X,constant) <- step(X,other)
    OF_HEAD = 2  # with constants: head(constant,Y) <- step(other,Y)
    FEATURE = 3
    CONDITION = 4


class Kinds(NamedTuple):
    """The columns of rules that are not chains; for a chain all but `kind` are -1."""

    kind: NDArray[np.int8]  # [n]
    constant: NDArray[np.int32]  # [n] entity in the head
    other: NDArray[np.int32]  # [n] entity in the body, -1 for any
    feature: NDArray[np.int16]  # [n] code of the feature
    of_x: NDArray[np.int32]  # [n] attribute of X in a condition
    of_y: NDArray[np.int32]  # [n] attribute of Y
    low: NDArray[np.float64]  # [n] bounds of a condition, infinite for other rules
    high: NDArray[np.float64]  # [n]

    @classmethod
    def chains(cls, size: int) -> Kinds:
        """The columns of `size` chains."""
        return cls(*(np.full(size, value, dtype) for value, dtype in zip(_CHAIN, _TYPES, strict=True)))

    @classmethod
    def facts(
        cls,
        kind: NDArray[np.int8],
        constant: NDArray[np.int32],
        other: NDArray[np.int32],
        feature: NDArray[np.int16],
    ) -> Kinds:
        """The columns of rules that are no conditions."""
        return cls.chains(len(kind))._replace(kind=kind, constant=constant, other=other, feature=feature)

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> Kinds:
        """The columns of rules."""
        if all(isinstance(rule, Chain) for rule in rules):
            return cls.chains(len(rules))
        columns = zip(zip(*map(_row, rules), strict=True), _TYPES, strict=True)
        return cls(*(np.array(column, dtype) for column, dtype in columns))

    def take(self, ids: NDArray[np.integer]) -> Kinds:
        """The columns of some rules."""
        return Kinds(*(column[ids] for column in self))


_TYPES = (np.int8, np.int32, np.int32, np.int16, np.int32, np.int32, np.float64, np.float64)
_CHAIN = (Kind.CHAIN, -1, -1, -1, -1, -1, -math.inf, math.inf)  # the columns of any chain


def _row(rule: Rule) -> tuple[float, ...]:
    """The columns of one rule."""
    if isinstance(rule, Constant):
        kind = Kind.OF_HEAD if rule.at_head else Kind.OF_ANSWER
        return kind, rule.constant, rule.other, *_CHAIN[3:]
    if isinstance(rule, Condition):
        return Kind.CONDITION, rule.constant, -1, -1, rule.of_x, rule.of_y, *rule.interval
    if isinstance(rule, Feature):
        return Kind.FEATURE, -1, -1, code_of(rule.name), *_CHAIN[4:]
    return _CHAIN


class RuleSet:
    """Immutable sequence of distinct rules; only the first of repeated rules is kept.

    A chain i is `heads[i] <- body[body_ptr[i]:body_ptr[i + 1]]`; the body of a rule with constants is its one
    relation, that of a feature is empty. How far each is trusted goes along with it, but is no part of what
    the rules are: sets with the same rules are equal.
    """

    heads: NDArray[np.int32]  # [n]
    body_ptr: NDArray[np.int64]  # [n+1]
    body: NDArray[np.int32]  # [relations of all bodies]
    kinds: Kinds
    trust: NDArray[np.float32]  # [n] 0 to 1; 0 where nothing was counted

    def __init__(
        self,
        heads: NDArray[np.int32],
        body_ptr: NDArray[np.int64],
        body: NDArray[np.int32],
        trust: NDArray[np.float32] | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        """For internal use, with columns of distinct rules; otherwise call `from_rules` or `from_text`."""
        self.heads, self.body_ptr, self.body = heads, body_ptr, body
        self.kinds = Kinds.chains(len(heads)) if kinds is None else kinds
        self.trust = np.zeros(len(heads), np.float32) if trust is None else trust
        for array in (*self._columns, self.trust):
            array.setflags(write=False)

    @classmethod
    def from_rules(cls, rules: Iterable[Rule]) -> RuleSet:
        """Collect rules in order; repeats are dropped.

        Args:
            rules: The rules by ids.

        Returns:
            The set.
        """
        distinct = list(dict.fromkeys(rules))
        heads = np.array([rule.head for rule in distinct], dtype=np.int32)
        bodies = [relations_of(rule) for rule in distinct]
        body_ptr = np.zeros(len(distinct) + 1, dtype=np.int64)
        np.cumsum([len(body) for body in bodies], out=body_ptr[1:])
        body = np.fromiter(chain.from_iterable(bodies), np.int32, int(body_ptr[-1]))
        if min(heads.min(initial=0), body.min(initial=0)) < 0:
            raise ValueError("relation ids of rules must not be negative")
        return cls(heads, body_ptr, body, kinds=Kinds.of(distinct))

    @classmethod
    def concatenated(cls, parts: Iterable[RuleSet]) -> RuleSet:
        """The rules of sets that have none in common, one after another; much faster than `|`."""
        kept = [cls.from_rules([]), *parts]
        lengths = np.concatenate([np.diff(part.body_ptr) for part in kept])
        heads, body, trust = (
            np.concatenate([getattr(part, name) for part in kept]) for name in ("heads", "body", "trust")
        )
        kinds = Kinds(*(np.concatenate(columns) for columns in zip(*(p.kinds for p in kept), strict=True)))
        return cls(heads, np.append(0, np.cumsum(lengths)).astype(np.int64), body, trust, kinds)

    @classmethod
    def from_steps(cls, heads: NDArray[np.integer], steps: NDArray[np.integer]) -> RuleSet:
        """Distinct chains, by heads [n] and the relations of their bodies [n, longest], -1 after the ends."""
        is_step = steps >= 0
        ptr = np.append(0, np.cumsum(is_step.sum(axis=1))).astype(np.int64)
        return cls(heads.astype(np.int32), ptr, steps[is_step].astype(np.int32))

    @classmethod
    def from_text(cls, text: str | Iterable[str], vocab: Vocab) -> RuleSet:
        """Read one rule per line, without blank lines and `#` comments.

        Args:
            text: The lines, as one text or one by one.
            vocab: The names that rules may use.

        Returns:
            The set; repeats are dropped.

        Raises:
            RNNLogicError: If a line is no rule; the message names line and column.

        Examples:
            >>> vocab = load_dataset("umls").vocab
            >>> rules = RuleSet.from_text("affects <- causes & affects", vocab)
        """
        lines = text.split("\n") if isinstance(text, str) else text
        return cls.from_rules(rule for _, rule in parse_lines(lines, vocab))

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Rule]:
        body, ends, heads = self.body.tolist(), self.body_ptr.tolist(), self.heads.tolist()
        if self.are_chains.all():
            yield from (Chain(head, tuple(body[ends[i] : ends[i + 1]])) for i, head in enumerate(heads))
        else:
            yield from (self[i] for i in range(len(heads)))

    @overload
    def __getitem__(self, key: int | np.integer) -> Rule: ...
    @overload
    def __getitem__(self, key: slice | ArrayLike) -> RuleSet: ...
    def __getitem__(self, key: int | np.integer | slice | ArrayLike) -> Rule | RuleSet:
        """The rule of one id, or the rules of a slice, an array of ids or a mask, in that order."""
        if isinstance(key, int | np.integer):
            return self._rule(range(len(self))[key])
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key if key.size else key.astype(np.int64)
        ids = np.arange(len(self))[key]
        return self._take(ids[np.sort(np.unique(ids, return_index=True)[1])])

    def __contains__(self, rule: object) -> bool:
        return rule in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and all(
            np.array_equal(ours, theirs) for ours, theirs in zip(self._columns, other._columns, strict=True)
        )

    def _rule(self, i: int) -> Rule:
        head, body = int(self.heads[i]), self.body[self.body_ptr[i] : self.body_ptr[i + 1]].tolist()
        kind = self.kinds.kind[i]
        if kind == Kind.CHAIN:
            return Chain(head, tuple(body))
        if kind == Kind.FEATURE:
            return Feature(head, name_of(int(self.kinds.feature[i])))
        constants = int(self.kinds.constant[i]), int(self.kinds.other[i])
        if kind == Kind.CONDITION:
            interval = Interval(float(self.kinds.low[i]), float(self.kinds.high[i]))
            return Condition(head, constants[0], int(self.kinds.of_x[i]), int(self.kinds.of_y[i]), interval)
        return Constant(head, body[0], *constants, bool(kind == Kind.OF_HEAD))

    def __hash__(self) -> int:
        return hash(tuple(column.tobytes() for column in self._columns))

    def __or__(self, other: RuleSet) -> RuleSet:
        """These rules, then those of `other` that are new."""
        return RuleSet.concatenated([self, other.filter(self.find(other) < 0)])

    def __repr__(self) -> str:
        return (
            f"RuleSet({len(self):,} rules, {len(self.head_relations()):,} heads, "
            f"longest body {self.max_length})"
        )

    def index(self, rule: Rule) -> int:
        """The id of a rule.

        Args:
            rule: The rule by ids.

        Returns:
            Its place in the set.

        Raises:
            ValueError: If it is not here.
        """
        try:
            return self._ids[rule]
        except KeyError:
            raise ValueError(f"{rule} is not in {self!r}") from None

    def find(self, others: RuleSet) -> NDArray[np.int64]:
        """Ids here of other rules.

        Args:
            others: The rules [m] to look up.

        Returns:
            The ids [m]; -1 for those that are not here.
        """
        if not len(self) or not len(others):
            return np.full(len(others), -1)
        width = max(self.max_length, others.max_length)
        rows = np.concatenate([self._rows(width), others._rows(width)])
        first, place = np.unique(rows, return_index=True, return_inverse=True)[1:]
        found = first[place[len(self) :]]
        return np.where(found < len(self), found, -1)

    def by_head(self, relation: int) -> NDArray[np.int64]:
        """The rules that conclude a relation.

        Args:
            relation: The id of the relation, or of its inverse.

        Returns:
            Their ids, ascending.
        """
        order, starts = self._head_index
        if not 0 <= relation < len(starts) - 1:
            return order[:0]
        return order[starts[relation] : starts[relation + 1]]

    def head_relations(self) -> NDArray[np.int32]:
        """Head relations that have rules, ascending."""
        return np.unique(self.heads)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Atoms in the body of every rule; a feature and a condition count as one."""
        lengths = np.diff(self.body_ptr)
        lengths[self.are_features | self.are_conditions] = 1
        lengths.setflags(write=False)
        return lengths

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """What a reader has to take in of every rule: its atoms and its constants."""
        named = (self.kinds.constant >= 0).astype(np.int64) + (self.kinds.other >= 0)
        return np.asarray(self.lengths + named)

    def steps(self, ids: NDArray[np.integer], width: int | None = None) -> NDArray[np.int32]:
        """The relations in the bodies of some rules [n, width], -1 after the end of each body."""
        lengths = np.diff(self.body_ptr)[ids]
        steps = np.full((len(ids), int(lengths.max(initial=0)) if width is None else width), -1, np.int32)
        steps[np.arange(steps.shape[1]) < lengths[:, None]] = self._take(ids).body
        return steps

    @property
    def max_length(self) -> int:
        """Atoms of the longest body; 0 without rules."""
        return int(self.lengths.max(initial=0))

    def filter(self, mask: ArrayLike) -> RuleSet:
        """The rules that a mask keeps.

        Args:
            mask: True for each rule [n] that stays.

        Returns:
            A new set.
        """
        keep = np.asarray(mask, dtype=bool)
        if keep.shape != (len(self),):
            raise ValueError(f"the mask must have shape ({len(self)},), one entry per rule, not {keep.shape}")
        return self._take(np.flatnonzero(keep))

    @cached_property
    def are_chains(self) -> NDArray[np.bool_]:
        """Which rules [n] are chains."""
        return self._of_kind(Kind.CHAIN)

    @cached_property
    def are_features(self) -> NDArray[np.bool_]:
        """Which rules [n] are features."""
        return self._of_kind(Kind.FEATURE)

    @cached_property
    def have_constants(self) -> NDArray[np.bool_]:
        """Which rules [n] have constants."""
        return self._of_kind(Kind.OF_ANSWER, Kind.OF_HEAD)

    @cached_property
    def are_conditions(self) -> NDArray[np.bool_]:
        """Which rules [n] are conditions."""
        return self._of_kind(Kind.CONDITION)

    def are_feature(self, name: str) -> NDArray[np.bool_]:
        """Which rules [n] are the feature of this name."""
        return np.asarray(self.kinds.feature == code_of(name))

    @cached_property
    def make_candidates(self) -> NDArray[np.bool_]:
        """Which rules [n] add answers; the others only speak about answers found otherwise."""
        found = np.ones(len(self), bool)
        for code in np.unique(self.kinds.feature[self.are_features]).tolist():
            found[self.kinds.feature == code] = FEATURES[name_of(code)].makes_candidates
        return found

    def _of_kind(self, *kinds: Kind) -> NDArray[np.bool_]:
        found = np.isin(self.kinds.kind, kinds)
        found.setflags(write=False)
        return found

    def trusted(self, trust: ArrayLike) -> RuleSet:
        """The same rules, each trusted so far [n]."""
        columns = self.heads, self.body_ptr, self.body
        return RuleSet(*columns, np.asarray(trust, np.float32).copy(), self.kinds)

    def without_trivial(self) -> RuleSet:
        """All rules except r <- r."""
        trivial = self.are_chains & (self.lengths == 1)
        trivial[trivial] = self.body[self.body_ptr[:-1][trivial]] == self.heads[trivial]
        return self.filter(~trivial)

    def renamed(
        self, relations: NDArray[np.int32], entities: NDArray[np.int32], attributes: NDArray[np.int32]
    ) -> tuple[RuleSet, NDArray[np.bool_], NDArray[np.bool_]]:
        """The rules by the ids of another graph, given those of relations, entities and attributes, -1: none.

        Returns the rules that stay, and masks [n] of those that lose a relation or an attribute, and that
        lose an entity.
        """
        is_lost = np.append(0, np.cumsum(relations[self.body] < 0))
        no_relation = (relations[self.heads] < 0) | (np.diff(is_lost[self.body_ptr]) > 0)
        constant, other = (_renamed(column, entities) for column in (self.kinds.constant, self.kinds.other))
        of_x, of_y = (_renamed(column, attributes) for column in (self.kinds.of_x, self.kinds.of_y))
        no_relation |= ((of_x < 0) & (self.kinds.of_x >= 0)) | ((of_y < 0) & (self.kinds.of_y >= 0))
        no_entity = (constant != self.kinds.constant) & (constant < 0)
        no_entity |= (other != self.kinds.other) & (other < 0)
        kept = np.flatnonzero(~(no_relation | no_entity))
        columns = self.kinds._replace(constant=constant, other=other, of_x=of_x, of_y=of_y)
        left, kinds = self._take(kept), columns.take(kept)
        moved = RuleSet(relations[left.heads], left.body_ptr, relations[left.body], left.trust, kinds)
        return moved, no_relation, no_entity

    def _take(self, ids: NDArray[np.integer]) -> RuleSet:
        """The rules of distinct ids, in that order."""
        lengths = np.diff(self.body_ptr)[ids]
        body_ptr = np.append(0, np.cumsum(lengths)).astype(np.int64)
        within = np.arange(body_ptr[-1]) - np.repeat(body_ptr[:-1], lengths)
        body = self.body[np.repeat(self.body_ptr[ids], lengths) + within]
        return RuleSet(self.heads[ids], body_ptr, body, self.trust[ids], self.kinds.take(ids))

    def _rows(self, width: int) -> NDArray[np.void]:
        """Each rule [n] as one value: its columns and its body, filled up to a width."""
        kinds, bounds = self.kinds[:6], self.kinds[6:]
        columns: list[NDArray[Any]] = [self.heads, *kinds, self.steps(np.arange(len(self)), width)]
        columns += [(bound + 0.0).view(np.int32).reshape(-1, 2) for bound in bounds]  # -0.0 is 0.0
        rows = np.ascontiguousarray(np.column_stack(columns), np.int32)
        return rows.view(np.dtype((np.void, 4 * rows.shape[1]))).ravel()

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.heads, self.body_ptr, self.body, *self.kinds

    @cached_property
    def _ids(self) -> dict[Rule, int]:
        return {rule: i for i, rule in enumerate(self)}

    @cached_property
    def _head_index(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rule ids sorted by head, and where each head relation starts."""
        order = np.argsort(self.heads, kind="stable").astype(np.int64)
        relations = np.arange(self.heads.max(initial=-1) + 2)
        order.setflags(write=False)
        return order, np.searchsorted(self.heads[order], relations)


def entities_by_name(rules: RuleSet, source: Vocab, target: Vocab) -> NDArray[np.int32]:
    """The id in another vocabulary of every entity that rules name; -1 for those not there or not named."""
    found = np.full(source.num_entities, -1, np.int32)
    named = np.concatenate([rules.kinds.constant, rules.kinds.other])
    for entity in np.unique(named[named >= 0]).tolist():
        name = source.entities[entity]
        found[entity] = target.entity_id(name) if target.has_entity(name) else -1
    return found


def attributes_by_name(source: Vocab, target: Vocab) -> NDArray[np.int32]:
    """The id in another vocabulary of every attribute; -1 where the same name has none of the same kind."""
    places = {one: i for i, one in enumerate(target.attributes)}
    return np.array([places.get(one, -1) for one in source.attributes], np.int32)


def _renamed(ids: NDArray[np.int32], new: NDArray[np.int32]) -> NDArray[np.int32]:
    """The new id of each entity [n]; -1 where there is none, as before or now."""
    return np.where(ids < 0, -1, new[ids] if len(new) else -1).astype(np.int32)


def pack_rules(rules: RuleSet) -> Arrays:
    """Rules as arrays; features by their names."""
    arrays: Arrays = {"heads": rules.heads, "body_ptr": rules.body_ptr, "body": rules.body}
    if rules.are_chains.all():
        return arrays
    codes, place = np.unique(rules.kinds.feature[rules.are_features], return_inverse=True)
    feature = np.full(len(rules), -1, np.int16)
    feature[rules.are_features] = place
    names = "\n".join(name_of(code) for code in codes.tolist()).encode()
    text = np.frombuffer(names, np.uint8).copy()
    columns = rules.kinds._replace(feature=feature)._asdict()
    if not rules.are_conditions.any():
        columns = {name: columns[name] for name in columns if name not in CONDITION_COLUMNS}
    return arrays | columns | {"feature_names": text}


def unpack_rules(arrays: Mapping[str, NDArray[Any]]) -> RuleSet:
    """Rules packed by `pack_rules`, also by that of earlier versions."""
    heads, ptr, body = (arrays[name] for name in ("heads", "body_ptr", "body"))
    if "kind" in arrays:
        rules = RuleSet(heads.copy(), ptr.copy(), body.copy(), kinds=_unpacked_kinds(arrays))
        _require_well_formed(rules)
    elif body.min(initial=0) < 0:
        rules = RuleSet.from_rules(old_rules(heads, ptr, body))
    else:
        rules = RuleSet(heads.copy(), ptr.copy(), body.copy())
    if len(rules) < len(heads) or not _are_distinct(rules):
        raise RuleError("a rule is there twice: its file is damaged")
    return rules


def _unpacked_kinds(arrays: Mapping[str, NDArray[Any]]) -> Kinds:
    kind, constant, other, feature = (arrays[name].copy() for name in Kinds._fields[:4])
    names = [
        name for name in arrays["feature_names"].tobytes().decode("utf-8", "replace").split("\n") if name
    ]
    if unknown := [name for name in names if name not in FEATURES]:
        raise RuleError(f"rules have the feature {unknown[0]!r}, which this version does not know")
    if (feature[kind == Kind.FEATURE] >= len(names)).any():
        raise RuleError("a rule has a feature without a name: its file is damaged")
    codes = np.array([*map(code_of, names), -1], np.int16)
    found = Kinds.facts(kind, constant, other, codes[np.where(kind == Kind.FEATURE, feature, -1)])
    return found._replace(**{name: arrays[name].copy() for name in CONDITION_COLUMNS if name in arrays})


def _require_well_formed(rules: RuleSet) -> None:
    """Refuse columns that contradict each other."""
    lengths, kinds = np.diff(rules.body_ptr), rules.kinds
    with_constants, are_features = rules.have_constants, rules.are_features
    is_wrong = (with_constants & ((lengths != 1) | (kinds.constant < 0))) | (are_features & (lengths != 0))
    are_conditions = rules.are_conditions
    is_wrong |= ~with_constants & ((kinds.constant >= 0) & ~are_conditions | (kinds.other >= 0))
    is_wrong |= are_conditions & ((lengths != 0) | ~(kinds.low < kinds.high))
    compares, has_one = (kinds.of_x >= 0) & (kinds.of_y >= 0), (kinds.of_x >= 0) != (kinds.of_y >= 0)
    is_wrong |= are_conditions & ~np.where(kinds.constant < 0, compares, has_one)
    is_wrong |= ~are_conditions & (compares | has_one | (kinds.low > -np.inf) | (kinds.high < np.inf))
    is_wrong |= are_features != (kinds.feature >= 0)
    if is_wrong.any() or rules.body.min(initial=0) < 0:
        raise RuleError(
            "a rule is no chain, has no constants, and is no feature and no condition: its file is damaged"
        )


def _are_distinct(rules: RuleSet) -> bool:
    """Whether no rule is there twice. Rows are compared only where their hashes do not tell them apart."""
    if not len(rules):
        return True
    rows = rules._rows(int(np.diff(rules.body_ptr).max())).view(np.int32).reshape(len(rules), -1)
    factors = np.random.default_rng(0).integers(1 << 63, size=rows.shape[1])
    hashes = rows.astype(np.int64) @ factors  # overflows, which does no harm to a hash
    return len(np.unique(hashes)) == len(rows) or len(np.unique(rows, axis=0)) == len(rows)


def parse_lines(lines: Iterable[str], vocab: Vocab, path: Path | None = None) -> Iterator[tuple[str, Rule]]:
    """Every line that contains a rule, with the rule; blank lines and `#` comments are skipped.

    Errors name the line, and the file if given.
    """
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            try:
                yield line, parse_rule(line.rstrip(), vocab)
            except RuleError as error:
                place = f"line {number}, " if path is None else f"{path}:{number}: "
                raise RuleError(f"{place}{error}") from None
