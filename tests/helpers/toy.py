"""A predictor that is no part of the package: an answer counts the rules that reach it."""

from dataclasses import dataclass

import numpy as np

from rnnlogic.features.ground import Grounder
from rnnlogic.features.table import Scored
from rnnlogic.predictors.base import Contributions, Predictor, reaching
from rnnlogic.predictors.table import Entry

NAME = "toy"
ENTRY = Entry(
    "tests.helpers.toy:Toy", needs_embedding=False, given_rules_suffice=False, like=None, help="counts rules"
)


@dataclass(eq=False)
class Toy(Predictor):
    rules: object
    weights: np.ndarray
    feature: str = "binary"

    @classmethod
    def fit(cls, task):
        return cls(task.rules, np.ones(len(task.rules)))

    def scored(self, graph, heads, relations, hidden=None):
        for part in Grounder(graph, self.rules, 1).ground(heads, relations, hidden):
            found = part.candidates()
            yield Scored(found.queries, found.query_ptr, found.entity, np.diff(found.candidate_ptr) * 1.0)

    def contributions(self, graph, head, relation, tail, is_hidden=False):
        found = reaching(Grounder(graph, self.rules, 1), head, relation, tail, is_hidden)
        ones = np.ones(len(found.rule))
        return Contributions(found.rule_id, found.count, ones, None, ones, None)

    def pack(self):
        return {"weights": self.weights}

    @classmethod
    def unpack(cls, arrays, rules, config, embedding):
        return cls(rules, arrays["weights"])

    def moved(self, move):
        return Toy(move.rules, self.weights[move.kept])
