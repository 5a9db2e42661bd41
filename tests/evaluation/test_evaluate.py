from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.evaluation.evaluate import FrequencyScorer, KnownAnswers, evaluate
from rnnlogic.evaluation.ranks import METRICS, TIE_RULES, metrics
from rnnlogic.features.base import Budget
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from tests.helpers.family import family, given_rules
from tests.helpers.scorers import NothingScorer, TableScorer, make_dataset, random_case

seeds = st.integers(0, 10**6)


def ranks_by_hand(dataset, split, sides, table):
    """{(head, relation, answer): (better, tied, candidates)} for a score table [2R, E, E]."""
    num_relations = dataset.vocab.num_relations
    known = set()
    for h, r, t in np.concatenate([dataset.train, dataset.valid, dataset.test]).tolist():
        known |= {(h, r, t), (t, r + num_relations, h)}
    expected = {}
    for h, r, t in dataset.facts(split).tolist():
        both = {"tail": (h, r, t), "head": (t, r + num_relations, h)}
        for head, relation, answer in both.values() if sides == "both" else [both[sides]]:
            scores = table[relation, head]
            rest = [
                scores[e]
                for e in range(dataset.vocab.num_entities)
                if e == answer or (head, relation, e) not in known
            ]
            mine = scores[answer]
            counts = (sum(s > mine for s in rest), sum(s == mine for s in rest), len(rest))
            expected[head, relation, answer] = counts
    return expected


def found_ranks(report):
    columns = (report.ranks.better, report.ranks.tied, report.ranks.candidates)
    return dict(
        zip(
            map(tuple, report.asked.tolist()),
            zip(*(column.tolist() for column in columns), strict=True),
            strict=True,
        )
    )


@given(
    seeds, st.booleans(), st.sampled_from(["both", "tail", "head"]), st.one_of(st.none(), st.integers(1, 20))
)
def test_ranks_as_by_hand(seed, ties, sides, chunk):
    dataset, table = random_case(seed, ties)
    report = evaluate(TableScorer(table), dataset, sides=sides, chunk=chunk)
    assert found_ranks(report) == ranks_by_hand(dataset, "test", sides, table)
    assert report.queries == len(dataset.test) * (2 if sides == "both" else 1)


@given(seeds, st.integers(1, 30))
def test_chunk_size_changes_nothing(seed, chunk):
    dataset, table = random_case(seed, True)
    whole = evaluate(TableScorer(table), dataset).as_dict(relations=True)
    parts = evaluate(TableScorer(table), dataset, chunk=chunk).as_dict(relations=True)
    assert {**whole, "seconds": 0} == {**parts, "seconds": 0}


@given(seeds)
def test_sides_and_relations_add_up_to_the_whole(seed):
    dataset, table = random_case(seed, True)
    report = evaluate(TableScorer(table), dataset)
    relations = report.by_relation()
    for side in report.sides:
        rows = [(group["queries"], group[side]) for group in relations.values()]
        for name in METRICS:
            mean = sum(n * row[name] for n, row in rows) / sum(n for n, _ in rows)
            assert report.metrics(side)[name] == pytest.approx(mean)
    for side in ("tail", "head"):
        alone = evaluate(TableScorer(table), dataset, sides=side)
        assert alone.as_dict()[side] == report.as_dict()[side]
        assert report.queries == 2 * alone.queries
    tail, head = report.metrics("tail"), report.metrics("head")
    for name, value in report.metrics("both").items():
        assert value == pytest.approx((tail[name] + head[name]) / 2)


@given(seeds, st.sampled_from(["test", "valid"]))
def test_knowing_nothing_gives_the_analytic_expectation(seed, split):
    dataset, table = random_case(seed, True)
    assume(len(dataset.facts(split)) > 0)
    by_hand = ranks_by_hand(dataset, split, "both", table)
    candidates = [c for _, _, c in by_hand.values()]
    found = evaluate(NothingScorer(), dataset, split=split).metrics()
    n = len(candidates)
    assert found["mr"] == pytest.approx(sum((c + 1) / 2 for c in candidates) / n)
    harmonic = sum(sum(1 / k for k in range(1, c + 1)) / c for c in candidates) / n
    assert found["mrr"] == pytest.approx(harmonic)
    for k in (1, 3, 10):
        assert found[f"hits@{k}"] == pytest.approx(sum(min(k, c) / c for c in candidates) / n)


def test_answer_reached_by_no_rule_ranks_after_the_reached():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 5, 1)
    table = np.full((2, 5, 5), -np.inf)
    table[0, 0, [1, 4]] = 1.0, -50.0  # e1 is a known answer: only e4 stands before e0, e2, e3
    report = evaluate(TableScorer(table), dataset, sides="tail")
    assert found_ranks(report) == {(0, 0, 2): (1, 3, 4)}
    assert report.metrics("tail")["mr"] == 3.0
    assert report.metrics("tail", "pessimistic")["mr"] == 4.0


def test_equal_questions_are_scored_once_and_relations_stay_together():
    test = [[0, 1, 2], [0, 0, 1], [0, 0, 2], [1, 0, 2], [0, 0, 3]]
    scorer = TableScorer(np.zeros((4, 4, 4)))
    evaluate(scorer, make_dataset([[3, 1, 3]], [], test, 4, 2), sides="tail")
    assert scorer.asked == [[(0, 0), (1, 0), (0, 1)]]


@pytest.mark.parametrize(("evidence", "facts"), [("train", 1), ("train+valid", 2)])
def test_scorer_sees_only_the_evidence(evidence, facts):
    dataset = make_dataset([[0, 0, 1]], [[1, 0, 2]], [[0, 0, 2]], 3, 1)
    scorer = TableScorer(np.zeros((2, 3, 3)))
    report = evaluate(scorer, dataset, evidence=evidence)
    assert {len(graph) for graph in scorer.graphs} == {facts}
    assert report.as_dict()["evidence"] == evidence


def test_json_shape():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 1, 2], [2, 0, 1]], 3, 2)
    report = evaluate(TableScorer(np.zeros((4, 3, 3))), dataset)
    shape = json.loads(json.dumps(report.as_dict(relations=True)))
    head = ["dataset", "split", "evidence", "protocol", "queries", "seconds"]
    assert list(shape) == [*head, "both", "tail", "head", "relations"]
    protocol = "ranked among all entities, known answers left out"
    assert [shape[key] for key in head[:5]] == ["tiny", "test", "train", protocol, 4]
    assert shape["seconds"] > 0
    for side in ("both", "tail", "head"):
        assert list(shape[side]) == list(TIE_RULES)
        assert all(list(shape[side][rule]) == list(METRICS) for rule in TIE_RULES)
    assert list(shape["relations"]) == ["relation0", "relation1"]
    assert list(shape["relations"]["relation1"]) == ["queries", "both", "tail", "head"]
    one_side = evaluate(TableScorer(np.zeros((4, 3, 3))), dataset, sides="head")
    assert list(one_side.as_dict()) == [*head, "head"]


def test_table_has_a_row_for_each_side_and_tie_rule():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 3, 1)
    report = evaluate(TableScorer(np.zeros((2, 3, 3))), dataset)
    rows = report.table()
    assert len(str(report).splitlines()) == len(rows) + 2
    assert [(row["side"], row["queries"]) for row in rows[::3]] == [("both", 2), ("tail", 1), ("head", 1)]
    assert [row["ties"] for row in rows[:3]] == list(TIE_RULES)
    assert rows[4]["mr"] == 1.5  # the tail side, realistic: e0 and e2 tie, e1 is filtered


def test_progress_shows_the_expected_mrr_so_far():
    dataset, table = random_case(3, True)
    steps = []
    report = evaluate(TableScorer(table), dataset, chunk=4, progress=lambda *step: steps.append(step))
    first_four = metrics(report.ranks.select(slice(0, 4)))["mrr"]
    assert steps[0] == (4, report.queries, f"MRR {first_four:.3f}")
    assert steps[-1] == (report.queries, report.queries, f"MRR {report.metrics()['mrr']:.3f}")
    assert len(steps) == -(-report.queries // 4) > 2


@given(seeds)
def test_known_answers_are_the_neighbours(seed):
    dataset, _ = random_case(seed, True)
    graph = dataset.graph("all")
    heads, relations = np.array(
        [(h, r) for r in range(2 * graph.num_relations) for h in np.unique(graph.edges(r)[0])], dtype=np.int32
    ).T
    rows, entities = KnownAnswers(graph).pairs(heads, relations)
    for row, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        assert entities[rows == row].tolist() == graph.neighbours(head, relation).tolist()


@pytest.mark.parametrize(
    ("split", "evidence"), [("test", "all"), ("valid", "all"), ("valid", "train+valid"), ("train", "train")]
)
def test_evidence_that_contains_the_answers_is_refused(split, evidence):
    dataset = make_dataset([[0, 0, 1]], [[1, 0, 2]], [[0, 0, 2]], 3, 1)
    with pytest.raises(RNNLogicError, match="contain the facts asked for"):
        evaluate(NothingScorer(), dataset, split=split, evidence=evidence)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sides": "left"}, "'left'.*both, tail, head"),
        ({"evidence": "valid"}, "'valid'.*train or train\\+valid"),
        ({"chunk": 0}, "chunk"),
        ({"split": "dev"}, "dev"),
        ({"split": "valid"}, "no facts in split 'valid'"),
    ],
)
def test_wrong_settings_say_what_is_wrong(settings, message):
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 3, 1)
    with pytest.raises(RNNLogicError, match=message):
        evaluate(NothingScorer(), dataset, **settings)


def test_nan_is_reported_with_the_query_and_the_entity():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2], [1, 0, 2]], 3, 1)
    table = np.zeros((2, 3, 3))
    table[1, 2, 1] = np.nan
    with pytest.raises(RNNLogicError, match=r"NaN.*'e1'.*\(e2, relation0\^-1, \?\)"):
        evaluate(TableScorer(table), dataset)


def test_scores_of_the_wrong_shape_are_refused():
    dataset = make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 3, 1)
    with pytest.raises(ValueError, match=r"\(1, 2\).*\(1, 3\)"):
        evaluate(TableScorer(np.zeros((2, 3, 2))), dataset, sides="tail")


def test_side_that_was_not_asked_is_refused():
    report = evaluate(NothingScorer(), make_dataset([[0, 0, 1]], [], [[0, 0, 2]], 3, 1), sides="tail")
    with pytest.raises(RNNLogicError, match="'both' was not evaluated; this report has tail"):
        report.metrics()


def test_a_sample_of_the_facts_is_filtered_like_the_whole():
    dataset = load_dataset("nations")
    whole = evaluate(FrequencyScorer(), dataset, "test")
    part = evaluate(FrequencyScorer(), dataset, "test", most_facts=50)
    assert part.queries == 100
    ranks = {
        tuple(row): rank for row, rank in zip(whole.asked.tolist(), whole.ranks.better.tolist(), strict=True)
    }
    assert [ranks[tuple(row)] for row in part.asked.tolist()] == part.ranks.better.tolist()
    assert (
        evaluate(FrequencyScorer(), dataset, "test", most_facts=10**6).as_dict()["both"]
        == whole.as_dict()["both"]
    )


def test_a_report_says_what_the_budget_left_out(monkeypatch):
    dataset = family()
    rules = given_rules(dataset).rules
    scorer = RuleScorer(rules, np.ones(len(rules)), threads=1)
    exact = evaluate(scorer, dataset, "valid")
    assert exact.budget == ""
    assert "budget" not in exact.as_dict()
    monkeypatch.setattr("rnnlogic.features.ground.default_budget", lambda graph: Budget(1, 1))
    cut = evaluate(scorer.apart(), dataset, "valid")
    steps, hubs, _ = cut.cuts.tolist()
    assert 0 < hubs < steps
    assert cut.as_dict()["budget"] == cut.budget
    assert f"edges at {hubs:,} hubs" in cut.budget
