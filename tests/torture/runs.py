"""Small fits to torture, and what each verb says of them while they are whole."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from rnnlogic.config import override
from rnnlogic.embeddings.files import save_embedding
from tests.helpers.embeddings import random_embedding
from tests.helpers.family import family, tiny_config, tiny_settings, write_family
from tests.torture.outcome import Done, command

VARIANTS = ("rnnlogic", "rnnlogic-emb", "plus", "plus-emb")
QUICK = (
    *("em.rounds=1", "plus.epochs=1", "plus.dim=4", "plus.hidden=8", "threads=1"),
    *("generator.pretrain_steps=5", "seed=1"),
)
ASK = ("--head", "grandpa0", "--relation", "grandparent")
VERBS = {
    "predict": ("predict", "RUN", *ASK, "--json"),
    "explain": ("explain", "RUN", *ASK, "--tail", "grandchild0_0", "--json"),
    "evaluate": ("evaluate", "RUN", "--json"),
    "rules": ("rules", "RUN", "--json"),
    "complete": ("complete", "RUN", "-o", "OUT", "--most", "20"),
    "export": ("rules", "RUN", "export", "--format", "jsonl", "-o", "OUT"),
    "compare": ("compare", "RUN", "RUN", "--samples", "10", "--json"),
}
WRITING = ("evaluate", "compare")  # verbs that may leave something in the run
FACTS, EMBEDDING = "family.tsv", "emb"  # beside the runs


class Subject(NamedTuple):
    """A finished fit and what the verbs say of it."""

    variant: str
    folder: Path
    said: dict[str, str]


def config_of(variant: str):
    """Settings that make a fit of the family quick."""
    return override(tiny_config(), [f"variant={variant}", *QUICK])


def fit_words(place: Path, run: Path, variant: str) -> list[str]:
    """The command line of a quick fit; facts and embedding lie in `place`."""
    given = ["--embeddings", str(place / EMBEDDING)] if variant.endswith("emb") else []
    quick = [word for setting in QUICK for word in ("--set", setting)]
    return [
        *("fit", str(place / FACTS), "-o", str(run), "--variant", variant),
        *(*given, *tiny_settings(), *quick),
    ]


def subjects(place: Path, variants=VARIANTS) -> list[Subject]:
    """A finished fit of every variant."""
    write_family(place / FACTS)
    vocab = family().vocab
    save_embedding(place / EMBEDDING, random_embedding(vocab.num_entities, vocab.num_relations), vocab, {})
    made = []
    for variant in variants:
        run = place / variant
        done = command(*fit_words(place, run, variant))
        assert done.code == 0, done.err
        said_by("evaluate", run, place)  # leaves a report, which later ones replace
        made.append(Subject(variant, run, {verb: said_by(verb, run, place)[1] for verb in VERBS}))
    return made


def words_of(verb: str, run: Path, out: Path) -> list[str]:
    """The command line of a verb."""
    return [str({"RUN": run, "OUT": out}.get(word, word)) for word in VERBS[verb]]


def out_of(verb: str, scratch: Path) -> Path:
    """The file that a verb writes."""
    return scratch / ("out.tsv" if verb == "complete" else "out.jsonl")


def said_by(verb: str, run: Path, scratch: Path) -> tuple[Done, str]:
    """Run a verb; also gives what it says, without times and places."""
    out = out_of(verb, scratch)
    out.unlink(missing_ok=True)
    done = command(*words_of(verb, run, out))
    return done, shown(verb, done, out)


def shown(verb: str, done: Done, out: Path) -> str:
    """What a verb said or wrote, without times and places."""
    if verb in ("complete", "export"):
        return out.read_text() if out.is_file() else ""
    try:
        values = json.loads(done.out)
    except ValueError:
        return done.out
    if isinstance(values, dict):
        values = {key: value for key, value in values.items() if key not in ("seconds", "a", "b")}
    return json.dumps(values)


def copy_of(subject: Subject, folder: Path) -> Path:
    """A copy to damage."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(subject.folder, folder))


def files_of(folder: Path) -> list[Path]:
    """All files of a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
