"""Programs for other engines, run by these engines: they give what our grounder gives."""

import math
import re
from urllib.parse import quote

import duckdb
import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.answers import Wanted, best_answers
from rnnlogic.features.ground import Grounder
from rnnlogic.mining.constants import mine_constants
from rnnlogic.mining.mine import find_candidates
from rnnlogic.mining.settings import MineSettings
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.programs import FACTS, PROGRAMS, RANKINGS
from rnnlogic.rules.programs.cypher import cypher_name
from rnnlogic.rules.programs.logic import clingo_string, prolog_atom
from rnnlogic.rules.programs.sparql import iri, log1p_bindings
from rnnlogic.rules.programs.sql import sql_string
from rnnlogic.rules.rule import NONE, Chain, Constant
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from tests.helpers.calibration import random_level
from tests.helpers.engines import (
    name_of,
    rdf_store,
    run_clingo,
    run_cypher,
    run_prolog,
    run_sparql,
    run_sql,
    unquoted,
)
from tests.helpers.names import NAMES
from tests.helpers.people import people

ENGINES = {
    "sql": run_sql,
    "datalog": run_clingo,
    "sparql": run_sparql,
    "cypher": run_cypher,
    "prolog": run_prolog,
}
every_engine = pytest.mark.parametrize("language", ENGINES)


def expected(graph, rules, vocab):
    """{(rule number, head, relation, tail): walks} by our grounder."""
    found = {}
    for i, rule in enumerate(rules):
        one = RuleSet.from_rules([rule])
        for part in Grounder(graph, one, 1).ground(np.arange(graph.num_entities), rule.head):
            rows = part.columns()
            for x, y, walks in zip(
                rows.query.tolist(), rows.entity.tolist(), rows.count.tolist(), strict=True
            ):
                ends, relation = (x, y), rule.head
                if relation >= graph.num_relations:
                    ends, relation = (y, x), relation - graph.num_relations
                fact = (vocab.entities[ends[0]], vocab.relations[relation], vocab.entities[ends[1]])
                found[i + 1, *fact] = walks
    return found


def run(language, graph, rules, vocab):
    table = RuleTable(rules, {"weight": [0.5] * len(rules)})
    facts = FACTS[language](graph.triples(), vocab, graph.values)
    return ENGINES[language](PROGRAMS[language](table, vocab, graph.path_kind), facts, vocab)


@pytest.fixture(scope="module")
def umls():
    return load_dataset("umls")


@pytest.fixture(scope="module")
def mined(umls):
    """Candidate rules for all relations of UMLS."""
    settings = MineSettings(facts_per_relation=5, candidates=60)
    return find_candidates(umls.graph("train"), settings, max_length=3).rules


@pytest.fixture(scope="module")
def sample(umls, mined):
    """Rules of every length and direction that give something, but not too much."""
    rng = np.random.default_rng(0)
    inverse = mined.heads >= umls.vocab.num_relations
    groups = [
        (mined.lengths == length) & (inverse == is_inverse) for length in (1, 2, 3) for is_inverse in (0, 1)
    ]
    picked = np.concatenate([rng.choice(np.flatnonzero(group), 2, replace=False) for group in groups])
    return mined[picked]


@every_engine
@pytest.mark.parametrize("path_kind", ["simple", "walks"])
def test_engines_count_our_paths_on_umls(language, path_kind, umls, sample):
    graph = umls.graph("train").counting(path_kind)
    ours = expected(graph, sample, umls.vocab)
    assert len(ours) > 1000
    assert max(ours.values()) > 5
    rules = sample if language != "prolog" else sample[:6]
    wanted = {key: walks for key, walks in ours.items() if key[0] <= len(rules)}
    assert run(language, graph, rules, umls.vocab) == wanted


@every_engine
def test_names_that_hurt(language):
    # ladybug takes what stands before a dot in the name of a relation for the name of a database
    names = tuple(name for name in NAMES if language != "cypher" or "." not in name)
    vocab, n = Vocab(names, names), len(names)
    ring = [(i, i, (i + 1) % n) for i in range(n)] + [(i, (i + 1) % n, (i + 5) % n) for i in range(n)]
    graph = Graph.from_triples(ring, n, n)
    forwards = [Chain(i, (i, (i + 1) % n)) for i in range(n)]
    backwards = [Chain(i + n, ((i + 1) % n + n, i + n)) for i in range(n)]
    rules = RuleSet.from_rules(forwards + backwards)
    ours = expected(graph, rules, vocab)
    assert {rule for rule, *_ in ours} == {*range(1, 2 * n + 1)}
    assert run(language, graph, rules, vocab) == ours


@pytest.fixture(scope="module")
def stated(umls):
    """Rules with constants of every kind on UMLS, and a chain between them."""
    mined = mine_constants(umls.graph("train"), 40)
    kinds, is_any = mined.kinds.kind, mined.kinds.other == NONE
    groups = [(is_any == some) & (kinds == kind) for some in (True, False) for kind in np.unique(kinds)]
    picked = [mined[int(i)] for group in groups for i in np.flatnonzero(group)[[0, -1]]]
    return RuleSet.from_rules([*picked[:4], Chain(0, (1,)), *picked[4:]])


@every_engine
def test_engines_answer_by_rules_with_constants(language, umls, stated):
    graph = umls.graph("train")
    ours = expected(graph, stated, umls.vocab)
    assert {rule for rule, *_ in ours} == {*range(1, len(stated) + 1)}
    found = run(language, graph, stated, umls.vocab)
    if language == "prolog":  # which gives a solution for every fact
        assert found.keys() == ours.keys()
    else:
        assert found == ours


@every_engine
def test_entities_of_names_that_hurt(language):
    names = tuple(name for name in NAMES if language != "cypher" or "." not in name)
    vocab, n = Vocab(names, ("r", "s")), len(names)
    graph = Graph.from_triples([(i, 0, (i + 1) % n) for i in range(n)], n, 2)
    rules = RuleSet.from_rules(
        Constant(1 + 2 * (i % 2), 0 if i % 3 else 2, i, (i + 3) % n, at_head=i % 2 == 0) for i in range(n)
    )
    ours = expected(graph, rules, vocab)
    assert {rule for rule, *_ in ours} == {*range(1, n + 1)}
    assert run(language, graph, rules, vocab) == ours


@pytest.mark.parametrize("language", ["sql-ranking", "sparql-ranking"])
def test_a_ranking_by_chains_and_rules_with_constants(language, umls):
    graph, vocab = umls.graph("train"), umls.vocab
    mined, relation = mine_constants(graph, 20), vocab.relation_id("affects^-1")
    rules = RuleSet.from_rules([Chain(relation, (0,)), *mined[mined.by_head(relation)]])
    heads = {rule.constant for rule in rules if isinstance(rule, Constant) and rule.at_head}
    weights = np.random.default_rng(1).normal(size=len(rules))
    scorer, level = RuleScorer(rules, weights, "log1p", threads=1), random_level(0, vocab.num_relations)
    table = RuleTable(rules, {"weight": weights.tolist()})
    for entity in sorted(heads)[:2]:
        wanted = Wanted(vocab.num_entities, "keep")
        ours = best_answers(graph, vocab, scorer, level, [entity], [relation], wanted)[0]
        assert len(ours) > 2
        query = RANKINGS[language](table, vocab, relation, "log1p", entity)
        theirs = ranking(language, query, FACTS[language.split("-")[0]](umls.train, vocab))
        assert {e: score for _, e, score in theirs} == pytest.approx({a.entity: a.score for a in ours})


@pytest.mark.parametrize("feature", ["count", "log1p", "binary"])
@pytest.mark.parametrize("language", ["sql-ranking", "sparql-ranking"])
def test_the_weighted_sum_in_one_query_is_our_ranking(language, feature, umls, mined):
    graph, vocab = umls.graph("train"), umls.vocab
    for name, head in [("treats", "antibiotic"), ("affects^-1", "human")]:
        relation, entity = vocab.relation_id(name), vocab.entity_id(head)
        rules = mined[mined.by_head(relation)[:40]]
        weights = np.random.default_rng(1).normal(size=len(rules))
        scorer = RuleScorer(rules, weights, feature, threads=1)
        level = random_level(0, vocab.num_relations)  # it orders ours by probability, a query by score
        wanted = Wanted(vocab.num_entities, "keep")
        ours = best_answers(graph, vocab, scorer, level, [entity], [relation], wanted)[0]
        assert len(ours) > 20
        table = RuleTable(rules, {"weight": weights.tolist()})
        query = RANKINGS[language](table, vocab, relation, feature, entity)
        theirs = ranking(language, query, FACTS[language.split("-")[0]](umls.train, vocab))
        assert {question for question, _, _ in theirs} == {head}
        by_score = sorted((answer.score for answer in ours), reverse=True)
        assert [score for _, _, score in theirs] == pytest.approx(by_score, rel=1e-9)
        scores = {answer.entity: answer.score for answer in ours}
        assert [score for _, _, score in theirs] == pytest.approx([scores[e] for _, e, _ in theirs], rel=1e-9)


def ranking(language, query, facts):
    if language == "sql-ranking":
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(facts)
        return connection.execute(query).fetchall()
    rows = rdf_store(facts).query(query)
    return [(name_of(row["query"]), name_of(row["answer"]), float(row["score"].value)) for row in rows]


@pytest.mark.parametrize("language", ["sql-ranking", "sparql-ranking"])
def test_a_ranking_for_all_heads_at_once(language):
    vocab = Vocab(("a", "b", "c"), ("r", "s"))
    triples = np.array([(0, 0, 1), (1, 0, 2), (0, 1, 2)])
    table = RuleTable(
        RuleSet.from_rules([Chain(1, (0, 0)), Chain(1, (0,)), Chain(0, (1,))]), {"weight": [2.0, 1e-5, 9.0]}
    )
    query = RANKINGS[language](table, vocab, 1, "count")
    got = ranking(language, query, FACTS[language.split("-")[0]](triples, vocab))
    assert got == [("a", "c", 2.0), ("a", "b", 1e-5), ("b", "c", 1e-5)]


@given(st.lists(st.integers(1, 2**53 - 2), min_size=1, max_size=20, unique=True))
@settings(max_examples=20)
def test_the_logarithm_that_sparql_lacks(counts):
    values = " ".join(map(str, [*counts, 1, 2, 3]))
    query = f"SELECT ?walks ?log WHERE {{ VALUES ?walks {{ {values} }} {log1p_bindings()} }}"
    for row in pyoxigraph.Store().query(query):
        assert float(row["log"].value) == pytest.approx(math.log1p(int(row["walks"].value)), rel=1e-14)


@pytest.mark.parametrize("update", [False, True])
def test_predicted_facts_as_a_graph_do_not_depend_on_one_another(update):
    vocab = Vocab(("a", "b"), ("r", "s", "t"))
    rules = RuleTable(RuleSet.from_rules([Chain(1, (0,)), Chain(2, (1,)), Chain(5, (3,))]))
    facts = FACTS["sparql"](np.array([(0, 0, 1)]), vocab)
    store = rdf_store(facts)
    if update:
        store.update(PROGRAMS["sparql-insert"](rules, vocab, "simple"))
        found = [quad.triple for quad in store]
    else:
        found = list(store.query(PROGRAMS["sparql-construct"](rules, vocab, "simple")))
    new = {("a", "s", "b"), ("a", "t", "b")}
    assert {tuple(map(name_of, triple)) for triple in found} == new | ({("a", "r", "b")} if update else set())


def test_programs_are_readable():
    vocab = Vocab(("Ann", "Bob"), ("friend", "co-occurs with"))
    table = RuleTable(RuleSet.from_rules([Chain(3, (0, 3))]), {"weight": [0.25]})
    assert PROGRAMS["prolog"](table, vocab, "simple").splitlines()[2:] == [
        '% 1: "co-occurs with"^-1(X,Y) <- friend(X,Z) & "co-occurs with"(Y,Z)  weight 0.25',
        "rule(1, Y, 'co-occurs with', X) :- fact(X, friend, Z), fact(Y, 'co-occurs with', Z), "
        "X \\== Z, X \\== Y, Z \\== Y.",
        "weight(1, 0.25).",
    ]
    assert (
        "MATCH (x:Entity)-[:`friend`]->(z:Entity)\nMATCH (z)<-[:`co-occurs with`]-(y:Entity)\n"
        in PROGRAMS["cypher"](table, vocab, "walks")
    )
    text = PROGRAMS["sql"](table, vocab, "simple")
    assert "FROM facts AS b1 JOIN facts AS b2 ON b2.tail = b1.tail\n" in text
    assert "b1.head <> b1.tail AND b1.head <> b2.head AND b1.tail <> b2.head" in text


@given(st.text())
def test_quoted_names_are_read_back(name):
    if "\0" in name:
        for quoted in (prolog_atom, clingo_string, sql_string, cypher_name):
            with pytest.raises(RuleError, match="contains a NUL character"):
                quoted(name)
    else:
        assert unquoted(prolog_atom(name)) == name
    made = pyoxigraph.NamedNode(iri(name)[1:-1])  # checks the syntax
    assert made.value in (name, f"urn:rnnlogic:{quote(name, safe='')}")


@every_engine
def test_rules_without_a_body_are_refused(language):
    with pytest.raises(RuleError, match=r"r\(X,X\) <- true: a rule without a body"):
        PROGRAMS[language](RuleTable(RuleSet.from_rules([Chain(0, ())])), Vocab((), ("r",)), "simple")


def test_rankings_need_rules_and_weights():
    vocab = Vocab((), ("r", "s"))
    table = RuleTable(RuleSet.from_rules([Chain(0, (1,))]))
    for query in RANKINGS.values():
        with pytest.raises(RuleError, match="needs rules with weights"):
            query(table, vocab, 0)
        with pytest.raises(RuleError, match=r"no rules for s\^-1"):
            query(table, vocab, 3)
    with pytest.raises(RuleError, match="empty relation name"):
        cypher_name("")


@pytest.mark.parametrize("language", PROGRAMS)
def test_labels_are_shown_in_comments_of_one_line(language):
    labels = {"p": "is a part of\nDROP TABLE facts"}
    table = RuleTable(RuleSet.from_rules([Chain(1, (0, 0))]), {"weight": [0.5]})
    plain = PROGRAMS[language](table, Vocab(("a",), ("p", "q")), "simple")
    text = PROGRAMS[language](table, Vocab(("a",), ("p", "q"), relation_labels=labels), "simple")
    changed = [line for line in text.splitlines() if line not in plain.splitlines()]
    assert len(text.splitlines()) == len(plain.splitlines())
    assert len(changed) == 1
    assert changed[0].strip().startswith(("%", "#", "--", "//"))
    atom = "is a part of?DROP TABLE facts"
    assert changed[0].endswith(f"weight 0.5  that is: q(X,Y) <- {atom}(X,Z) & {atom}(Z,Y)")


@pytest.mark.parametrize("control", ["\x01", "\x7f", "\x85", "\x9f"])
def test_an_iri_never_holds_a_control_character(control):
    assert iri(f"http://a{control}b").startswith("<urn:rnnlogic:http%3A%2F%2Fa%")


def applied_once(program, store):
    """What the rules of a SHACL rule set infer from a store, each applied once, as SPARQL says the same."""
    found = set()
    for head, body in re.findall(r"^RULE \{ (.*?) \} WHERE \{ (.*) \}$", program, re.M):
        found |= {tuple(triple) for triple in store.query(f"CONSTRUCT {{ {head} }} WHERE {{ {body} }}")}
    return found


@pytest.mark.parametrize("rules", ["sample", "stated"])
def test_shacl_rules_infer_what_sparql_does(rules, umls, request):
    graph, chosen = umls.graph("train"), request.getfixturevalue(rules)
    table, store = (
        RuleTable(chosen, {"weight": [0.5] * len(chosen)}),
        rdf_store(FACTS["shacl"](graph.triples(), umls.vocab)),
    )
    program = PROGRAMS["shacl"](table, umls.vocab, "simple")
    assert program.count("\nRULE {") == len(chosen)
    assert "WD-shacl12-rules" in program.splitlines()[0]
    wanted = {tuple(t) for t in store.query(PROGRAMS["sparql-construct"](table, umls.vocab, "simple"))}
    assert len(wanted) > 100
    assert applied_once(program, store) == wanted


def test_shacl_rules_of_names_that_hurt():
    vocab, n = Vocab(NAMES, NAMES), len(NAMES)
    graph = Graph.from_triples([(i, i, (i + 1) % n) for i in range(n)], n, n)
    rules = RuleSet.from_rules([Chain((i + 2) % n, (i, (i + 1) % n)) for i in range(n)])
    store = rdf_store(FACTS["shacl"](graph.triples(), vocab))
    found = applied_once(PROGRAMS["shacl"](RuleTable(rules, {"weight": [1.0] * n}), vocab, "simple"), store)
    assert len(found) == n


CONDITIONS = """
risk(X,high) <- age(X) >= 60
risk(X,high) <- 30 < age(X) <= 60
risk^-1(high,Y) <- age(Y) < 45
risk(p1,Y) <- born(Y) >= 1990-01-01
elder(X,Y) <- born(X) < born(Y)
elder^-1(X,Y) <- |age(X) - age(Y)| <= 3
elder(X,Y) <- age(Y) - age(X) > 7
"""


@pytest.fixture(scope="module")
def numbered_people():
    dataset = load_dataset(people(30), ratios=(1, 0, 0), numeric=["age", "born"])
    return dataset, RuleSet.from_text(CONDITIONS, dataset.vocab)


@pytest.mark.parametrize("language", [name for name in ENGINES if name != "prolog"])
def test_engines_check_conditions(language, numbered_people):
    dataset, rules = numbered_people
    graph = dataset.graph("train")
    found = run(language, graph, rules, dataset.vocab)
    assert found == expected(graph, rules, dataset.vocab)
    assert len({key[0] for key in found}) == len(rules)


def test_conditions_in_prolog(numbered_people):
    dataset, rules = numbered_people
    table = RuleTable(rules, {})
    lines = PROGRAMS["prolog"](table, dataset.vocab, "simple").splitlines()
    assert "rule(1, X, risk, high) :- value(X, age, V0), V0 >= 60.0." in lines
    assert (
        "rule(6, Y, elder, X) :- value(X, age, V0), value(Y, age, V1), X \\== Y, "
        "V1 - V0 >= -3.0, V1 - V0 =< 3.0." in lines
    )
    facts = FACTS["prolog"](dataset.train, dataset.vocab, dataset.values)
    age = dataset.values[0, dataset.vocab.entity_id("p1")]
    assert f"value(p1, age, {age})." in facts.splitlines()


def test_rankings_with_conditions(numbered_people):
    dataset, rules = numbered_people
    vocab, graph = dataset.vocab, dataset.graph("train")
    table = RuleTable(rules, {"weight": np.linspace(0.5, 2, len(rules)).tolist()})
    scorer = RuleScorer(rules, np.linspace(0.5, 2, len(rules)))
    query = RANKINGS["sql-ranking"](table, vocab, vocab.relation_id("elder"), "log1p", vocab.entity_id("p3"))
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(FACTS["sql"](graph.triples(), vocab, graph.values))
    found = {answer: score for _, answer, score in connection.execute(query).fetchall()}
    (scored,) = scorer.scored(graph, [vocab.entity_id("p3")], vocab.relation_id("elder"))
    names = [vocab.entities[entity] for entity in scored.entity]
    assert found == pytest.approx(dict(zip(names, scored.values.tolist(), strict=True)))


def test_what_an_engine_cannot_check_is_refused(numbered_people):
    vocab = numbered_people[0].vocab
    for language, text, problem in (
        ("datalog", "risk(X,high) <- age(X) >= 60.5", "whole numbers"),
        ("sparql", "elder(X,Y) <- |born(X) - born(Y)| <= 30", "no differences of dates"),
        ("shacl", "risk(X,high) <- age(X) >= 60", "not written as SHACL rules"),
    ):
        with pytest.raises(RuleError, match=problem):
            PROGRAMS[language](RuleTable(RuleSet.from_text(text, vocab), {}), vocab, "simple")
