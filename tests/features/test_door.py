"""The door of features: what every source and aggregate keeps to, and guests that know no other file."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

import rnnlogic as rl
from rnnlogic.config import changed, preset_for
from rnnlogic.data.graph import Graph
from rnnlogic.features import named as named_sources
from rnnlogic.features import reference as plain_ops
from rnnlogic.features.aggregates import AGGREGATES, Fold, NoisyOr
from rnnlogic.features.base import Answers, Batch, Place, Query, Rows, Source, Stage, Term, find_items
from rnnlogic.features.chains import reference as plain_chains
from rnnlogic.features.chains import source as chains
from rnnlogic.features.constants import reference as plain_constants
from rnnlogic.features.constants import source as summaries
from rnnlogic.features.ground import Grounder
from rnnlogic.features.named import owned
from rnnlogic.features.sources import SOURCES, counts_paths, terms_of
from rnnlogic.rules.conditions import Condition, Interval
from rnnlogic.rules.features import FEATURES, Meaning
from rnnlogic.rules.rule import NONE, Chain, Constant, Feature
from rnnlogic.rules.ruleset import RuleSet
from tests.golden.defaults import SMALL
from tests.helpers.family import family_facts

ENTITIES, RELATIONS = 7, 2
BODIES = [Chain(0, body) for body in ((1,), (2,), (1, 3), (0, 2, 0), (3, 3, 1))]
CONSTANTS = [Constant(0, 1, 2, NONE), Constant(0, 3, 4, 1), Constant(0, 1, 3, NONE, True)]
CONDITIONS = [
    Condition(0, 2, 0, -1, Interval(low=2.0)),
    Condition(0, 3, -1, 0, Interval(1.0, 4.0)),
    Condition(0, -1, 0, 1, Interval(high=1.0)),
]
RULES = RuleSet.from_rules([*BODIES, *(Feature(0, name) for name in FEATURES), *CONSTANTS, *CONDITIONS])
TWINS = {  # where a source calls its kernel, and the plain twin; others have none
    "chains": (chains.kernels, "ground_counts", plain_chains.ground_counts),
    "exclusions": (named_sources, "describe_links", plain_ops.describe_links),
    "base_rate": (named_sources, "describe_rates", plain_ops.describe_rates),
    "summaries": (summaries, "summarise", plain_constants.summarise),
}
VALUES = np.array([[0, 1, 2, 3, 4, 5, np.nan], [3, 1, 4, 1, np.nan, 5, 9]])
# Of these a hidden fact changes its own answer only
LOCAL = ("summaries", "base_rate", "exclusions", "conditions")
HIDE = ("nothing", "own fact", "all links")


def random_graph(seed):
    rng = np.random.default_rng(seed)
    facts = rng.integers(0, (ENTITIES, RELATIONS, ENTITIES), (36, 3))
    return Graph.from_triples(facts, ENTITIES, RELATIONS).valued(VALUES)


def batch_of(graph, hide):
    heads, tails = graph.edges(0)
    hidden = {"nothing": np.full_like(tails, -1), "own fact": tails, "all links": -2 - tails}[hide]
    return Batch(np.arange(len(heads)), 0, heads, hidden.astype(np.int32))


def everything(queries):
    """All entities as answers of every query, for sources that describe what others found."""
    entity = np.tile(np.arange(ENTITIES, dtype=np.int32), queries)
    return Answers(np.arange(queries + 1) * ENTITIES, entity)


def rows_of(source, graph, batch):
    """What a source gives: (query, entity, place in RULES) with the value."""
    own = np.flatnonzero(source.owns(RULES))
    place = Place(graph, 0, RULES[own], own, lambda: find_items(graph), None)
    rows = source.on(place).rows(batch, everything(len(batch.heads)), 10**6)
    cell, queries = np.repeat(np.arange(len(rows.ptr) - 1), np.diff(rows.ptr)), len(batch.heads)
    assert len(rows.ptr) == len(rows.place) * queries + 1
    assert set(rows.place.tolist()) <= set(own.tolist())
    keys = zip(
        batch.positions[cell % queries].tolist(),
        rows.entity.tolist(),
        rows.place[cell // queries].tolist(),
        strict=True,
    )
    found = dict(zip(keys, rows.value.tolist(), strict=True))
    assert len(found) == len(rows.entity), "no entity twice"
    return found


@pytest.mark.parametrize("hide", HIDE)
@pytest.mark.parametrize("name", SOURCES)
def test_sources_give_the_rows_of_their_twins_however_queries_are_cut(name, hide, monkeypatch):
    compared = 0
    for seed in range(3):
        graph = random_graph(seed)
        batch = batch_of(graph, hide)
        found = rows_of(SOURCES[name], graph, batch)
        halves = [rows_of(SOURCES[name], graph, half) for half in batch.halves()]
        assert found == halves[0] | halves[1]
        if name in TWINS:
            with monkeypatch.context() as patch:
                patch.setattr(*TWINS[name])
                expected = rows_of(SOURCES[name], graph, batch)
            assert found.keys() == expected.keys()
            assert [found[key] for key in found] == pytest.approx([expected[key] for key in found])
        compared += len(found)
    assert compared > 20


@pytest.mark.parametrize("name", SOURCES)
def test_a_hidden_fact_is_as_if_it_were_not_there(name):
    graph, compared, is_exact = random_graph(3), 0, name not in LOCAL
    batch = batch_of(graph, "own fact")
    for i, (head, tail) in enumerate(zip(batch.heads.tolist(), batch.hidden.tolist(), strict=True)):
        if head == tail:  # counts twice among the facts of an entity
            continue
        others = [fact for fact in graph.triples().tolist() if fact != [head, 0, tail]]
        without = Graph.from_triples(others, ENTITIES, RELATIONS).valued(VALUES)
        one = Batch(*(column[i : i + 1] if np.ndim(column) else column for column in batch))
        asked = (graph, one), (without, one._replace(hidden=np.array([-1], np.int32)))
        found, expected = (
            {key: value for key, value in rows_of(SOURCES[name], *each).items() if key[1] == tail or is_exact}
            for each in asked
        )
        assert found == pytest.approx(expected)
        compared += len(found)
    assert compared


def test_every_rule_has_one_source_or_is_an_aggregate():
    owners = sum(source.owns(RULES).astype(int) for source in SOURCES.values())
    assert (owners + owned(RULES, AGGREGATES) == 1).all()
    assert counts_paths(RULES).tolist() == (~RULES.are_features).tolist()


@pytest.mark.parametrize("kind", [*map(type, AGGREGATES.values()), NoisyOr])
def test_aggregates_fold_what_is_left_of_a_table(kind, monkeypatch):
    """A mask over rules gives what grounding with these rules gives."""
    name, graph = next(iter(AGGREGATES)), random_graph(0)
    monkeypatch.setitem(AGGREGATES, name, kind())
    rng, compared = np.random.default_rng(1), 0
    rules = RuleSet.from_rules([*BODIES, Feature(0, name)]).trusted([0.5, 0.3, 0.2, 0.9, 0.4, 0.0])
    for _ in range(5):
        kept = np.append(rng.random(len(BODIES)) < 0.6, True)
        for part in Grounder(graph, rules, 1).candidates(np.arange(ENTITIES), 0):
            (fold,) = part.folds
            masked = replace(fold, strength=np.where(kept, fold.strength, np.float32(0)))
            candidate = np.repeat(np.arange(len(part)), np.diff(part.candidate_ptr))
            values = masked.values(candidate, part.rule, len(part))
            strength = kind().strengths(rules[kept])
            for c in range(len(part)):
                reached = part.rule[slice(*part.candidate_ptr[c : c + 2])].tolist()
                left = [i for i in reached if kept[i] and i < len(BODIES)]
                numbers = np.array([strength[kept[:i].sum()] for i in left], np.float32)
                column = kind().fold(np.zeros(len(left), int), np.arange(len(left)), numbers, 1)
                assert values[c] == pytest.approx(float(column[0]))
                if len(left):
                    assert kind().decide(numbers, np.full(len(left), column[0])).any()
                    assert (kind().weights(numbers) >= 0).all()
                    assert kind().weights(numbers).sum() > 0
                compared += len(left) > 1
    assert compared > 20


# ---- Guests: everything that the program knows of them stands here.


class Next(Source):
    """The answer is the entity with the next id."""

    stage, counts_paths = Stage.REACHES, False

    def owns(self, rules):
        return owned(rules, ["next"])

    def on(self, place):
        return ReadyNext(place)

    def terms(self, graph, name, query):
        return [Term(Constant(query.relation, 0, query.tail, NONE), 7, 9, 0.5)] if name == "next" else []


@dataclass
class ReadyNext:
    place: Place

    def rows(self, batch, answers, most):
        entity = (batch.heads + 1) % self.place.graph.num_entities
        ptr = np.arange(len(entity) + 1)
        return Rows(self.place.place, ptr, entity.astype(np.int32), np.full(len(entity), 2.0, np.float32))


class Votes:
    """How confident the rules are in all."""

    def strengths(self, rules):
        return np.where(rules.are_chains, rules.trust, np.float32(0))

    def fold(self, candidate, rule, strength, size):
        return np.bincount(candidate, strength[rule], minlength=size).astype(np.float32)

    def decide(self, strength, value):
        return strength > 0

    def weights(self, strength):
        return strength.astype(float)


@pytest.fixture
def guests(monkeypatch):
    monkeypatch.setitem(FEATURES, "next", Meaning("next", "base_rate", "Y comes after X", True))
    monkeypatch.setitem(SOURCES, "next", Next())
    for table, of_votes in (
        (FEATURES, Meaning("votes", "best_rule", "rules vote", False)),
        (AGGREGATES, Votes()),
    ):
        monkeypatch.delitem(table, "best_chain")
        monkeypatch.setitem(table, "votes", of_votes)


def facts(people):
    """Families, and people in a queue, in the order of their ids."""
    queue = [f"queue {i:02}" for i in range(people)]
    return [*family_facts(), *((a, "before", b) for a, b in pairwise(queue))]


def test_guests_are_learned_compacted_explained_listed_saved_and_moved(guests, tmp_path):
    data = rl.load_dataset(facts(60), ratios=(60, 20, 20), name="queue")
    model = rl.RNNLogic(changed(preset_for(data), SMALL)).fit(data)
    assert model.config.compact.enabled
    texts = {rule.text: rule.weight for rule in model.rules()}
    assert texts["before(X,Y) <- [next]"] > 0.3
    votes = [text for text in texts if text.endswith("[votes]")]
    assert votes
    asked = next((h, r, t) for h, r, t in data.test.tolist() if data.vocab.relations[r] == "before")
    told = model.explain(*(names[i] for names, i in zip(named(data), asked, strict=True)))
    assert told.score == pytest.approx(math.fsum(one.contribution for one in told.contributions))
    assert any(isinstance(one.chain, Constant) and one.record.right == 7 for one in told.contributions)
    require_split(model, data, votes)
    saved = rl.RNNLogic.load(model.save(tmp_path / "model"))
    assert saved.learned.rules == model.learned.rules
    queue = "queue 02", "before"
    assert [(a.entity, a.score) for a in saved.predict(*queue)] == [
        (a.entity, a.score) for a in model.predict(*queue)
    ]
    moved = model.on(rl.load_dataset(facts(20), ratios=(60, 20, 20), name="shorter"))
    assert moved.transfer.dropped == 0
    assert moved.predict(*queue, known="keep")[0].entity == "queue 03"


def named(data):
    return data.vocab.entities, data.vocab.relations, data.vocab.entities


def require_split(model, data, votes):
    """What an aggregate adds is with the rules behind it: weights of chains times values sum to the score."""
    split, weights = 0, {rule.text: rule.weight for rule in model.rules()}
    for fact in data.test.tolist():
        told = model.explain(*(names[i] for names, i in zip(named(data), fact, strict=True)))
        if told.contributions:
            assert told.score == pytest.approx(math.fsum(one.contribution for one in told.contributions))
        own = {one.rule: one.weight for one in told.contributions}
        assert not set(votes) & own.keys()
        split += any(text in weights and own[text] != pytest.approx(weights[text]) for text in own)
    assert split


def test_a_fold_moves_with_its_rules():
    fold = Fold(NoisyOr(), 2, np.array([0.1, 0.2, 0.0, 0.4], np.float32))
    moved = fold.moved(np.array([-1, 0, 1, 2]))
    assert (moved.place, moved.strength.tolist()) == (1, pytest.approx([0.2, 0.0, 0.4]))
    assert moved.weights(np.array([0, 1])) == pytest.approx([0.2, 0.0])


def test_only_summaries_have_terms():
    graph = random_graph(0)
    for name in FEATURES:
        told = [terms_of(graph, name, query) for query in queries_of(graph)]
        assert any(told) == (FEATURES[name].group == "constants")


def queries_of(graph):
    return [Query(h, 0, t, True) for h, t in zip(*map(np.ndarray.tolist, graph.edges(0)), strict=True)]


@pytest.mark.parametrize("hide", HIDE)
def test_where_facts_have_weights_other_sources_see_those_likely_true(hide):
    """Their rows are those of a graph that lacks the others; what it lacks it need not hide."""
    compared = 0
    for seed in range(3):
        plain = random_graph(seed)
        graph = plain.weighing(lambda facts: np.where(facts.sum(axis=1) % 3, 1.0, 0.25))
        batch = batch_of(graph, hide)
        kept = [fact for fact in plain.triples().tolist() if sum(fact) % 3]
        assert graph.likely.triples().tolist() == kept
        own = np.array([[head, 0, answer] in kept for head, answer in zip(*graph.edges(0), strict=True)])
        told = batch._replace(hidden=np.where(own | (batch.hidden < 0), batch.hidden, -1).astype(np.int32))
        rules = RULES.filter(~RULES.are_chains & ~RULES.are_feature("best_chain"))
        found, expected = (
            Grounder(one, rules, 1).ground_batch(asked)[0].columns()
            for one, asked in ((graph, batch), (graph.likely, told))
        )
        for mine, theirs in zip(vars(found).values(), vars(expected).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        compared += len(found.entity)
    assert compared > 20
