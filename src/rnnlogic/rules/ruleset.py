"""An ordered set of rules, stored as columns that kernels can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnlogic.base.arrays import Declaration, Declared
from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import Arrays
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.constants import CONSTANT, well_formed
from rnnlogic.rules.evidence import FIRST, IDS
from rnnlogic.rules.rule import Rule, parse_rule

RULE_ARRAYS: Declaration = {  # what `pack_rules` gives
    "heads": Declared("int32", ("rules",), least=0, below="2*R"),
    # Relations, named evidence, or entities: those of rules with constants
    "body": Declared("int32", ("steps",), least=f"-1*E{CONSTANT + 1:+d}", below="2*R"),
    "body_ptr": Declared("int64", ("rules+1",), points_into="body"),
}


class RuleSet:
    """Immutable sequence of distinct rules; only the first of repeated rules is kept.

    Rule i is `heads[i] <- body[body_ptr[i]:body_ptr[i + 1]]`. How far each is trusted goes along with it, but
    is no part of what the rules are: sets with the same rules are equal.
    """

    heads: NDArray[np.int32]  # [n]
    body_ptr: NDArray[np.int64]  # [n+1]
    body: NDArray[np.int32]  # [total body length]
    trust: NDArray[np.float32]  # [n] 0 to 1; 0 where nothing was counted

    def __init__(
        self,
        heads: NDArray[np.int32],
        body_ptr: NDArray[np.int64],
        body: NDArray[np.int32],
        trust: NDArray[np.float32] | None = None,
    ) -> None:
        """For internal use, with columns of distinct rules; otherwise call `from_rules` or `from_text`."""
        self.heads, self.body_ptr, self.body = heads, body_ptr, body
        self.trust = np.zeros(len(heads), np.float32) if trust is None else trust
        for array in (*self._columns, self.trust):
            array.setflags(write=False)

    @classmethod
    def from_rules(cls, rules: Iterable[Rule]) -> RuleSet:
        """Collect rules in order; repeats are dropped."""
        distinct = list(dict.fromkeys(rules))
        heads = np.array([rule.head for rule in distinct], dtype=np.int32)
        body_ptr = np.zeros(len(distinct) + 1, dtype=np.int64)
        np.cumsum([len(rule.body) for rule in distinct], out=body_ptr[1:])
        body = np.fromiter(chain.from_iterable(rule.body for rule in distinct), np.int32, int(body_ptr[-1]))
        if heads.min(initial=0) < 0 or ((body < 0) & (body > FIRST)).any():
            raise ValueError("relation ids of rules must not be negative")
        if not well_formed(body, body_ptr):
            raise ValueError("a rule with constants needs a body of one relation and one or two entities")
        return cls(heads, body_ptr, body)

    @classmethod
    def concatenated(cls, parts: Iterable[RuleSet]) -> RuleSet:
        """The rules of sets that have none in common, one after another; much faster than `|`."""
        kept = [cls.from_rules([]), *parts]
        lengths = np.concatenate([part.lengths for part in kept])
        heads, body, trust = (
            np.concatenate([getattr(part, name) for part in kept]) for name in ("heads", "body", "trust")
        )
        return cls(heads, np.append(0, np.cumsum(lengths)).astype(np.int64), body, trust)

    @classmethod
    def from_steps(cls, heads: NDArray[np.integer], steps: NDArray[np.integer]) -> RuleSet:
        """Distinct chains, by heads [n] and the relations of their bodies [n, longest], -1 after the ends."""
        is_step = steps >= 0
        ptr = np.append(0, np.cumsum(is_step.sum(axis=1))).astype(np.int64)
        return cls(heads.astype(np.int32), ptr, steps[is_step].astype(np.int32))

    @classmethod
    def from_text(cls, text: str | Iterable[str], vocab: Vocab) -> RuleSet:
        """Read one rule per line, without blank lines and `#` comments; `RuleError` names line and column."""
        lines = text.split("\n") if isinstance(text, str) else text
        return cls.from_rules(rule for _, rule in parse_lines(lines, vocab))

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[Rule]:
        body, ends = self.body.tolist(), self.body_ptr.tolist()
        for i, head in enumerate(self.heads.tolist()):
            yield Rule(head, tuple(body[ends[i] : ends[i + 1]]))

    @overload
    def __getitem__(self, key: int | np.integer) -> Rule: ...
    @overload
    def __getitem__(self, key: slice | ArrayLike) -> RuleSet: ...
    def __getitem__(self, key: int | np.integer | slice | ArrayLike) -> Rule | RuleSet:
        """The rule of one id, or the rules of a slice, an array of ids or a mask, in that order."""
        if isinstance(key, int | np.integer):
            i = range(len(self))[key]
            return Rule(
                int(self.heads[i]), tuple(self.body[self.body_ptr[i] : self.body_ptr[i + 1]].tolist())
            )
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key if key.size else key.astype(np.int64)
        ids = np.arange(len(self))[key]
        return self._take(ids[np.sort(np.unique(ids, return_index=True)[1])])

    def __contains__(self, rule: object) -> bool:
        return rule in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("heads", "body_ptr", "body")
        )

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
        """Id of a rule; ValueError if it is not here."""
        try:
            return self._ids[rule]
        except KeyError:
            raise ValueError(f"{rule} is not in {self!r}") from None

    def find(self, others: RuleSet) -> NDArray[np.int64]:
        """Ids here of other rules [m]; -1 for those that are not here."""
        if not len(self) or not len(others):
            return np.full(len(others), -1)
        width = 1 + max(int(self.lengths.max()), int(others.lengths.max()))
        rows = np.concatenate([self._rows(width), others._rows(width)])
        first, place = np.unique(rows, return_index=True, return_inverse=True)[1:]
        found = first[place[len(self) :]]
        return np.where(found < len(self), found, -1)

    def by_head(self, relation: int) -> NDArray[np.int64]:
        """Ids of the rules with this head, ascending."""
        order, starts = self._head_index
        if not 0 <= relation < len(starts) - 1:
            return order[:0]
        return order[starts[relation] : starts[relation + 1]]

    def head_relations(self) -> NDArray[np.int32]:
        """Head relations that have rules, ascending."""
        return np.unique(self.heads)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Body length of every rule."""
        lengths = np.diff(self.body_ptr)
        lengths.setflags(write=False)
        return lengths

    def steps(self, ids: NDArray[np.integer], width: int | None = None) -> NDArray[np.int32]:
        """The bodies of some rules [n, width], -1 after their ends; width: that of the longest of them."""
        lengths = self.lengths[ids]
        steps = np.full((len(ids), int(lengths.max(initial=0)) if width is None else width), -1, np.int32)
        steps[np.arange(steps.shape[1]) < lengths[:, None]] = self._take(ids).body
        return steps

    @cached_property
    def atoms(self) -> NDArray[np.int64]:
        """Atoms in the body of every rule: its length without entities."""
        entities = np.append(0, np.cumsum(self.body <= CONSTANT))
        return np.asarray(self.lengths - np.diff(entities[self.body_ptr]), np.int64)

    @property
    def max_length(self) -> int:
        """Atoms of the longest body; 0 without rules."""
        return int(self.atoms.max(initial=0))

    def filter(self, mask: ArrayLike) -> RuleSet:
        """The rules where the mask [n] is true."""
        keep = np.asarray(mask, dtype=bool)
        if keep.shape != (len(self),):
            raise ValueError(f"the mask must have shape ({len(self)},), one entry per rule, not {keep.shape}")
        return self._take(np.flatnonzero(keep))

    @cached_property
    def are_evidence(self) -> NDArray[np.bool_]:
        """Which rules [n] are named evidence."""
        found: NDArray[np.bool_] = self.lengths == 1
        found[found] = self.body[self.body_ptr[:-1][found]] <= FIRST
        found.setflags(write=False)
        return found

    @cached_property
    def have_constants(self) -> NDArray[np.bool_]:
        """Which rules [n] have constants."""
        return np.asarray(self.atoms < self.lengths)

    def trusted(self, trust: ArrayLike) -> RuleSet:
        """The same rules, each trusted so far [n]."""
        return RuleSet(*self._columns, np.asarray(trust, np.float32).copy())

    def without_trivial(self) -> RuleSet:
        """All rules except r <- r."""
        trivial = self.lengths == 1
        trivial[trivial] = self.body[self.body_ptr[:-1][trivial]] == self.heads[trivial]
        return self.filter(~trivial)

    def _take(self, ids: NDArray[np.integer]) -> RuleSet:
        """The rules of distinct ids, in that order."""
        lengths = self.lengths[ids]
        body_ptr = np.append(0, np.cumsum(lengths)).astype(np.int64)
        within = np.arange(body_ptr[-1]) - np.repeat(body_ptr[:-1], lengths)
        body = self.body[np.repeat(self.body_ptr[ids], lengths) + within]
        return RuleSet(self.heads[ids], body_ptr, body, self.trust[ids])

    def _rows(self, width: int) -> NDArray[np.void]:
        """Each rule [n] as one value: its head and its body, filled up to a width."""
        rows = np.column_stack([self.heads, self.steps(np.arange(len(self)), width - 1)])
        return np.ascontiguousarray(rows, np.int32).view(np.dtype((np.void, 4 * width))).ravel()

    @property
    def _columns(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        return self.heads, self.body_ptr, self.body

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


def pack_rules(rules: RuleSet) -> Arrays:
    """Rules as arrays."""
    return {"heads": rules.heads, "body_ptr": rules.body_ptr, "body": rules.body}


def unpack_rules(arrays: Mapping[str, NDArray[Any]]) -> RuleSet:
    """Rules packed by `pack_rules`."""
    body, ptr = arrays["body"], arrays["body_ptr"]
    lengths = np.diff(ptr)
    is_named = (body < 0) & (body > CONSTANT)
    is_wrong = is_named & ((body > FIRST) | (body < min(IDS.values())) | (np.repeat(lengths, lengths) != 1))
    if is_wrong.any() or not well_formed(body, ptr):
        raise RuleError("a rule has a step that is neither a relation nor evidence: its file is damaged")
    rules = RuleSet(arrays["heads"].copy(), arrays["body_ptr"].copy(), body.copy())
    if not _are_distinct(rules):
        raise RuleError("a rule is there twice: its file is damaged")
    return rules


def _are_distinct(rules: RuleSet) -> bool:
    """Whether no rule is there twice. Rows are compared only where their hashes do not tell them apart."""
    for length in np.unique(rules.lengths):
        ids = np.flatnonzero(rules.lengths == length)
        steps = rules.body[rules.body_ptr[ids][:, None] + np.arange(length)]
        rows = np.column_stack([rules.heads[ids], steps])
        factors = np.random.default_rng(0).integers(1 << 63, size=rows.shape[1])
        hashes = np.sort(rows @ factors)  # overflows, which does no harm to a hash
        if (hashes[1:] == hashes[:-1]).any() and len(np.unique(rows, axis=0)) < len(ids):
            return False
    return True


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
