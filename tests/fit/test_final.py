"""The rules that the final weights are learned for."""

import numpy as np

from rnnlogic.config import changed
from rnnlogic.fit.em import LEAST, numbers_of_rules
from rnnlogic.fit.final import pooled_rules
from rnnlogic.fit.learn import learn
from rnnlogic.fit.result import MemoryStore
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet, pack_rules
from tests.helpers.family import family, tiny_config


def test_the_most_selected_rules_of_each_round_are_pooled():
    first = [Chain(0, (1,)), Chain(0, (2,)), Chain(0, (3,)), Chain(1, (0,))]
    second = [Chain(0, (4,)), Chain(0, (2,)), Chain(0, (5,))]
    store = MemoryStore()
    for number, (rules, shares) in enumerate([(first, [0.1, 0.6, 0.3, 1.0]), (second, [0.5, 0.4, 0.1])], 1):
        saved = pack_rules(RuleSet.from_rules(rules)) | {"selections": np.array(shares)}
        store.save(f"round-{number}", saved)
    assert set(pooled_rules(store, 2)) == {first[1], first[2], first[3], second[0]}
    assert len(pooled_rules(MemoryStore(), 2)) == 0


def test_a_fit_uses_the_pool():
    config = changed(tiny_config(), {"final": {"pooled": True, "rules": 5}, "compact": {"enabled": False}})
    store = MemoryStore()
    learned = learn(family(), config, store, lambda *_: None)
    assert set(learned.predictor.rules) == set(pooled_rules(store, 5))
    assert max(np.bincount(learned.predictor.rules.heads)) <= 5 * config.em.rounds


def test_fewer_rules_are_generated_where_mining_found_few():
    graph = family().graph("train")
    relations = 2 * graph.num_relations
    mined = np.arange(relations)
    wanted = numbers_of_rules(graph, 100, 20.0, mined)
    assert wanted.tolist() == [
        min(100, max(LEAST, 2 ** int(np.ceil(np.log2(20 * max(n, 0.1)))))) for n in mined
    ]
    assert numbers_of_rules(graph, 100, None, mined).tolist() == [100] * relations
    assert numbers_of_rules(graph, 100, 20.0, None).tolist() == [100] * relations
