"""What the tests of readers share."""

from rnnlogic.data.dataset import Dataset, load_dataset

DRUGS = [
    ("aspirin", "treats", "headache"),
    ("aspirin", "treats", "fever"),
    ("ibuprofen", "treats", "fever"),
    ("ibuprofen", "causes", "nausea"),
    ("aspirin", "causes", "nausea"),
    ("fever", "precedes", "headache"),
]


def facts_of(dataset: Dataset) -> set[tuple[str, str, str]]:
    """All facts of all splits, by name."""
    vocab = dataset.vocab
    rows = [row for split in ("train", "valid", "test") for row in dataset.facts(split).tolist()]
    return {(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in rows}


def read(x, **options) -> tuple[set[tuple[str, str, str]], list[str]]:
    """The facts and the report's lines."""
    dataset = load_dataset(x, **options)
    return facts_of(dataset), dataset.report.lines()


def table(header, rows, sep=",", order=(0, 1, 2)) -> str:
    """Rows as text, columns in another order."""
    lines = [[row[i] for i in order] for row in rows]
    return "".join(sep.join(line) + "\n" for line in ([header] if header else []) + lines)
