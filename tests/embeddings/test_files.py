"""Embeddings on disk: rows follow names, mistakes are named."""

import hashlib
import json

import numpy as np
import pytest

from rnnlogic.base.files import DamagedError
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.files import (
    EmbeddingError,
    checksum,
    load_authors_checkpoint,
    load_embedding,
    save_embedding,
    write_file,
)
from tests.embeddings.test_rotate import random_embedding

VOCAB = Vocab(tuple("abcdefg"), ("p", "q", "r"))


@pytest.fixture
def folder(tmp_path):
    save_embedding(tmp_path / "emb", random_embedding(), VOCAB, {"seed": 3})
    return tmp_path / "emb"


def test_rows_follow_the_names(folder):
    saved = random_embedding()
    loaded, about = load_embedding(folder, Vocab(("c", "a", "g"), ("r", "p")))
    np.testing.assert_array_equal(loaded.entity, saved.entity[[2, 0, 6]])
    np.testing.assert_array_equal(loaded.phase, saved.phase[[2, 0]])
    assert (loaded.margin, about["seed"], about["dim"]) == (6.0, 3, 5)


def test_a_missing_name_is_an_error(folder):
    with pytest.raises(
        EmbeddingError, match=r"no embedding of entity 'x' \(1 of 2 missing\).*rnnlogic embed"
    ):
        load_embedding(folder, Vocab(("a", "x"), ("p",)))
    with pytest.raises(EmbeddingError, match="no embedding of relation 's'"):
        load_embedding(folder, Vocab(("a",), ("s",)))


def test_checksum_is_that_of_the_arrays(folder):
    content = (folder / "embedding.safetensors").read_bytes()
    assert checksum(folder) == hashlib.sha256(content).hexdigest()


def test_missing_and_broken_files_are_errors(folder, tmp_path):
    with pytest.raises(EmbeddingError, match=r"about.json: is missing; `rnnlogic embed"):
        load_embedding(tmp_path / "nothing", VOCAB)
    with pytest.raises(EmbeddingError, match="is not an embedding folder"):
        checksum(tmp_path / "nothing")
    (folder / "embedding.safetensors").write_bytes(b"half")
    with pytest.raises(DamagedError, match="is damaged"):
        load_embedding(folder, VOCAB)
    write_file(folder / "embedding.safetensors", b"half")
    with pytest.raises(EmbeddingError, match="copied whole"):
        load_embedding(folder, VOCAB)
    write_file(folder / "about.json", '{"format": 3, "rnnlogic": "9.0"}')
    with pytest.raises(EmbeddingError, match=r"made by rnnlogic 9\.0"):
        load_embedding(folder, VOCAB)


def test_the_layout_of_the_authors(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "config.json").write_text(json.dumps({"gamma": 4.0, "hidden_dim": 3}))
    entity, scaled = rng.normal(size=(2, 6)).astype(np.float32), np.array([[2.0, -1.0, 0.5]], np.float32)
    np.save(tmp_path / "entity_embedding.npy", entity)
    np.save(tmp_path / "relation_embedding.npy", scaled)
    (tmp_path / "entities.dict").write_text("1\tb\n0\ta\n")
    (tmp_path / "relations.dict").write_text("0\tp\n")
    vocab = Vocab(("b", "a"), ("p",))
    loaded = load_authors_checkpoint(tmp_path, vocab, tmp_path / "entities.dict", tmp_path / "relations.dict")
    np.testing.assert_array_equal(loaded.entity, entity[::-1])
    np.testing.assert_allclose(loaded.phase, [[np.pi, -np.pi / 2, np.pi / 4]], rtol=1e-6)
    assert loaded.margin == 4.0
