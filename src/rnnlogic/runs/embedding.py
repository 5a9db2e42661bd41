"""The embedding of a fit: given, or trained first; in a run folder, or only in memory. Free of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.files import checksum, load_embedding, save_embedding
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import settings_for
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.predictors.base import predictor_class
from rnnlogic.runs.folder import EMBEDDING, Run, RunError

# a folder that `rnnlogic embed` made, an embedding in memory, or for plus-emb anything that scores answers
Own = str | Path | RotatE | None
Given = Own | Scorer
Progress = Callable[[str, int, int, str], None]
STAGE = "embedding"


def obtain_embedding(
    dataset: Dataset, config: Config, given: Given, run: Run | None, progress: Progress
) -> Scorer | None:
    """The embedding that these settings ask for, None if they ask for none.

    A run keeps the one that it began with; it is trained into the run's folder if none is given.
    """
    if not config.has_embedding:
        if given is not None:
            raise RNNLogicError(
                f"embeddings were given, but variant {config.variant} has no use for them: take"
                f" {config.variant}-emb"
            )
        return None
    if not isinstance(given, Own):
        return _foreign(given, config, run)
    if run is None:
        embedding = _in_memory(dataset, config, given, progress)
    else:
        embedding = _in_run(dataset, config, given, run, progress)
    _require_fit(embedding, dataset.vocab)
    return replace(embedding, threads=config.threads)


def embedding_of(run: Run) -> RotatE | None:
    """The embedding of a finished fit, None if its variant has none."""
    config = run.config()
    if not config.has_embedding:
        return None
    embedding = run.embedding()
    if embedding is None:
        raise RunError(run.folder, "says nowhere which embedding it uses; was the folder copied whole?")
    return replace(embedding, threads=config.threads)


def save_with_run(embedding: Scorer, vocab: Vocab, run: Run) -> None:
    """Keep an embedding in the folder of its run."""
    if not isinstance(embedding, RotatE):
        raise RNNLogicError(f"a {type(embedding).__name__} cannot be kept in a run folder")
    save_embedding(run.folder / EMBEDDING, embedding, vocab, {})
    run.refer_to_embedding(run.folder / EMBEDDING)


def _foreign(given: Scorer, config: Config, run: Run | None) -> Scorer:
    """A model that is not ours, which takes part by its scores alone."""
    if predictor_class(config.variant).scores_paths(config):
        raise RNNLogicError(
            f"only RotatE can score paths, and not a {type(given).__name__}: take variant plus-emb with"
            " plus.path_scores=false"
        )
    if run is not None:
        raise RNNLogicError(f"a {type(given).__name__} cannot be kept in a run folder: fit without one")
    return given


def _in_memory(dataset: Dataset, config: Config, given: Own, progress: Progress) -> RotatE:
    if isinstance(given, RotatE):
        return given
    return (
        _train(dataset, config, None, progress) if given is None else load_embedding(given, dataset.vocab)[0]
    )


def _in_run(dataset: Dataset, config: Config, given: Own, run: Run, progress: Progress) -> RotatE:
    known = run.embedding()
    if known is not None:
        if isinstance(given, str | Path) and checksum(given) != run.embedding_checksum():
            raise RunError(
                run.folder,
                f"holds a run with another embedding than {given}; choose another folder, or --restart",
            )
        return known
    if isinstance(given, RotatE):
        save_with_run(given, dataset.vocab, run)
    elif given is not None:
        load_embedding(given, dataset.vocab)  # tells what is wrong with it before the run depends on it
        run.refer_to_embedding(Path(given))
    else:
        _train(dataset, config, run.folder / EMBEDDING, progress)
        run.refer_to_embedding(run.folder / EMBEDDING)
    embedding = run.embedding()
    assert embedding is not None
    return embedding


def _train(dataset: Dataset, config: Config, folder: Path | None, progress: Progress) -> RotatE:
    settings = settings_for(dataset).model_copy(update={"seed": config.seed})

    def show(stage: str, done: int, total: int, note: str = "") -> None:
        del stage
        progress(STAGE, done, total, note)

    return RotatE.fit(dataset, settings, folder, show, config.threads)


def _require_fit(embedding: RotatE, vocab: Vocab) -> None:
    entities, relations = embedding.num_entities, embedding.num_relations
    if (entities, relations) != (vocab.num_entities, vocab.num_relations):
        raise RNNLogicError(
            f"the embedding is of {entities:,} entities and {relations:,} relations, the dataset has"
            f" {vocab.num_entities:,} and {vocab.num_relations:,}: train one on this dataset"
        )
