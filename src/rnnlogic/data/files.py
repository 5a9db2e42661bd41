"""Datasets on disk: single files, and folders with train/valid/test, dictionaries and labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rnnlogic.base.errors import DataError
from rnnlogic.data.rdf import RDF_SUFFIXES, read_rdf
from rnnlogic.data.readers import (
    BLANKS,
    TEXT_SUFFIXES,
    UNSPLIT,
    Names,
    RawFacts,
    Tally,
    decode,
    read_chunks,
    read_text,
    stem_of,
    suffix_of,
)

SPLIT_FILES = {"train": ("train",), "valid": ("valid", "dev", "validation"), "test": ("test",)}
ENTITY_DICT, RELATION_DICT = "entities.dict", "relations.dict"
ENTITY_LABELS, RELATION_LABELS = "entity_labels.tsv", "relation_labels.tsv"
SUFFIXES = (*TEXT_SUFFIXES, *RDF_SUFFIXES)


def read_file(path: Path) -> RawFacts:
    """One file of facts, not yet split."""
    raw = RawFacts(source=str(path))
    _read_into(raw, UNSPLIT, path)
    return raw


def read_folder(folder: Path) -> RawFacts:
    """A folder with train, valid and test files, or with a train file only (then not yet split)."""
    paths = split_files(folder)
    if "train" not in paths:
        raise DataError(
            f"no train file; looked for train{{{','.join(TEXT_SUFFIXES)}}} (also .gz) and RDF. "
            "Give the file itself if all facts are in one file",
            folder,
        )
    if "valid" in paths or "test" in paths:
        _require_all_splits(folder, paths)
    else:
        paths = {UNSPLIT: paths["train"]}
    raw = RawFacts(str(folder), _fixed_names(folder / ENTITY_DICT), _fixed_names(folder / RELATION_DICT))
    for split, path in paths.items():
        _read_into(raw, split, path)
    raw.entity_labels |= _labels(folder / ENTITY_LABELS)
    raw.relation_labels |= _labels(folder / RELATION_LABELS)
    return raw


def split_files(folder: Path) -> dict[str, Path]:
    """The file of every split that the folder has; two files for one split are an error."""
    found: dict[str, Path] = {}
    for split, path in split_candidates(folder):
        if split in found:
            raise DataError(f"two {split} files, {found[split].name} and {path.name}: keep one", folder)
        found[split] = path
    return {split: found[split] for split in SPLIT_FILES if split in found}


def split_candidates(folder: Path) -> Iterator[tuple[str, Path]]:
    """All files of a folder that look like a split, with the split."""
    for path in sorted(folder.iterdir()):
        split = next((split for split, stems in SPLIT_FILES.items() if stem_of(path).lower() in stems), None)
        if split is not None and suffix_of(path) in SUFFIXES and path.is_file():
            yield split, path


def _require_all_splits(folder: Path, paths: dict[str, Path]) -> None:
    for split in SPLIT_FILES:
        if split not in paths:
            raise DataError(
                f"no {split} file ({', '.join(path.name for path in paths.values())} found); "
                f"add {split}.txt, or give all facts as a single file to have it split",
                folder,
            )


def _read_into(raw: RawFacts, split: str, path: Path) -> None:
    if suffix_of(path) in RDF_SUFFIXES:
        raw.add(split, read_rdf(path, raw), path)
    else:
        raw.add(split, read_text(path, raw.tally), path)


def _fixed_names(path: Path) -> Names:
    """Names in the order of their ids in an `id<TAB>name` file; free names if there is no such file."""
    if not path.is_file():
        return Names()
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for line, (number, name) in _pairs(path, "id<TAB>name"):
        if not number.isdecimal():
            raise DataError(f"{number!r} is not an id; expected id<TAB>name", path, line)
        if int(number) in names or name in ids:
            raise DataError(f"id {number} or name {name!r} is given twice", path, line)
        names[int(number)], ids[name] = name, int(number)
    missing = next((i for i in range(len(names)) if i not in names), None)
    if missing is not None:
        raise DataError(f"ids must run from 0 to {len(names) - 1}; {missing} is missing", path)
    return Names(names[i] for i in range(len(names)))


def _labels(path: Path) -> dict[str, str]:
    return {name: label for _, (name, label) in _pairs(path, "name<TAB>label")} if path.is_file() else {}


def _pairs(path: Path, expected: str) -> Iterator[tuple[int, tuple[str, str]]]:
    for chunk in read_chunks(path, Tally()):
        for line, text in enumerate(decode(chunk, path).split("\n"), chunk.first_line):
            if not text.strip():
                continue
            fields = [field.strip(BLANKS) for field in text.split("\t")]
            if len(fields) != 2 or not all(fields):
                raise DataError(f"expected {expected}, found {len(fields)} column(s)", path, line)
            yield line, (fields[0], fields[1])
