"""Random candidates with the rules that reach them."""

import numpy as np

from rnnlogic.features.table import Candidates
from tests.helpers.walks import candidates_of

NUM_RULES = 6


def random_candidates(seed: int, number: int = 7) -> Candidates:
    """Each candidate is reached by none to all of the rules; the first by none, the second by one."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([[0, 1], rng.integers(0, NUM_RULES + 1, number - 2)])
    rule = [np.sort(rng.permutation(NUM_RULES)[:size]) for size in sizes]
    ptr = np.cumsum([0, *sizes])
    value = rng.uniform(0.5, 3, ptr[-1])
    return candidates_of([0, number], ptr, np.concatenate(rule).astype(np.uint16), value, relation=1)


def dense(candidates: Candidates) -> np.ndarray:
    """Values [c, rules], 0 where a rule does not reach a candidate."""
    table = np.zeros((len(candidates.candidate_ptr) - 1, NUM_RULES))
    of = np.repeat(np.arange(len(table)), np.diff(candidates.candidate_ptr))
    table[of, candidates.rule] = candidates.value
    return table
