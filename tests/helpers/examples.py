"""Training examples written out by hand."""

import numpy as np

from rnnlogic.features.kernels import ANSWER, WRONG
from rnnlogic.features.table import Candidates

RULES = 3


def candidates(queries):
    """Queries as lists of candidates, each the list of rules that reach it; the first is the answer."""
    flat = [rules for query in queries for rules in query]
    label = [ANSWER if i == 0 else WRONG for query in queries for i in range(len(query))]
    rule = np.array([k for rules in flat for k in rules], np.int32)
    return Candidates(
        0,
        np.arange(len(queries)),
        np.arange(len(queries), dtype=np.int32),
        np.append(0, np.cumsum([len(query) for query in queries])),
        np.arange(len(flat), dtype=np.int32),
        np.append(0, np.cumsum([len(rules) for rules in flat])),
        rule,
        np.ones(len(rule), np.int32),
        np.arange(RULES),
        np.ones(RULES, bool),
        np.ones(len(rule), np.float32),
        np.array(label, np.int8),
    )
