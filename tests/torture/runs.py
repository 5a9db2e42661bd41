"""Small fits to torture, and what each verb says of them while they are whole."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from rnnlogic.config import override
from rnnlogic.embeddings.files import save_embedding
from rnnlogic.model import RNNLogic
from tests.family import family, tiny_config
from tests.predictors.paths.oracles import random_embedding
from tests.torture.outcome import Done, command

VARIANTS = ("rnnlogic", "rnnlogic-emb", "plus", "plus-emb")
QUICK = (
    "em.rounds=1",
    "plus.epochs=1",
    "plus.dim=4",
    "plus.hidden=8",
    "threads=1",
    "generator.pretrain_steps=5",
)
ASK = ("--head", "grandpa0", "--relation", "grandparent")
VERBS = {
    "predict": ("predict", "RUN", *ASK, "--json"),
    "explain": ("explain", "RUN", *ASK, "--tail", "grandchild0_0", "--json"),
    "evaluate": ("evaluate", "RUN", "--json"),
    "rules": ("rules", "RUN", "--json"),
    "complete": ("complete", "RUN", "-o", "OUT", "--max", "20"),
    "export": ("rules", "RUN", "export", "--format", "jsonl", "-o", "OUT"),
    "compare": ("compare", "RUN", "RUN", "--samples", "10", "--json"),
}


class Subject(NamedTuple):
    """A finished fit and what the verbs say of it."""

    variant: str
    folder: Path
    said: dict[str, str]


def config_of(variant: str, seed: int = 1):
    """Settings that make a fit of the family quick."""
    return override(tiny_config(), [f"variant={variant}", f"seed={seed}", *QUICK])


def fit(folder: Path, variant: str, embedding: Path | None = None, seed: int = 1) -> None:
    """Fit, or resume."""
    given = embedding if variant.endswith("emb") else None
    RNNLogic(config_of(variant, seed)).fit(family(), folder, embeddings=given)


def subjects(folder: Path, variants=VARIANTS) -> list[Subject]:
    """A finished fit of every variant."""
    vocab = family().vocab
    save_embedding(folder / "emb", random_embedding(vocab.num_entities, vocab.num_relations), vocab, {})
    made = []
    for variant in variants:
        fit(folder / variant, variant, folder / "emb")
        said = {verb: said_by(verb, folder / variant, folder)[1] for verb in VERBS}
        made.append(Subject(variant, folder / variant, said))
    return made


def said_by(verb: str, run: Path, scratch: Path) -> tuple[Done, str]:
    """Run a verb; also gives what it says, without times and places."""
    out = scratch / ("out.tsv" if verb == "complete" else "out.jsonl")
    out.unlink(missing_ok=True)
    done = command(*(str({"RUN": run, "OUT": out}.get(word, word)) for word in VERBS[verb]))
    if verb in ("complete", "export"):
        return done, out.read_text() if out.is_file() else ""
    return done, _timeless(done.out)


def copy_of(subject: Subject, folder: Path) -> Path:
    """A copy to damage."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(subject.folder, folder))


def _timeless(text: str) -> str:
    try:
        values = json.loads(text)
    except ValueError:
        return text
    if isinstance(values, dict):
        values = {key: value for key, value in values.items() if key not in ("seconds", "a", "b")}
    return json.dumps(values)
