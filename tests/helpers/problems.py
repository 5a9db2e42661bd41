"""Random small training problems."""

import numpy as np
from hypothesis import strategies as st

from rnnlogic.features.kernels import ANSWER
from rnnlogic.features.table import joined
from rnnlogic.predictors.loglinear.fit import Job, examples_of
from rnnlogic.predictors.loglinear.settings import LogLinearSettings
from tests.helpers.walks import candidates_of

NUM_RULES = 4


@st.composite
def problems(draw):
    """Queries with candidates, each reached by some rules; at most one candidate is the answer."""
    query_ptr, candidate_ptr, rule, value, label = [0], [0], [], [], []
    for _ in range(draw(st.integers(1, 4))):
        candidates = draw(st.integers(0, 8))
        labels = draw(st.lists(st.sampled_from([0, 2]), min_size=candidates, max_size=candidates))
        if candidates and draw(st.booleans()):
            labels[draw(st.integers(0, candidates - 1))] = ANSWER
        for _ in range(candidates):
            reached_by = draw(st.lists(st.integers(0, NUM_RULES - 1), min_size=1, unique=True))
            rule += sorted(reached_by)
            value += [draw(st.integers(1, 9)) / 4 for _ in reached_by]
            candidate_ptr.append(len(rule))
        label += labels
        query_ptr.append(len(label))
    return candidates_of(query_ptr, candidate_ptr, rule, value, label)


def examples(grounder, queries, values, leave_out=True, most=10**6):
    """Training queries of one relation, grounded, each with its own fact hidden."""
    changes = {"other_answers": "exclude" if leave_out else "negative", "results_per_relation": most}
    job = Job(grounder, LogLinearSettings().model_copy(update=changes), 0, values, None)
    return joined(list(examples_of(job, np.column_stack([queries, queries[:, 2]]))))
