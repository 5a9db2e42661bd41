"""What identifies the data, settings and rules of a fit, so that it resumes only with the same ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.saving import annotation_arrays, facts_by_split, reviewed_facts, value_arrays

FREE_KEYS = ("threads",)  # settings that change no result


class Difference(NamedTuple):
    """The first thing that is not the same."""

    key: str
    stored: Any
    wanted: Any


def fingerprint(dataset: Dataset) -> dict[str, str]:
    """What identifies a dataset; a difference is reported in this order."""
    vocab = dataset.vocab
    lists = {"entities": vocab.entities, "relations": vocab.relations}
    every = facts_by_split(dataset) | reviewed_facts(dataset)
    beside, source_sets = annotation_arrays(dataset)
    beside |= value_arrays(dataset)
    facts = {split: facts.astype("<i4") for split, facts in every.items()}
    return {
        "name": dataset.name,
        **{kind: _digest(len(names), json.dumps(names).encode()) for kind, names in lists.items()},
        **{split: _digest(len(rows), rows.tobytes()) for split, rows in facts.items()},
        **{name: _digest(len(rows), rows.tobytes()) for name, rows in beside.items()},
        **({"attributes": json.dumps(vocab.attributes)} if vocab.attributes else {}),
        **({"sources": _digest(len(source_sets), json.dumps(source_sets).encode())} if source_sets else {}),
    }


def fingerprint_of_settings(config: Config) -> dict[str, Any]:
    """Every setting that may change a result, by its dotted key."""
    return {key: value for key, value in _flat(config.model_dump()).items() if key not in FREE_KEYS}


def fingerprint_of_rules(text: str) -> dict[str, str]:
    """What identifies the rules that a fit was given, one a line."""
    return {"given": _digest(text.count("\n"), text.encode()) if text else "none"}


def first_difference(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> Difference | None:
    """The first key with different values; None if there is none."""
    for key in [*wanted, *stored]:
        if stored.get(key) != wanted.get(key):
            return Difference(key, stored.get(key), wanted.get(key))
    return None


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _digest(size: int, content: bytes) -> str:
    return f"{size:,} (hash {hashlib.sha256(content).hexdigest()[:8]})"
