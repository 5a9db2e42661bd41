"""Features, rules with constants and conditions beside the chains of a fit."""

from __future__ import annotations

from dataclasses import replace

from rnnlogic.config import Config, changed
from rnnlogic.data.graph import Graph
from rnnlogic.fit.given import Edits
from rnnlogic.mining.conditions import mine_conditions
from rnnlogic.mining.constants import mine_constants
from rnnlogic.predictors.base import Predictor, Task
from rnnlogic.rules.features import of_groups
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Feature
from rnnlogic.rules.ruleset import RuleSet

NO_RULES = RuleSet.from_rules([])


def evidence_rules(graph: Graph, config: Config, banned: Banned, constants: RuleSet) -> RuleSet:
    """Features for every relation with facts, and rules with constants, as the settings want them."""
    names = of_groups(config.evidence.groups)
    relations = [r for r in range(2 * graph.num_relations) if len(graph.edges(r)[0])]
    named = banned.keep(RuleSet.from_rules(Feature(r, name) for r in relations for name in names))
    return named | constants if config.evidence.constant_rules else named


def with_features(task: Task, predictor: type[Predictor], edits: Edits) -> Task:
    """The task with all features and rules with constants that its settings want."""
    if not predictor.uses_evidence:
        return task
    config, graph, constants = task.config, task.dataset.graph("train"), NO_RULES
    if not predictor.uses_constants:
        config = changed(config, {"evidence": {"surest": False}})
    elif config.evidence.constant_rules:
        constants = mine_constants(graph.likely, config.evidence.constant_rules, edits.banned, task.threads)
    rules = task.rules | evidence_rules(graph, config, edits.banned, constants)
    if predictor.uses_constants:
        kinds = [one.kind for one in task.dataset.vocab.attributes]
        rules |= mine_conditions(graph.likely, kinds, config.evidence.conditions, edits.banned, task.threads)
    rules |= edits.constants
    return replace(task, rules=rules, config=config)
