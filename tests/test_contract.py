"""What every predictor and every scorer must do, whichever it is.

Predictors come from the table, so a new one is tested here as soon as it has its entry. Scorers without rules
are listed in `scorers`; a test fails if a class of the package that scores is not among them.
"""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rnnlogic
from paper.baselines.confidence import confidence_scorer
from paper.baselines.differentiable import DifferentiableSettings, fit_differentiable
from paper.baselines.pathrank import PathRankSettings, fit_pathrank
from paper.baselines.pykeen_models import RECIPES, train_pykeen
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import app
from rnnlogic.config import changed
from rnnlogic.data.dataset import load_dataset
from rnnlogic.embeddings.base import Together
from rnnlogic.embeddings.pykeen_scorer import PyKEENScorer
from rnnlogic.evaluation.evaluate import FrequencyScorer, evaluate
from rnnlogic.explain.question import Asked
from rnnlogic.fit.result import Learned, pack_learned, unpack_learned
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.base import Predictor, Task, predictor_class
from rnnlogic.predictors.table import PREDICTORS, entry
from rnnlogic.rules.table import RuleTable
from tests.helpers import toy
from tests.helpers.embeddings import random_complex, random_embedding
from tests.helpers.family import family, family_facts, given_rules, tiny_config, tiny_settings, write_family

DATA = family()
GRAPH = DATA.graph("train")
KNOWN = given_rules(DATA)
COMPLEX = random_complex(DATA.vocab.num_entities, DATA.vocab.num_relations, dim=3)
EMBEDDING = random_embedding(DATA.vocab.num_entities, DATA.vocab.num_relations, dim=3)
RNG = np.random.default_rng(0)
HEADS = RNG.integers(DATA.vocab.num_entities, size=70).astype(np.int32)
RELATIONS = RNG.integers(2 * DATA.vocab.num_relations, size=70).astype(np.int32)
PLUS = {"epochs": 1, "dim": 4, "hidden": 5, "etas": (0.05,), "rule_vectors": "lstm"}
KEEP = pickle.HIGHEST_PROTOCOL  # read-only arrays stay so, as kernels know them
NAMES = [*PREDICTORS, toy.NAME]
SCORERS = ["rotate", "complex", "two embeddings", "pykeen", "frequency", "max confidence", "noisy-or"]
SCORERS += ["pathrank", "drum", "neural-lp", "one question"]
MIXED = {"paths with complex": "rnnlogic-emb", "paths with two": "rnnlogic-emb", "plus with two": "plus-emb"}


@pytest.fixture(scope="module", autouse=True)
def with_toy():
    """The toy is in the table for as long as this module is tested."""
    PREDICTORS[toy.NAME] = toy.ENTRY
    yield
    del PREDICTORS[toy.NAME]


def config_of(name):
    return changed(
        tiny_config(), {"variant": MIXED.get(name, name), "plus": PLUS, "paths": {"eta": 0.03}, "threads": 1}
    )


def fitted(name, embedding=EMBEDDING):
    embedding = embedding if entry(name).needs_embedding else None
    return predictor_class(name).fit(Task(DATA, KNOWN.rules, config_of(name), 1, embedding))


def scorers():
    """One of each kind of scorer that is not a predictor of the table."""
    table = RuleTable(KNOWN.rules, {"predictions": list(range(10, 16)), "support": list(range(1, 7))})
    question = int(HEADS[0]), int(RELATIONS[0]), 0
    pykeen = train_pykeen("distmult", DATA, RECIPES["distmult"].grid[0], most_epochs=1).scorer
    return {
        "rotate": EMBEDDING,
        "complex": COMPLEX,
        "two embeddings": Together((EMBEDDING, COMPLEX)),
        "paths with complex": fitted("rnnlogic-emb", COMPLEX),
        "paths with two": fitted("rnnlogic-emb", Together((EMBEDDING, COMPLEX))),
        "plus with two": fitted("plus-emb", Together((EMBEDDING, COMPLEX))),
        "pykeen": pykeen,
        "frequency": FrequencyScorer(),
        "max confidence": confidence_scorer(table, "max", threads=1),
        "noisy-or": confidence_scorer(table, "noisy-or", threads=1),
        "pathrank": fit_pathrank(DATA, PathRankSettings(rules=20)),
        "drum": fit_differentiable(DATA, DifferentiableSettings(epochs=1)),
        "neural-lp": fit_differentiable(DATA, DifferentiableSettings(model="neural-lp", epochs=1)),
        "one question": Asked(fitted("rnnlogic"), GRAPH, question),
    }


@pytest.fixture(scope="module")
def everything(with_toy):
    return {name: fitted(name) for name in NAMES} | scorers()


every_scorer = pytest.mark.parametrize("name", [*NAMES, *SCORERS, *MIXED])
every_predictor = pytest.mark.parametrize("name", [*NAMES, *MIXED])


def test_every_class_that_scores_is_tested_here(everything):
    tested = {type(scorer).__name__ for scorer in everything.values()}
    assert set(everything) == {*NAMES, *SCORERS, *MIXED}
    modules = [
        m.name for m in pkgutil.walk_packages(rnnlogic.__path__, "rnnlogic.") if "__main__" not in m.name
    ]
    found = set()
    for module in map(importlib.import_module, modules):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            own = kind.__module__ == module.__name__ and not inspect.isabstract(kind)
            score = getattr(kind, "score", None)
            if own and inspect.isfunction(score) and "graph" in inspect.signature(score).parameters:
                found.add(name)
    assert found - tested == {"Scorer"}  # the protocol


@every_scorer
def test_scores_have_the_right_shape_and_are_numbers(everything, name):
    scores = everything[name].score(GRAPH, HEADS, RELATIONS)
    assert scores.shape == (len(HEADS), GRAPH.num_entities)
    assert scores.dtype == np.float64
    assert not np.isnan(scores).any()
    assert np.isfinite(scores).any()
    assert everything[name].score(GRAPH, HEADS[:0], RELATIONS[:0]).shape == (0, GRAPH.num_entities)


@every_scorer
def test_a_batch_gives_what_single_queries_give(everything, name):
    scorer = everything[name]
    together = scorer.score(GRAPH, HEADS, RELATIONS)
    alone = [scorer.score(GRAPH, HEADS[i : i + 1], RELATIONS[i : i + 1])[0] for i in range(0, 70, 7)]
    np.testing.assert_allclose(together[::7], alone, rtol=1e-5, atol=1e-6)


@every_scorer
def test_any_number_of_threads_gives_the_same_bits(everything, name):
    scorer = everything[name]
    one = scorer.score(GRAPH, HEADS, RELATIONS)
    if hasattr(scorer, "threads") and not isinstance(scorer, PyKEENScorer):
        for threads in (2, 5):
            np.testing.assert_array_equal(
                replace(scorer, threads=threads).score(GRAPH, HEADS, RELATIONS), one
            )
    np.testing.assert_array_equal(scorer.score(GRAPH, HEADS, RELATIONS), one)


@every_scorer
def test_several_threads_may_ask_at_once(everything, name):
    scorer, other = everything[name], DATA.graph("train+valid")
    expected = [scorer.score(graph, HEADS, RELATIONS) for graph in (GRAPH, other)]
    fresh = pickle.loads(pickle.dumps(scorer))  # nothing is ready yet
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(fresh.score, (GRAPH, other)[i % 2], HEADS, RELATIONS) for i in range(12)]
        for i, answer in enumerate(asked):
            np.testing.assert_array_equal(answer.result(), expected[i % 2])


@pytest.fixture(scope="module")
def elsewhere(everything, tmp_path_factory):
    """Scores of all scorers from another process."""
    folder = tmp_path_factory.mktemp("process")
    for scorer in everything.values():
        scorer.score(GRAPH, HEADS, RELATIONS)  # what is kept ready must not hinder
    (folder / "work").write_bytes(pickle.dumps((everything, GRAPH, HEADS, RELATIONS), KEEP))
    code = (
        "import pickle, sys, numpy as np; from pathlib import Path; folder = Path(sys.argv[1])\n"
        "scorers, graph, heads, relations = pickle.loads((folder / 'work').read_bytes())\n"
        "np.savez(folder / 'scores.npz', **{k: s.score(graph, heads, relations) for k, s in scorers.items()})"
    )
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=root)
    return np.load(folder / "scores.npz")


@every_scorer
def test_another_process_gives_the_same_scores(everything, elsewhere, name):
    np.testing.assert_array_equal(elsewhere[name], everything[name].score(GRAPH, HEADS, RELATIONS))


@every_predictor
def test_contributions_sum_to_the_score(everything, name):
    predictor, several = everything[name], 0
    scores = predictor.score(GRAPH, HEADS, RELATIONS)
    for head, relation, row in zip(HEADS[:12].tolist(), RELATIONS[:12].tolist(), scores, strict=False):
        for tail in range(0, GRAPH.num_entities, 4):
            parts = predictor.contributions(GRAPH, head, relation, tail)
            assert len(parts.rule) == len(parts.count) == len(parts.weight) == len(parts.values)
            if np.isfinite(row[tail]) and parts.kind == "sum":
                assert abs(parts.values.sum() + (parts.rest or 0.0) - row[tail]) < 1e-6
            elif not np.isfinite(row[tail]):
                assert len(parts.rule) == 0
            several += len(parts.rule)
    assert several > 4


@every_predictor
def test_what_is_hidden_is_not_looked_at(everything, name):
    predictor = everything[name]
    head, relation, tail = DATA.train[0].tolist()
    without = np.delete(DATA.train, 0, axis=0)
    other = replace(DATA, train=without).graph("train")
    expected = predictor.score(other, DATA.train[:1, 0], DATA.train[:1, 1])
    found = np.full_like(expected, -np.inf)
    for chunk in predictor.scored(GRAPH, [head], relation, tail):
        chunk.fill(found)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@every_predictor
def test_packed_and_unpacked_it_scores_alike(everything, name):
    predictor = everything[name]
    rules = predictor.rules
    figures = np.zeros(len(rules)), np.zeros(len(rules), np.int64), np.zeros(len(rules))
    arrays = pack_learned(Learned(predictor, *figures))
    again = unpack_learned(arrays, config_of(name), predictor.embedding).predictor
    assert type(again) is type(predictor)
    assert again.rules == rules
    np.testing.assert_array_equal(again.weights, predictor.weights)
    np.testing.assert_array_equal(
        again.score(GRAPH, HEADS, RELATIONS), predictor.score(GRAPH, HEADS, RELATIONS)
    )


@every_predictor
def test_it_moves_to_another_graph_or_refuses(everything, name):
    predictor = everything[name]
    figures = np.zeros((3, len(predictor.rules)))
    model = RNNLogic(config_of(name))._take(DATA, config_of(name), Learned(predictor, *figures))
    rows = [(h[::-1], r, t[::-1]) for h, r, t in family_facts()]
    there = load_dataset([*rows, ("a", "ancestor", "b")], ratios=(100, 0, 0))  # all ids differ
    if predictor.embedding is not None:
        with pytest.raises(RNNLogicError, match="cannot move to another graph"):
            model.on(there)
        return
    moved, here = model.on(there), model.with_facts(family_facts())
    one = {a.entity: a.score for a in here.predict("grandpa0", "grandparent", known="keep")}
    other = {a.entity[::-1]: a.score for a in moved.predict("grandpa0"[::-1], "grandparent", known="keep")}
    assert len(one) > 3
    assert other == pytest.approx(one)


def test_a_new_predictor_needs_its_class_and_its_entry_only(tmp_path):
    """From fit to explanation, in Python and on the command line, without another line of code."""
    model = RNNLogic(tiny_config(), variant=toy.NAME).fit(DATA, tmp_path / "run")
    assert isinstance(model.scorer, toy.Toy)
    assert isinstance(model.scorer, Predictor)
    loaded = RNNLogic.load(tmp_path / "run")
    assert isinstance(loaded.scorer, toy.Toy)
    mrr = evaluate(model.scorer, DATA, "test").metrics()["mrr"]
    assert loaded.evaluate("test").metrics()["mrr"] == mrr > 0.1
    best = loaded.predict("grandpa0", "grandparent")[0]
    told = loaded.explain("grandpa0", "grandparent", best.entity)
    assert len(told.contributions) == best.score
    facts = write_family(tmp_path / "facts.tsv")
    run = ["fit", facts, "-o", str(tmp_path / "cli"), "--variant", toy.NAME, *tiny_settings()]
    done = CliRunner().invoke(app, run)
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(app, ["rules", str(tmp_path / "cli"), "--most", "1"]).exit_code == 0
    done = CliRunner().invoke(app, ["fit", facts, "-o", str(tmp_path / "x"), "--variant", "tou"])
    assert "toy" in str(done.exception)
