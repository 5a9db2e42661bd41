"""Finding entities and relations by name or label as people type: beginnings, parts, and misspellings.

All texts are kept casefolded and sorted, so those that begin with a text are a range. Parts and misspellings
are found by the triples of letters that texts share with the query: an index gives few candidates, and only
these are compared letter by letter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BUCKETS = 1 << 16  # triples of letters are kept by a hash; texts of the same bucket cost time, never results
POSTINGS = 200_000  # read for one query: triples that are rare come first
CANDIDATES = 400  # texts compared letter by letter
BLOCK = 100_000  # texts indexed at a time
SIMILAR = 55.0  # of 100: less similar texts are not found
BEGINNING_TIER = 1  # of what begins with the query; what is equal comes before it
SIMILAR_TIER = 4  # of what a query found by letters alone
LAST = "\U0010ffff"

Ids = NDArray[np.int32]


class Found(NamedTuple):
    """Something that a query found; the lower `tier`, the closer: equal, beginning, word, part, similar."""

    id: int
    tier: int


class NameIndex:
    """Names and labels of things 0..n-1; `weight` [n] decides among equally good ones."""

    def __init__(self, names: Sequence[str], labels: Sequence[str], weight: NDArray[np.integer]) -> None:
        texts = [(name.casefold(), i) for i, name in enumerate(names)]
        texts += [
            (label.casefold(), i)
            for i, (name, label) in enumerate(zip(names, labels, strict=True))
            if label != name
        ]
        texts.sort()
        self._texts = [text for text, _ in texts]
        self._ids = np.array([i for _, i in texts], np.int32)
        self._weight = np.asarray(weight)
        self._ptr, self._postings = _index(self._texts)

    def __len__(self) -> int:
        return len(self._weight)

    def is_unknown(self, text: str) -> bool:
        """Whether no name and no label is this text, in whatever case."""
        folded = text.casefold()
        place = bisect_left(self._texts, folded)
        return place == len(self._texts) or self._texts[place] != folded

    def find(self, query: str, limit: int) -> list[Found]:
        """The best `limit` things, each once: equal, beginning, word, part, similar; heavy ones first."""
        wanted = " ".join(query.casefold().split())
        if not wanted or limit < 1:
            return []
        found: dict[int, int] = {}
        for one in self._beginning(wanted, limit):
            found.setdefault(one.id, one.tier)
        if len(found) < limit:
            for one in self._similar(wanted):
                found.setdefault(one.id, one.tier)
        return [Found(i, tier) for i, tier in list(found.items())[:limit]]

    def closest(self, query: str) -> list[int]:
        """All things that match, the best first; only similar ones if there are no others."""
        found = self.find(query, len(self))
        close = [one.id for one in found if one.tier < SIMILAR_TIER]
        return close or [one.id for one in found]

    def _beginning(self, wanted: str, limit: int) -> Iterator[Found]:
        first, last = bisect_left(self._texts, wanted), bisect_right(self._texts, wanted + LAST)
        equal = bisect_right(self._texts, wanted, first, last)
        for start, end, tier in ((first, equal, 0), (equal, last, 1)):
            ids = self._ids[start:end]
            weight = self._weight[ids]
            if len(ids) > 4 * limit:  # a thing may be there by name and label
                best = np.argpartition(-weight, 2 * limit)[: 2 * limit]
                ids, weight = ids[best], weight[best]
            order = np.lexsort((ids, -weight))
            yield from (Found(i, tier) for i in ids[order].tolist())

    def _similar(self, wanted: str) -> Iterator[Found]:
        from rapidfuzz.fuzz import WRatio

        scored = []
        for place in self._candidates(wanted).tolist():
            text, one = self._texts[place], int(self._ids[place])
            at = text.find(wanted)
            tier = SIMILAR_TIER if at < 0 else 2 if at == 0 or not text[at - 1].isalnum() else 3
            alike = 100.0 if tier < SIMILAR_TIER else WRatio(wanted, text, score_cutoff=SIMILAR)
            if alike:
                scored.append((tier, -alike if tier == SIMILAR_TIER else 0.0, -int(self._weight[one]), one))
        return (Found(one, tier) for tier, _, _, one in sorted(scored))

    def _candidates(self, wanted: str) -> NDArray[np.intp]:
        """Places of the texts that share most triples of letters with the query."""
        buckets = np.unique(_triples(wanted))
        lists = [self._postings[self._ptr[b] : self._ptr[b + 1]] for b in buckets.tolist()]
        read: list[Ids] = []
        room = POSTINGS
        for postings in sorted(lists, key=len):
            read.append(postings[:room])
            room -= len(postings)
            if room <= 0:
                break
        if not sum(map(len, read)):
            return np.empty(0, np.intp)
        sorted_places = np.sort(np.concatenate(read))
        first = np.flatnonzero(np.append(True, sorted_places[1:] != sorted_places[:-1]))
        places, shared = sorted_places[first], np.diff(np.append(first, len(sorted_places)))
        if len(places) <= CANDIDATES:
            return np.asarray(places, np.intp)
        most = np.flatnonzero(shared == shared.max())[: 4 * CANDIDATES]
        lengths = np.array([len(self._texts[i]) for i in places[most].tolist()])
        short = most[np.argsort(lengths, kind="stable")]  # of those that share as much, the nearest
        others = np.argsort(-shared, kind="stable")[:CANDIDATES]
        return np.asarray(places[np.concatenate([short, others])[:CANDIDATES]], np.intp)


def _triples(text: str) -> NDArray[np.int64]:
    """Buckets of all triples of letters of a text."""
    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    return _buckets(letters) if len(letters) >= 3 else np.empty(0, np.int64)


def _buckets(letters: NDArray[np.int64]) -> NDArray[np.int64]:
    mixed = (letters[:-2] * 1_000_003 + letters[1:-1]) * 1_000_003 + letters[2:]
    return np.asarray((mixed * 2_654_435_761 >> 13) & (BUCKETS - 1))


def _index(texts: Sequence[str]) -> tuple[NDArray[np.int64], Ids]:
    """Where the postings of each bucket begin [BUCKETS+1], and the places of texts, ascending in a bucket."""
    buckets, places = [np.empty(0, np.uint16)], [np.empty(0, np.int32)]
    for start in range(0, len(texts), BLOCK):
        block = texts[start : start + BLOCK]
        lengths = np.array([len(text) for text in block], np.int64)
        letters = np.frombuffer("".join(block).encode("utf-32-le", "surrogatepass"), np.uint32)
        owner = np.repeat(np.arange(start, start + len(block), dtype=np.int32), lengths)
        if len(letters) < 3:
            continue
        within = owner[2:] == owner[:-2]
        bucket = _buckets(letters.astype(np.int64))[within]
        pairs = np.sort(bucket << 32 | owner[2:][within])  # many times faster than np.unique
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs
        buckets.append((pairs >> 32).astype(np.uint16))
        places.append((pairs & 0xFFFFFFFF).astype(np.int32))
    bucket = np.concatenate(buckets)
    order = np.argsort(bucket, kind="stable")  # a radix sort, as there are few buckets
    ptr = np.zeros(BUCKETS + 1, np.int64)
    ptr[1:] = np.cumsum(np.bincount(bucket, minlength=BUCKETS))
    return ptr, np.concatenate(places)[order]
