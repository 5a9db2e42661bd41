"""Processes and a Ray cluster of two nodes do what threads do; and what happens when something dies."""

import os
import secrets
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from rnnlogic.base.clusters import (
    CLUSTER_VARIABLE,
    ClusterError,
    current_cluster,
    on_cluster,
    open_cluster,
    pack,
    unpack,
)
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.executor import map_ordered
from rnnlogic.evaluation.evaluate import evaluate
from rnnlogic.features.ground import Grounder
from rnnlogic.fit.choice import Trials
from rnnlogic.mining.mine import mine_rules
from rnnlogic.predictors.base import RuleValues, Task
from rnnlogic.predictors.loglinear.fit import Lesson, gathered, solve_relations
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.statistics.statistics import training_queries
from tests.helpers import work
from tests.helpers.family import family, tiny_config
from tests.helpers.processes import processes_marked
from tests.helpers.waiting import wait_until

ray = pytest.importorskip("ray")
SETTINGS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_failure_threshold": 2,
}


@pytest.fixture(scope="module")
def nodes():
    """A cluster of two nodes on this machine, one CPU each; nothing of it is left afterwards."""
    from ray.cluster_utils import Cluster

    marker = f"RNNLOGIC_TEST_CLUSTER={secrets.token_hex(8)}"
    variables = dict([marker.split("=")]) | {
        "RAY_worker_niceness": "0",
        "PYTHONPATH": os.pathsep.join(map(str, _paths())),
    }
    saved = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    small = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=small | {"_system_config": SETTINGS})
    cluster.second = cluster.add_node(**small)
    cluster.wait_for_nodes()
    assert processes_marked(marker)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    for name, value in saved.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    wait_until(lambda: not processes_marked(marker), "no process of the cluster is left")


def _paths():
    import rnnlogic

    return [Path(rnnlogic.__file__).parents[1], Path(__file__).parents[2]]


@pytest.fixture(scope="module")
def on_ray(nodes):
    cluster = open_cluster(f"ray://{nodes.address}")
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def on_processes():
    cluster = open_cluster("processes://2")
    yield cluster
    cluster.close()


@pytest.fixture
def choose(monkeypatch):
    """Makes a cluster the chosen one of a test."""
    from rnnlogic.base import clusters

    def choose(cluster):
        monkeypatch.setattr(clusters._CHOSEN, "explicit", cluster)
        monkeypatch.setattr(clusters._CHOSEN, "is_explicit", True)
        return cluster

    return choose


@pytest.fixture(params=["processes", "ray"])
def chosen(request, choose):
    return choose(request.getfixturevalue(f"on_{request.param}"))


def test_results_come_in_order_from_other_processes(chosen):
    table = np.arange(400)
    assert list(map_ordered(work.squared, range(400), table)) == [i * i for i in range(400)]
    inside = list(map_ordered(work.nested, [1, 2, 3, 4], table))
    assert [result for result, _ in inside] == [[i * i for i in range(n)] for n in (1, 2, 3, 4)]
    assert os.getpid() not in {pid for _, pid in inside}


def test_some_work_stays_here(chosen):
    assert {pid for _, pid in map_ordered(work.nested, [1, 2], np.arange(9), here=True)} == {os.getpid()}


def test_arrays_keep_their_kind_and_a_graph_stays_with_the_workers(chosen):
    graph, units = family().graph("train"), [np.zeros(3)] * 8
    shared = graph, np.zeros(5000), np.zeros(3)
    found = [*map_ordered(work.kinds, units, shared), *map_ordered(work.kinds, units, shared)]
    assert all(writeable == [False, True, True, True] for writeable, _, _ in found)
    assert {nice for _, nice, _ in found} == {os.nice(0)}
    assert len({place for _, _, place in found}) <= chosen.workers


def test_errors_reach_the_caller(chosen):
    with pytest.raises(KeyError, match="no such thing"):
        list(map_ordered(work.failing, range(9), "no such thing"))
    with pytest.raises(RNNLogicError, match="this and that"):
        list(map_ordered(work.failing, range(9), "this"))


def test_want_of_memory_is_named(on_ray, choose):
    choose(on_ray)
    with pytest.raises(ClusterError, match="ran out of memory on the cluster; use smaller settings"):
        list(map_ordered(work.greedy, range(4), "all of it"))
    with pytest.raises(ClusterError, match=r"died 4 times with its worker.*want of memory"):
        list(map_ordered(work.dying, range(4), 2))


def test_workers_load_compiled_kernels(chosen):
    data = family()
    rules = mine_rules(data.graph("train"), work.MINING, 2).rules
    grounder = Grounder(data.graph("train"), rules, chunk_queries=8)
    queries = training_queries(data.graph("train"), None, 0)
    batches = grounder.batches(queries[:, 0], queries[:, 1], queries[:, 2])
    expected = [np.concatenate([part.entity for part in grounder.ground_batch(batch)]) for batch in batches]
    for (entity, misses), own in zip(
        map_ordered(work.compiled_here, batches, grounder), expected, strict=True
    ):
        np.testing.assert_array_equal(entity, own)
        assert misses == 0


def outcome(data):
    """Mined rules, weights and ranks."""
    graph = data.graph("train")
    rules = mine_rules(graph, work.MINING, 2).rules
    queries = training_queries(graph, None, 0)
    solved = solve_relations(Lesson(graph, RuleValues(rules, "log1p"), queries, work.WEIGHTS, 0))
    weights = gathered(len(rules), solved)[0]
    return rules, weights, evaluate(RuleScorer(rules, weights), data, "test", chunk=16).ranks


def test_mining_weights_and_ranks_are_bit_equal(chosen):
    with on_cluster("threads"):
        assert current_cluster() is None
        rules, weights, ranks = outcome(family())
    found = outcome(family())
    assert found[0] == rules
    np.testing.assert_array_equal(found[1], weights)
    np.testing.assert_array_equal(found[2].better, ranks.better)
    np.testing.assert_array_equal(found[2].tied, ranks.tied)


def test_a_choice_is_bit_equal(chosen):
    with on_cluster("threads"):
        expected = tried(family())
    np.testing.assert_array_equal(tried(family()), expected)


def tried(data):
    """Reciprocal ranks by some ways to learn weights."""
    graph = data.graph("train")
    task = Task(data, mine_rules(graph, work.MINING, 2).rules, tiny_config(), 2)
    values = RuleValues(task.rules, "log1p")
    trials = Trials(task, values, data.valid, training_queries(graph, None, 0))
    options = [work.WEIGHTS.model_copy(update={"weight_decay": decay}) for decay in (100.0, 1.0)]
    return trials.reciprocal_ranks(options)


def test_a_node_that_is_killed_loses_nothing(nodes, on_ray, choose, monkeypatch, tmp_path):
    choose(on_ray)
    monkeypatch.setattr("rnnlogic.base.clusters.SECONDS", 0.01)
    raylet = nodes.second.all_processes["raylet"][0].process.pid

    def kill():
        wait_until(lambda: len(list(tmp_path.iterdir())) >= 8, "eight units begin")
        os.kill(raylet, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = list(map_ordered(work.slow, range(30), tmp_path))
    killer.join()
    assert [unit for unit, _ in found] == list(range(30))
    assert len({pid for _, pid in found}) >= 2
    assert len(outcome(family())[0])  # one node goes on alone


def test_the_variable_chooses_a_cluster_and_a_context_overrides_it(monkeypatch):
    monkeypatch.setenv(CLUSTER_VARIABLE, "processes://3")
    found = current_cluster()
    assert found.workers == 3
    assert current_cluster() is found
    with on_cluster(None):
        assert current_cluster() is None
    monkeypatch.delenv(CLUSTER_VARIABLE)
    assert current_cluster() is None


@pytest.mark.parametrize(
    "address", ["rya", "ray://here", "processes://many", "processes://\u00b2", "ray://\u00b2"]
)
def test_an_address_that_is_none_is_refused(address):
    with (
        pytest.raises(RNNLogicError, match="names no cluster; use ray, ray://HOST:PORT"),
        on_cluster(address),
    ):
        pass


def test_packing_keeps_large_arrays_apart():
    large, named = np.arange(5000), family().graph("train")
    large.setflags(write=False)
    kept = {}
    packed = pack((large, named, "x"), lambda part: kept.setdefault("graph", part) and "graph")
    back = unpack(packed, kept.get)
    assert len(packed.head) < 1000
    assert np.shares_memory(back[0], packed.buffers[0])
    assert back[1] is named
    assert back[2] == "x"
