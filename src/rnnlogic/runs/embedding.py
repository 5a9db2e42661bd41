"""The embedding of a fit: given, or trained first; in a run folder, or only in memory. Free of torch.

A run folder holds its embedding, so that it needs nothing outside: one that was given is put there, too
(as a hard link, where the disk allows it). embedding.json has its checksum, so that a change is noticed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Progress
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.files import checksum, copy_embedding, load_embedding, save_embedding
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import settings_for
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.predictors.base import predictor_class
from rnnlogic.runs.files import RunError, read_object, unreadable, write_object
from rnnlogic.runs.folder import EMBEDDING, EMBEDDING_REFERENCE, Run

# A folder that `rnnlogic embed` made, an embedding in memory, or for plus-emb anything that scores answers
Own = str | Path | RotatE | None
Given = Own | Scorer
STAGE = "embedding"


def obtain_embedding(
    dataset: Dataset, config: Config, given: Given, run: Run | None, progress: Progress
) -> Scorer | None:
    """The embedding that these settings ask for, None if they ask for none.

    A run keeps the one that it began with. If none is given, it is trained, in the run's folder.
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
    embedding = _stored(run)
    if embedding is None:
        raise unreadable(run.folder / EMBEDDING_REFERENCE, "no such file")
    return replace(embedding, threads=config.threads)


def save_with_run(embedding: Scorer, vocab: Vocab, run: Run) -> None:
    """Keep an embedding in the folder of its run."""
    if not isinstance(embedding, RotatE):
        raise RNNLogicError(f"a {type(embedding).__name__} cannot be kept in a run folder")
    save_embedding(run.folder / EMBEDDING, embedding, vocab, {})
    _refer(run)


def _refer(run: Run) -> None:
    """Note which embedding a run uses."""
    told = {"folder": EMBEDDING, "sha256": checksum(run.folder / EMBEDDING)}
    write_object(run.folder / EMBEDDING_REFERENCE, told)


def _reference(run: Run) -> tuple[str, str] | None:
    """Place and checksum of the embedding that a run uses; None if there is none (yet)."""
    path = run.folder / EMBEDDING_REFERENCE
    if not path.is_file():
        return None
    values = read_object(path)
    try:
        return str(values["folder"]), str(values["sha256"])
    except KeyError as error:
        raise unreadable(path, f"{error} is missing") from None


def _stored(run: Run) -> RotatE | None:
    """The embedding that a run uses, unchanged; None if there is none (yet)."""
    reference = _reference(run)
    if reference is None:
        return None
    (place, expected), folder = reference, run.folder / EMBEDDING
    if not folder.is_dir() and place != EMBEDDING:
        problem = f"lies outside ({place}), and a run may not lead there; copy that folder to {folder}"
    elif not folder.is_dir():
        problem = "is missing; put it back, or fit again with --restart"
    elif checksum(folder) != expected:
        problem = "was changed; put the old one back, or fit again with --restart"
    else:
        return load_embedding(folder, run.dataset().vocab)[0]
    raise RunError(run.folder, f"its embedding {folder} {problem}")


def _foreign(given: Scorer, config: Config, run: Run | None) -> Scorer:
    """A model of another library, which takes part by its scores alone."""
    if predictor_class(config.variant).scores_paths(config):
        raise RNNLogicError(
            f"only RotatE can score paths, a {type(given).__name__} cannot: take variant plus-emb with"
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
    reference = _reference(run)
    if reference is None:
        _choose(dataset, config, given, run, progress)
    elif isinstance(given, str | Path) and checksum(given) != reference[1]:
        raise RunError(
            run.folder,
            f"holds a run with another embedding than {given}; choose another folder, or --restart to start"
            " over",
        )
    embedding = _stored(run)
    assert embedding is not None
    return embedding


def _choose(dataset: Dataset, config: Config, given: Own, run: Run, progress: Progress) -> None:
    """Note the given embedding in the run, or train one there."""
    if isinstance(given, RotatE):
        save_with_run(given, dataset.vocab, run)
    elif given is not None:
        load_embedding(given, dataset.vocab)  # shows what is wrong with it before the run depends on it
        copy_embedding(Path(given), run.folder / EMBEDDING)
        _refer(run)
    else:
        _train(dataset, config, run.folder / EMBEDDING, progress)
        _refer(run)


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
            f"the embedding has {entities:,} entities and {relations:,} relations, the dataset has"
            f" {vocab.num_entities:,} and {vocab.num_relations:,}: train one on this dataset"
        )
