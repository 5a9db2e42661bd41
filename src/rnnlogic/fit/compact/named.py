"""The rules that people would name, which a compact model keeps."""

from __future__ import annotations

import numpy as np

from rnnlogic.features.base import UNSEEN
from rnnlogic.fit.compact.types import Columns, Floats, Ids, Teacher
from rnnlogic.rules.rule import CLOSE, reading_order

LEAST_SHARE = 0.002  # of a relation's answers: a rule that is named for fewer may go


def named_rules(columns: Columns, target: Floats, confidence: Floats, order: Ids) -> Ids:
    """The rules that are named for many answers, the most frequent first.

    For each candidate that is, of the rules that reach it with a confidence close to the best, the first in
    `order` [rules]. `target` [candidates] is how probable each is. Confidence 0: never named.
    """
    rule = np.repeat(np.arange(len(confidence)), np.diff(columns.ptr))
    best = np.zeros(len(target))
    np.maximum.at(best, columns.candidate, confidence[rule])
    is_close = (confidence[rule] > 0) & (confidence[rule] >= CLOSE * best[columns.candidate])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.full(len(target), len(order))
    np.minimum.at(first, columns.candidate[is_close], place[rule[is_close]])
    has_one = first < len(order)
    worth = np.bincount(order[first[has_one]], target[has_one], len(order))
    named = np.argsort(-worth, kind="stable")
    is_frequent = worth[named] >= LEAST_SHARE * target.sum()
    return np.asarray(named[is_frequent], np.int64)


def naming(teacher: Teacher, ids: Ids, allowed: Ids) -> tuple[Floats, Ids]:
    """Confidence of a relation's rules (0: not to be named), and their order for a reader.

    Rules of which few cases are known have the smaller confidence that explanations show.
    """
    rules = teacher.rules
    support, share = teacher.support[ids], np.maximum(teacher.confidence[ids], 1e-9)
    confidence = np.zeros(len(ids))
    confidence[allowed] = (support / (support / share + UNSEEN))[allowed]
    confidence[rules.are_features[ids] | (teacher.signs[ids] < 0)] = 0.0
    keys = [reading_order(rules[int(i)], teacher.graph.num_relations) for i in ids]
    order = sorted(range(len(ids)), key=lambda i: (keys[i], -support[i] * confidence[i]))
    return confidence, np.array(order, np.int64)
