"""Settings of a fit: assembled, checked by the table of predictors, one default for every dataset."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.settings import all_keys, gone_keys, without_gone
from rnnlogic.config import (
    Arguments,
    Config,
    affordable_length,
    changed,
    default_config,
    make_config,
    override,
    preset_for,
    read_config,
    with_keywords,
    within,
)
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.predictors.table import PREDICTORS, Entry, entry

EMBEDDED = ("rnnlogic-emb", "plus-emb")


def dataset(name: str, facts: int, relations: int = 1) -> Dataset:
    """A chain of facts, whose relations take turns."""
    ids = np.arange(facts)
    train = np.stack([ids, ids % relations, ids + 1], axis=1).astype(np.int32)
    none = np.zeros((0, 3), np.int32)
    names = tuple(f"e{i}" for i in range(facts + 1)), tuple(f"r{i}" for i in range(relations))
    return Dataset(name, Vocab(*names), train, none, none)


@pytest.mark.parametrize("variant", PREDICTORS)
def test_every_variant_has_a_default(variant):
    config = default_config(variant)
    assert config.variant == variant
    assert config.evidence.groups >= {"exclusions", "constants", "base_rate", "best_rule"}


@pytest.mark.parametrize("name", ["umls", "wn18rr", "fb15k-237", "small", "large"])
def test_the_name_of_a_graph_decides_nothing(name):
    assert preset_for(dataset(name, 10)) == preset_for(dataset("mine", 10))


@pytest.mark.parametrize("facts", [10, 20_001, 200_001])
def test_features_are_on_at_every_size(facts):
    config = preset_for(dataset("mine", facts))
    assert config.evidence == default_config().evidence
    assert config.choice == default_config().choice


def test_budgets_bound_what_grows_with_the_relations():
    few, many = preset_for(dataset("mine", 1000, 2)), preset_for(dataset("mine", 1000, 1000))
    usual = default_config()
    assert few.final.rules == usual.final.rules
    assert many.final.rules == usual.budget.rules // 2000
    assert many.predictor.candidates_per_query < usual.predictor.candidates_per_query
    assert many.mine.facts_per_relation == 25


def test_what_is_set_is_set_whatever_the_budgets_say():
    graph = dataset("mine", 1000, 1000)
    config = preset_for(graph, change=lambda own: override(own, ["final.rules=3000", "budget.queries=2000"]))
    assert config.final.rules == 3000
    assert config.predictor.queries_per_relation == 50, "a budget never leaves fewer"
    assert within(Config(), graph) == Config(), "without budgets nothing is bounded"


def test_bodies_are_longer_where_walks_are_few():
    chain = dataset("mine", 1000)
    assert affordable_length(chain, 50_000) == 5
    assert affordable_length(chain, 16) == 4, "2 ** 4 walks of length 4 from an entity of a chain"
    assert affordable_length(chain, 1) == 3
    assert preset_for(chain).max_length == 5
    assert affordable_length(dataset("mine", 20), 50_000) == 4, "there are fewer entities than longer walks"


def test_a_variant_has_the_same_default_but_for_its_name_and_regularisation_beside_an_embedding():
    plain = default_config()
    for variant, one in PREDICTORS.items():
        config = default_config(variant)
        assert (config.predictor != plain.predictor) == one.needs_embedding
        same = {"predictor": plain.predictor.model_dump(), "choice": plain.choice.model_dump()}
        assert changed(config, same) == changed(plain, {"variant": variant})
        own = config.predictor.model_dump() | {"weight_decay": plain.predictor.weight_decay}
        assert changed(config, same | {"predictor": own}) == changed(plain, {"variant": variant})


def test_unknown_names():
    with pytest.raises(
        RNNLogicError, match=r"unknown variant 'plus-em'; did you mean 'plus-emb'.*known: rnn"
    ):
        default_config("plus-em")
    with pytest.raises(RNNLogicError, match=r"^my file: variant: unknown variant 'plusemb'; did you mean"):
        make_config({"variant": "plusemb"}, "my file")
    with pytest.raises(RNNLogicError, match=r"^settings: variant: Input should be a valid string, found 3"):
        make_config({"variant": 3})


def test_a_variant_of_the_table_needs_no_other_place(monkeypatch):
    with pytest.raises(RNNLogicError, match="unknown variant 'toy'"):
        make_config({"variant": "toy"})
    toy = Entry("somewhere:Toy", True, False, "rnnlogic-emb", "a toy")
    monkeypatch.setitem(PREDICTORS, "toy", toy)
    assert make_config({"variant": "toy"}).has_embedding
    assert override(Config(), ["variant=toy"]).variant == "toy"
    assert default_config("toy") == changed(default_config("rnnlogic-emb"), {"variant": "toy"})
    assert entry("toy") is toy


def test_what_the_table_says():
    assert [name for name in PREDICTORS if Config(variant=name).has_embedding] == list(EMBEDDED)
    assert [name for name, e in PREDICTORS.items() if e.given_rules_suffice] == ["plus", "plus-emb"]
    assert all(e.like is None or e.like in PREDICTORS for e in PREDICTORS.values())
    assert all(":" in e.predictor and e.help for e in PREDICTORS.values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plus.rules", "plus.keep"),
        ("plus.answer_weights", "plus.etas"),
        ("paths.answer_weight", "paths.eta"),
        ("paths.answer_weights", "paths.etas"),
    ],
)
def test_a_key_of_version_0_1_names_the_new_one(old, new):
    assert new in all_keys(Config)
    with pytest.raises(RNNLogicError, match=f"^--set: unknown key '{old}'; it is called {new} now$"):
        override(Config(), [f"{old}=1"])


def test_files(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("variant: plus\nem: {rounds: 7}\n", encoding="utf-8")
    assert read_config(path) == changed(Config(variant="plus"), {"em": {"rounds": 7}})
    path.write_text("em: {rounds: -7}\n", encoding="utf-8")
    with pytest.raises(RNNLogicError, match=r"my\.yaml: em\.rounds: .*, found -7"):
        read_config(path)


def test_a_file_of_all_settings_begins_with_the_variant():
    assert next(iter(Config().model_dump())) == "variant"


def test_keywords_are_short_names_of_settings():
    config = with_keywords(Config(), {"rules": 50, "max_length": 2, "em__rounds": 1})
    assert (config.final.rules, config.max_length, config.em.rounds) == (50, 2, 1)
    with pytest.raises(RNNLogicError, match="rules"):
        with_keywords(Config(), {"rule": 50})


def test_arguments_work_as_in_scikit_learn():
    model = Arguments(rules=50).set_params(max_length=2)
    assert model.get_params() == {"config": None, "variant": None, "rules": 50, "max_length": 2}
    assert Arguments(**model.get_params()).settings_for(dataset("mine", 10)).final.rules == 50
    with pytest.raises(RNNLogicError):
        model.set_params(max_length="long")


def test_another_distance_of_paths_is_refused():
    assert make_config({"paths": {"distance": "modulus", "shift": 2.0}}).paths.shift == 2.0
    with pytest.raises(RNNLogicError, match="distance is the sum of moduli now: fit again"):
        make_config({"paths": {"distance": "euclidean"}})


def test_a_key_that_is_gone_says_why():
    with pytest.raises(RNNLogicError, match=r"unknown key 'choice.rules'; it is gone: all rules that"):
        override(Config(), ["choice.rules=[1]"])
    old = {"choice": {"rules": [1.0], "weight_decay": True}, "compact": {"length_cost": 0.1, "keep": 0.5}}
    assert make_config(without_gone(Config, old)).compact.keep == 0.5
    assert not set(gone_keys(Config)) & set(all_keys(Config))
