"""Weighted rules as a tree of prefixes: each prefix with the distribution of what follows it.

The sum of share * log p(rule) is a sum over prefixes: the prefix's mass times the sum of
p(next | prefix in the rules) * log p(next | prefix in the generator). So a rule that is drawn teaches, at
each of its prefixes, everything that may follow there, not only its own next relation: same mean, less noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.generator.network import Level

Ids = NDArray[np.int64]


class _Prefixes(NamedTuple):
    """All prefixes of one length, in lexicographic order."""

    of_rule: Ids  # [rules] each rule's prefix of this length; -1 if the rule is shorter
    parent: Ids  # [b] the prefix without its last relation
    head: Ids  # [b]
    last: Ids  # [b] the last relation; the head if there is none yet
    ptr: Ids  # [b+1] what follows prefix i: ptr[i]:ptr[i+1]
    token: Ids  # [f]
    share: NDArray[np.float32]  # [f] sums to one for each prefix


class PrefixTree:
    """The prefixes of rules, by length."""

    def __init__(self, heads: Ids, tokens: Ids, shares: NDArray[np.float64], end: int) -> None:
        """Distinct rules: heads [n], tokens [n, max_length + 1] padded with `end`, shares [n] > 0."""
        order = np.lexsort((*tokens.T[::-1], heads))
        heads, tokens, shares = heads[order], tokens[order], shares[order]
        rows = np.arange(len(heads))  # of the rules that are not finished
        node = np.unique(heads, return_inverse=True)[1]
        parent, last = node, heads
        self._levels: list[_Prefixes] = []
        for token in tokens.T:
            first, of_rule = _firsts(node), np.full(len(heads), -1)
            of_rule[order[rows]] = node
            following = _following(node, token[rows], shares[rows])
            self._levels.append(
                _Prefixes(of_rule, parent[first], heads[rows][first], last[first], *following)
            )
            goes_on = token[rows] != end
            if not goes_on.any():
                break
            rows, parent = rows[goes_on], node[goes_on]
            last = token[rows]
            node = _numbered(parent, last)

    def levels(
        self, rules: Ids, weights: NDArray[np.float32], thinned: int = 1, start: int = 0
    ) -> list[Level]:
        """The prefixes of drawn rules [d], each with the weights [d] of the rules that have it.

        Where only END can follow there is little to learn: of the longest prefixes only every `thinned`-th
        rule is used, from a random `start` < thinned, and counts `thinned` times.
        """
        found: list[Level] = []
        before = np.empty(0, np.int64)
        for length, level in enumerate(self._levels):
            if length and length == len(self._levels) - 1:
                rules, weights = rules[start::thinned], weights[start::thinned] * thinned
            node = level.of_rule[rules]
            node, weight = node[node >= 0], weights[node >= 0]
            chosen, row_of = np.unique(node, return_inverse=True)
            mass = np.bincount(row_of, weight, len(chosen))
            entry, row = _joined_ranges(level.ptr[chosen], level.ptr[chosen + 1])
            parent = np.searchsorted(before, level.parent[chosen]) if length else chosen
            share = level.share[entry] * mass[row].astype(np.float32)
            found.append(
                Level(parent, level.head[chosen], level.last[chosen], row, level.token[entry], share)
            )
            before = chosen
        return found


def _following(node: Ids, token: Ids, shares: NDArray[np.float64]) -> tuple[Ids, Ids, NDArray[np.float32]]:
    """What follows each node, as `ptr`, `token` and `share` of `_Prefixes`; rules must ascend."""
    child = _numbered(node, token)
    place = _firsts(child)
    ptr = np.searchsorted(node[place], np.arange(node[-1] + 2))
    share = np.bincount(child, shares) / np.bincount(node, shares)[node[place]]
    return ptr, token[place], share.astype(np.float32)


def _numbered(first: Ids, second: Ids) -> Ids:
    """Number ascending pairs from 0; equal pairs get the same number."""
    is_new = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
    return np.asarray(np.cumsum(is_new) - 1)


def _firsts(keys: Ids) -> Ids:
    """Where ascending keys change."""
    return np.flatnonzero(np.diff(keys, prepend=-1))


def _joined_ranges(starts: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """All numbers of the ranges start..end-1, range by range, and the range of each."""
    lengths = ends - starts
    row = np.repeat(np.arange(len(starts)), lengths)
    return np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[row], row
