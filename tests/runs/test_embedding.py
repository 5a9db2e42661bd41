"""Which embedding a fit uses: given or trained, known again by its checksum, refused with the way out."""

import json
import shutil

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import Config
from rnnlogic.embeddings.complex import ComplEx
from rnnlogic.embeddings.files import checksum, save_embedding
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.runs.check import check_folder
from rnnlogic.runs.embedding import embedding_of, obtain_embedding, save_with_run
from rnnlogic.runs.files import write_object
from rnnlogic.runs.folder import Run
from tests.helpers.embeddings import random_complex, random_embedding
from tests.helpers.family import family

CONFIG = Config(variant="rnnlogic-emb", seed=3, threads=1)


def embedding_for(dataset, seed=0):
    return random_embedding(dataset.vocab.num_entities, dataset.vocab.num_relations, seed=seed)


@pytest.fixture
def saved(tmp_path):
    """An embedding beside the run."""
    dataset = family()
    save_embedding(tmp_path / "emb", embedding_for(dataset), dataset.vocab, {})
    return tmp_path / "emb"


@pytest.fixture
def run(tmp_path) -> Run:
    return Run.create(tmp_path / "run", family(), CONFIG)


def obtain(given=None, run=None, config=CONFIG, seen=None):
    return obtain_embedding(
        family(), config, given, run, lambda *event: seen.append(event) if seen is not None else None
    )


def reference(run):
    return json.loads((run.folder / "embedding.json").read_text())


def test_a_given_folder_becomes_part_of_the_run_which_needs_nothing_outside(saved, run, tmp_path):
    first = obtain(saved, run)
    assert reference(run)["folder"] == "embedding"
    shutil.rmtree(saved)
    shutil.move(run.folder, tmp_path / "elsewhere")
    np.testing.assert_array_equal(embedding_of(Run.open(tmp_path / "elsewhere")).entity, first.entity)


@pytest.mark.parametrize("place", ["../emb", "/etc", "embedding/../../emb"])
def test_a_run_may_not_lead_to_an_embedding_outside(saved, run, place):
    write_object(run.folder / "embedding.json", {"folder": place, "sha256": checksum(saved)})
    with pytest.raises(RNNLogicError, match=r"lies outside .* may not lead there; copy that folder to"):
        embedding_of(run)
    shutil.copytree(saved, run.folder / "embedding")
    assert embedding_of(run) is not None


def test_an_embedding_in_memory_is_kept_in_the_run(run):
    given = embedding_for(family(), seed=5)
    obtain(given, run)
    assert reference(run)["folder"] == "embedding"
    again = obtain(None, Run.open(run.folder))
    np.testing.assert_array_equal(again.entity, given.entity)
    assert (again.margin, again.threads) == (given.margin, 1)


def test_without_one_it_is_trained_and_not_trained_again(run, monkeypatch):
    quick = RotatESettings(dim=4, epochs=1, batch_size=64, negatives=8)
    monkeypatch.setattr("rnnlogic.runs.embedding.default_settings", lambda: quick)
    seen = []
    first = obtain(None, run, seen=seen)
    assert {stage for stage, *_ in seen} == {"embedding"}
    assert first.dim == 4
    assert (
        json.loads((run.folder / "embedding" / "about.json").read_text())["origin"]["settings"]["seed"] == 3
    )
    seen.clear()
    np.testing.assert_array_equal(obtain(None, run, seen=seen).entity, first.entity)
    assert seen == []
    np.testing.assert_array_equal(obtain(None, None).entity, first.entity)


def test_a_missing_or_changed_embedding_is_told(saved, run):
    obtain(saved, run)
    dataset = family()
    inner = run.folder / "embedding"
    save_embedding(inner, embedding_for(dataset, seed=1), dataset.vocab, {})
    with pytest.raises(
        RNNLogicError, match="embedding was changed; put the old one back, or fit again with --restart"
    ):
        embedding_of(run)
    shutil.rmtree(inner)
    with pytest.raises(RNNLogicError, match="embedding is missing; put it back, or fit again with --restart"):
        embedding_of(run)
    (run.folder / "embedding.json").unlink()
    with pytest.raises(RNNLogicError, match=r"embedding\.json: cannot be read"):
        embedding_of(run)


def test_another_embedding_than_that_of_the_run_is_refused(saved, run, tmp_path):
    obtain(saved, run)
    dataset = family()
    save_embedding(tmp_path / "other", embedding_for(dataset, seed=1), dataset.vocab, {})
    with pytest.raises(RNNLogicError, match=r"run: holds a run with another embedding than .*other"):
        obtain(tmp_path / "other", run)
    np.testing.assert_array_equal(obtain(saved, run).entity, obtain(None, run).entity)


def test_an_embedding_of_other_data_is_refused_before_the_run_depends_on_it(run, tmp_path):
    with pytest.raises(RNNLogicError, match="has 2 entities and 1 relations, the dataset has"):
        obtain(random_embedding(2, 1))
    with pytest.raises(RNNLogicError, match="nothing"):
        obtain(tmp_path / "nothing", run)
    assert not (run.folder / "embedding.json").exists()


def test_two_embeddings_are_both_known_again(saved, run, tmp_path):
    dataset = family()
    other = random_complex(dataset.vocab.num_entities, dataset.vocab.num_relations)
    save_embedding(tmp_path / "other", other, dataset.vocab, {})
    first = obtain([saved, tmp_path / "other"], run)
    assert [place["folder"] for place in reference(run)["several"]] == ["embedding/1", "embedding/2"]
    again = embedding_of(Run.open(run.folder))
    assert [type(part) for part in again.parts] == [RotatE, ComplEx]
    np.testing.assert_array_equal(again.parts[1].relation, first.parts[1].relation)
    with pytest.raises(RNNLogicError, match=r"another embedding than .*other, .*emb"):
        obtain([tmp_path / "other", saved], run)
    with pytest.raises(RNNLogicError, match=r"another embedding than .*emb"):
        obtain(saved, run)
    save_with_run(first, dataset.vocab, run)
    np.testing.assert_array_equal(embedding_of(run).parts[0].entity, first.parts[0].entity)
    shutil.rmtree(saved)
    shutil.rmtree(tmp_path / "other")
    assert not check_folder(run.folder).problems
    path = run.folder / "embedding" / "2" / "embedding.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    (problem,) = check_folder(run.folder).problems
    assert problem.name == "embedding/2/embedding.safetensors"
    with pytest.raises(RNNLogicError, match=r"embedding.2 was changed"):
        embedding_of(run)


def test_several_embeddings_outside_are_not_followed(saved, run):
    told = {"folder": "../emb", "sha256": checksum(saved)}
    write_object(run.folder / "embedding.json", {"several": [told, told]})
    with pytest.raises(RNNLogicError, match=r"embedding.1 lies outside \(\.\./emb\)"):
        embedding_of(run)
    for odd in (1, [1], [{"folder": "x"}]):
        write_object(run.folder / "embedding.json", {"several": odd})
        with pytest.raises(RNNLogicError, match=r"embedding\.json: cannot be read"):
            embedding_of(run)


def test_a_variant_without_embeddings_takes_none(saved, run):
    assert obtain(None, run, Config()) is None
    with pytest.raises(RNNLogicError, match="variant rnnlogic has no use for them"):
        obtain(saved, run, Config())


def test_a_restart_drops_the_embedding_of_the_run(run):
    save_with_run(embedding_for(family()), family().vocab, run)
    Run.start(run.folder, family(), CONFIG, restart=True)
    assert not (run.folder / "embedding").exists()
    assert not (run.folder / "embedding.json").exists()
