"""The embedding of a fit: given, or trained first; in a run folder, or only in memory. Free of torch.

A run folder holds its embedding, so that it needs nothing outside: one that was given is put there, too
(as a hard link, where the disk allows it). embedding.json has its checksum, so that a change is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Progress
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.embeddings.base import Embedding, Together, joined
from rnnlogic.embeddings.files import checksum, copy_embedding, load_embedding, save_embedding
from rnnlogic.embeddings.rotate import RotatE
from rnnlogic.embeddings.settings import default_settings
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.runs.files import RunError, read_object, unreadable, write_object
from rnnlogic.runs.folder import EMBEDDING, EMBEDDING_REFERENCE, Run

# Folders that `rnnlogic embed` made, embeddings in memory, or anything that scores answers
Own = str | Path | Embedding
Given = Own | Sequence[Own] | Scorer | None
STAGE = "embedding"


def obtain_embedding(
    dataset: Dataset,
    config: Config,
    given: Given,
    run: Run | None,
    progress: Progress,
    budget: Budget = UNLIMITED,
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
    own = _own(given)
    if own is None:
        return _foreign(given, run)
    if run is None:
        embeddings = _in_memory(dataset, config, own, progress, budget)
    else:
        embeddings = _in_run(dataset, config, own, run, progress, budget)
    for embedding in embeddings:
        _require_fit(embedding, dataset.vocab)
    return joined(embeddings, config.threads)


def embedding_of(run: Run) -> Scorer | None:
    """The embedding of a finished fit, or several together; None if its variant has none."""
    config = run.config()
    if not config.has_embedding:
        return None
    embeddings = _stored(run)
    if not embeddings:
        raise unreadable(run.folder / EMBEDDING_REFERENCE, "no such file")
    return joined(embeddings, config.threads)


def save_with_run(embedding: Scorer, vocab: Vocab, run: Run) -> None:
    """Keep an embedding, or several together, in the folder of its run."""
    parts = embedding.parts if isinstance(embedding, Together) else (embedding,)
    foreign = [part for part in parts if not isinstance(part, Embedding)]
    if foreign:
        raise RNNLogicError(f"a {type(foreign[0]).__name__} cannot be kept in a run folder")
    _keep([part for part in parts if isinstance(part, Embedding)], vocab, run)


def _own(given: Given) -> list[Own] | None:
    """Folders and embeddings as a list; None for a model of another library."""
    if given is None:
        return []
    if isinstance(given, Own):
        return [given]
    if isinstance(given, Together):
        return list(given.parts)
    return list(given) if isinstance(given, Sequence) else None


def _places(number: int) -> list[str]:
    """Where so many embeddings lie in the folder of their run."""
    return [EMBEDDING] if number == 1 else [f"{EMBEDDING}/{i}" for i in range(1, number + 1)]


def _keep(given: Sequence[Own], vocab: Vocab, run: Run) -> None:
    """Put embeddings into the folder of a run, which needs nothing outside."""
    for one, place in zip(given, _places(len(given)), strict=True):
        if isinstance(one, Embedding):
            save_embedding(run.folder / place, one, vocab, {})
        else:
            load_embedding(one, vocab)  # shows what is wrong with it before the run depends on it
            copy_embedding(Path(one), run.folder / place)
    _refer(run, len(given))


def _refer(run: Run, number: int) -> None:
    """Note which embeddings a run uses."""
    told = [{"folder": place, "sha256": checksum(run.folder / place)} for place in _places(number)]
    write_object(run.folder / EMBEDDING_REFERENCE, told[0] if number == 1 else {"several": told})


def _references(run: Run) -> list[tuple[str, str]]:
    """Place and checksum of every embedding that a run uses; empty if there is none (yet)."""
    path = run.folder / EMBEDDING_REFERENCE
    if not path.is_file():
        return []
    values = read_object(path)
    try:
        told = values.get("several", [values])
        return [(str(one["folder"]), str(one["sha256"])) for one in told]
    except TypeError:
        raise unreadable(path, "expected objects with folder and sha256") from None
    except KeyError as error:
        raise unreadable(path, f"{error} is missing") from None


def _stored(run: Run) -> list[Embedding]:
    """The embeddings that a run uses, unchanged; empty if there is none (yet)."""
    references, found = _references(run), []
    for (place, expected), name in zip(references, _places(len(references)), strict=True):
        folder = run.folder / name
        if not folder.is_dir() and place != name:
            problem = f"lies outside ({place}), and a run may not lead there; copy that folder to {folder}"
        elif not folder.is_dir():
            problem = "is missing; put it back, or fit again with --restart"
        elif checksum(folder) != expected:
            problem = "was changed; put the old one back, or fit again with --restart"
        else:
            found.append(load_embedding(folder, run.dataset().vocab)[0])
            continue
        raise RunError(run.folder, f"its embedding {folder} {problem}")
    return found


def _foreign(given: Given, run: Run | None) -> Scorer:
    """A model of another library, which takes part by its scores alone."""
    if run is not None:
        raise RNNLogicError(f"a {type(given).__name__} cannot be kept in a run folder: fit without one")
    return cast(Scorer, given)


def _in_memory(
    dataset: Dataset, config: Config, given: list[Own], progress: Progress, budget: Budget
) -> list[Embedding]:
    if not given:
        return [_train(dataset, config, None, progress, budget)]
    return [one if isinstance(one, Embedding) else load_embedding(one, dataset.vocab)[0] for one in given]


def _in_run(
    dataset: Dataset, config: Config, given: list[Own], run: Run, progress: Progress, budget: Budget
) -> list[Embedding]:
    references = _references(run)
    folders = [one for one in given if not isinstance(one, Embedding)]
    if not references and given:
        _keep(given, dataset.vocab, run)
    elif not references:
        _train(dataset, config, run.folder / EMBEDDING, progress, budget)
        _refer(run, 1)
    elif folders and [checksum(one) for one in folders] != [expected for _, expected in references]:
        names = ", ".join(map(str, folders))
        raise RunError(
            run.folder,
            f"holds a run with another embedding than {names}; choose another folder, or --restart to start"
            " over",
        )
    return _stored(run)


def _train(
    dataset: Dataset, config: Config, folder: Path | None, progress: Progress, budget: Budget
) -> RotatE:
    settings = default_settings().model_copy(update={"seed": config.seed})

    def show(stage: str, done: int, total: int, note: str = "") -> None:
        del stage
        progress(STAGE, done, total, note)

    minutes = budget.left / 60 if budget.is_limited else None
    embedding = RotatE.fit(dataset, settings, folder, show, config.threads, minutes)
    if budget.is_over:
        budget.cut("embedding", "training stopped early")
    return embedding


def _require_fit(embedding: Embedding, vocab: Vocab) -> None:
    entities, relations = embedding.num_entities, embedding.num_relations
    if (entities, relations) != (vocab.num_entities, vocab.num_relations):
        raise RNNLogicError(
            f"the embedding has {entities:,} entities and {relations:,} relations, the dataset has"
            f" {vocab.num_entities:,} and {vocab.num_relations:,}: train one on this dataset"
        )
