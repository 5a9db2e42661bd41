"""Mining as a whole: search, statistics, selection; without torch."""

import subprocess
import sys

import numpy as np
import pytest

from rnnlogic.base.budget import Work
from rnnlogic.mining.mine import best_per_head, find_candidates, mine_rules
from rnnlogic.mining.settings import MineSettings
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.statistics import rule_statistics, training_queries
from tests.helpers.family import family, write_family

DATASET = family()
GRAPH = DATASET.graph("train")
SETTINGS = MineSettings(keep=5, smoothing=10, queries_per_relation=20)


def test_best_per_head():
    rules = RuleSet.from_rules([Chain(0, (1,)), Chain(0, (2,)), Chain(1, (2,)), Chain(0, (3,))])
    assert best_per_head(rules, np.array([0.1, 0.5, 0.2, 0.3]), 2).tolist() == [1, 3, 2]
    assert len(best_per_head(RuleSet.from_rules([]), np.zeros(0), 2)) == 0


def test_the_best_of_each_head_with_their_figures():
    mined = mine_rules(GRAPH, SETTINGS, 2, seed=3, work=Work(2))
    candidates = find_candidates(GRAPH, SETTINGS, 2, seed=3)
    everything = rule_statistics(GRAPH, candidates.rules, training_queries(GRAPH, 20, 3))
    quality = dict(zip(candidates.rules, everything.quality(10), strict=True))
    joined = dict(zip(candidates.rules, candidates.joined, strict=True))
    assert mined.statistics.quality(10).tolist() == [quality[rule] for rule in mined.rules]
    assert mined.joined.tolist() == [joined[rule] for rule in mined.rules]
    for head in candidates.rules.head_relations().tolist():
        best = sorted((quality[rule] for rule in candidates.rules if rule.head == head), reverse=True)[:5]
        assert [quality[rule] for rule in mined.rules if rule.head == head] == best


def test_most_candidates_are_dropped_after_some_of_the_queries():
    many = SETTINGS.model_copy(update={"keep": 20, "candidates": 60})
    few = SETTINGS.model_copy(update={"keep": 21, "candidates": 60})  # not so many more: nothing is halved
    halved, whole = (mine_rules(GRAPH, one, 3, work=Work(1)) for one in (many, few))
    expected = rule_statistics(GRAPH, halved.rules, training_queries(GRAPH, 20, 0))
    assert halved.statistics.support.tolist() == expected.support.tolist()
    assert halved.statistics.wrong.tolist() == expected.wrong.tolist()
    for head in whole.rules.head_relations().tolist():
        best = [{*found.rules[found.rules.by_head(head)[:10]]} for found in (halved, whole)]
        assert len(best[0] & best[1]) >= 8


def test_a_banned_rule_makes_room_for_another():
    head = DATASET.vocab.relation_id("grandparent")
    found = mine_rules(GRAPH, SETTINGS, 3).rules
    best, *others = (found[int(i)] for i in found.by_head(head))
    left = mine_rules(GRAPH, SETTINGS, 3, Banned([best], DATASET.vocab)).rules
    assert best not in left
    assert [left[int(i)] for i in left.by_head(head)][:-1] == others
    assert len(left.by_head(head)) == SETTINGS.keep


def test_progress_covers_the_search_and_the_statistics():
    seen = []
    mine_rules(GRAPH, SETTINGS, 2, work=Work(tick=lambda done, total: seen.append((done, total))))
    queries = len(training_queries(GRAPH, 20, 0))
    searched = [total for done, total in seen if done == total]
    assert searched[0] >= GRAPH.num_relations
    assert seen[-1] == (queries, queries)


MINE = """
from rnnlogic.cli import app
app(["mine", sys.argv[1], "-o", sys.argv[2], "--most", "3", "--max-length", "2"], standalone_mode=False)
"""
PATHRANK = """
from rnnlogic.data.dataset import load_dataset
from paper.baselines.pathrank import PathRankSettings, fit_pathrank
scorer = fit_pathrank(load_dataset(sys.argv[1]), PathRankSettings(rules=5, steps=3))
open(sys.argv[2], "w").write(f"{len(scorer.rules)} rules")
"""


@pytest.mark.parametrize("code", [MINE, PATHRANK], ids=["mine", "pathrank"])
def test_no_torch(code, tmp_path):
    data, output = write_family(tmp_path / "family.tsv"), tmp_path / "out"
    ending = 'print("torch" in sys.modules)'
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{ending}", data, str(output)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"
    assert output.read_text()
