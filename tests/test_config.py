"""Settings of a fit: assembled, checked by the table of predictors, and packaged for every dataset."""

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.settings import all_keys, packaged, packaged_names
from rnnlogic.config import (
    Arguments,
    Config,
    changed,
    load_preset,
    make_config,
    override,
    preset_for,
    preset_name,
    preset_names,
    read_config,
    with_keywords,
)
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.named import KNOWN
from rnnlogic.data.vocab import Vocab
from rnnlogic.predictors.table import PREDICTORS, Entry, entry

EMBEDDED = ("rnnlogic-emb", "plus-emb")


def dataset(name: str, facts: int) -> Dataset:
    train, none = np.zeros((facts, 3), np.int32), np.zeros((0, 3), np.int32)
    return Dataset(name, Vocab(("e",), ("r",)), train, none, none)


def test_all_can_be_read():
    assert {"umls", "kinship", "wn18rr", "fb15k-237", "small", "medium", "large"} == set(preset_names())
    for name in preset_names():
        for variant in PREDICTORS:
            config = load_preset(name, variant)
            assert config.variant == variant
            assert config.max_length == (5 if name == "wn18rr" else 3)


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("umls", 10, "umls"),
        ("WN18RR", 10, "wn18rr"),
        ("nations", 10, "small"),
        ("large", 10, "small"),
        ("mine", 20_000, "small"),
        ("mine", 20_001, "medium"),
        ("mine", 200_000, "medium"),
        ("mine", 200_001, "large"),
    ],
)
def test_by_name_then_by_size(name, facts, expected):
    assert preset_name(dataset(name, facts)) == expected
    assert preset_for(dataset(name, facts)) == load_preset(expected)


def test_packaged_names_are_datasets_or_sizes():
    """A file named after no dataset would be taken by mistake for a user's graph of that name."""
    for folder in ("", "rotate"):
        assert set(packaged_names(folder)) - {"small", "medium", "large"} <= set(KNOWN)


def test_a_variant_changes_some_settings_of_the_same_name():
    plain, embedded = load_preset("kinship"), load_preset("kinship", "rnnlogic-emb")
    assert embedded.em == plain.em
    assert embedded.paths != plain.paths
    assert embedded.predictor.feature == plain.predictor.feature
    assert preset_for(dataset("mine", 10), "rnnlogic-emb") == changed(
        load_preset("small"), {"variant": "rnnlogic-emb"}
    )


@pytest.mark.parametrize("name", ["umls", "kinship"])
def test_a_variant_starts_from_the_one_it_is_like(name):
    plus, embedded = load_preset(name, "plus-emb"), load_preset(name, "rnnlogic-emb")
    assert (plus.predictor, plus.paths) == (embedded.predictor, embedded.paths)
    assert plus.predictor != load_preset(name).predictor
    assert "predictor" not in packaged("plus-emb", name)


@pytest.mark.parametrize("name", ["wn18rr", "fb15k-237"])
def test_where_paths_are_not_scored_the_weights_are_learned_as_without_an_embedding(name):
    plus, plain = load_preset(name, "plus-emb"), load_preset(name)
    assert not plus.plus.path_scores
    assert (plus.predictor, plus.paths) == (plain.predictor, plain.paths)
    assert load_preset(name, "rnnlogic-emb").predictor != plain.predictor


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="unknown preset 'ulms'; did you mean 'umls'"):
        load_preset("ulms")
    with pytest.raises(
        RNNLogicError, match=r"unknown variant 'plus-em'; did you mean 'plus-emb'.*known: rnn"
    ):
        load_preset("umls", "plus-em")
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
    assert load_preset("umls", "toy") == changed(load_preset("umls", "rnnlogic-emb"), {"variant": "toy"})
    assert entry("toy") is toy


def test_what_the_table_says():
    assert [name for name in PREDICTORS if Config(variant=name).has_embedding] == list(EMBEDDED)
    assert [name for name, e in PREDICTORS.items() if e.given_rules_suffice] == ["plus", "plus-emb"]
    assert all(e.like is None or e.like in PREDICTORS for e in PREDICTORS.values())
    assert all(":" in e.predictor and e.help for e in PREDICTORS.values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("em.generate", "em.search"),
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
