"""Datasets on disk: files, zip archives, and folders with train/valid/test, dictionaries and labels."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rnnlogic.base.errors import DataError
from rnnlogic.data.graph import fact_keys, is_among
from rnnlogic.data.labels import read_labels, read_pairs
from rnnlogic.data.neo4j import dump_file, read_dump
from rnnlogic.data.networks import (
    GRAPHML,
    JSON,
    RELATIONSHIPS,
    read_graphml,
    read_json,
    read_relationships,
    store_in,
)
from rnnlogic.data.options import NO_OPTIONS, ReadOptions
from rnnlogic.data.places import Place, open_bytes, shown, stem_of, suffix_of, visible, zip_root
from rnnlogic.data.raw import UNSPLIT, Names, RawFacts, shortened
from rnnlogic.data.rdf import RDF_SUFFIXES, read_rdf
from rnnlogic.data.readers import JSON_SUFFIXES, TEXT_SUFFIXES, read_excel, read_json_lines, read_text
from rnnlogic.data.tables import read_parquet

Folder = Path | zipfile.Path
SPLIT_FILES = {"train": ("train",), "valid": ("valid", "dev", "validation"), "test": ("test",)}
MORE_TRAIN = "facts"  # Neural-LP and DRUM keep most training facts in facts.txt, beside train.txt
ENTITY_DICT, RELATION_DICT = "entities.dict", "relations.dict"
ENTITY_LABELS, RELATION_LABELS = "entity_labels.tsv", "relation_labels.tsv"
ATTRIBUTES = "attributes.tsv"  # entity, attribute, value: as `save_dataset` writes them
EXTRAS = (ENTITY_DICT, RELATION_DICT, ENTITY_LABELS, RELATION_LABELS, ATTRIBUTES)
PARQUET = ".parquet"
EXCEL = (".xlsx", ".xlsm")
SUFFIXES = (*TEXT_SUFFIXES, *RDF_SUFFIXES, *JSON_SUFFIXES, PARQUET)  # of files that can hold a split
WHOLE = (GRAPHML, JSON, *EXCEL)  # of files that hold all facts
NO_DATA = (".md", ".rst", ".py", ".pyc", ".log", ".pdf", ".bib", ".cff", ".yaml", ".yml")  # never facts
PICKLES = (".pkl", ".pickle")
LONGEST_ID = 12  # digits: no memory holds more names
LEAKING = 0.1  # share of test facts in facts.txt from which on it cannot be training data
OTHER_FORMATS = {
    ".xls": "save the sheet as CSV",
    ".gexf": "read it with networkx.read_gexf and load that graph",
    ".pkl": "a pickle can run any code; export the facts as CSV or Parquet",
    ".pickle": "a pickle can run any code; export the facts as CSV or Parquet",
    ".jsonld": "convert it to N-Triples or Turtle",
}


def read_file(place: Place, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """One file of facts, not yet split; or a zip archive."""
    if isinstance(place, Path) and suffix_of(place) == ".zip":
        return _read_zip(place, options)
    if options.columns is None and (dump := dump_file(place)) and dump.has_relationships:
        return read_dump([dump], str(place), options)
    raw = RawFacts(source=str(place))
    suffix = suffix_of(place)
    if suffix == PARQUET and stem_of(place) in RELATIONSHIPS and options.columns is None:
        read_relationships(place, raw, options)
    elif suffix == GRAPHML:
        read_graphml(place, raw, options)
    elif suffix == JSON or (suffix in PICKLES and _is_json(place)):
        read_json(place, raw, options)
    elif suffix in EXCEL:
        raw.add(UNSPLIT, read_excel(place, raw.tally, options), place)
    else:
        _read_into(raw, UNSPLIT, place, options)
    return raw


def _is_json(place: Place) -> bool:
    """Whether a file called a pickle holds JSON, as Cognee's do."""
    with open_bytes(place) as file:
        return file.read(1) == b"{"


def _read_zip(path: Path, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """A zip archive of a folder, or of a single file."""
    root = zip_root(path)
    known = (*SUFFIXES, *WHOLE)
    files = [place for place in visible(root) if place.is_file() and suffix_of(place) in known]
    if split_files(root).get("train") is None and len(files) == 1:
        raw = read_file(files[0], options)
    else:
        raw = read_folder(root, options)
    raw.source = str(path)
    return raw


def read_folder(folder: Folder, options: ReadOptions = NO_OPTIONS) -> RawFacts:
    """A folder with train, valid and test files; not yet split: a train file only, or a Neo4j dump."""
    paths = split_files(folder)
    if "train" not in paths:
        store = store_in(folder)
        return _read_neo4j_folder(folder, options) if store is None else read_file(store, options)
    if "valid" in paths or "test" in paths:
        _require_all_splits(folder, paths)
    else:
        paths = {UNSPLIT: paths["train"]}
    raw = RawFacts(str(folder), _fixed_names(folder / ENTITY_DICT), _fixed_names(folder / RELATION_DICT))
    for split, place in paths.items():
        _read_into(raw, split, place, options)
    more = _more_train(folder) if "test" in paths else None
    used = [*paths.values()]
    if more is not None:
        _add_more_train(raw, more, options)
        used.append(more)
    for name, labels in ((ENTITY_LABELS, raw.entity_labels), (RELATION_LABELS, raw.relation_labels)):
        if (folder / name).is_file():
            labels |= read_labels(folder / name)
    if (folder / ATTRIBUTES).is_file():
        for block in read_text(folder / ATTRIBUTES, raw.tally, replace(options, columns=("1", "2", "3"))):
            raw.beside += zip(*block.columns, strict=True)
    _note_ignored(raw, folder, [*(place.name for place in used), *EXTRAS])
    return raw


def split_files(folder: Folder) -> dict[str, Place]:
    """The file of every split that the folder has; two files for one split are an error."""
    found: dict[str, Place] = {}
    for split, path in split_candidates(folder):
        if split in found:
            raise DataError(
                f"two {split} files, {found[split].name} and {path.name}: keep one", shown(folder)
            )
        found[split] = path
    return {split: found[split] for split in SPLIT_FILES if split in found}


def split_candidates(folder: Folder) -> Iterator[tuple[str, Path | zipfile.Path]]:
    """All files of a folder that look like a split, with the split."""
    for path in visible(folder):
        split = next((split for split, stems in SPLIT_FILES.items() if stem_of(path).lower() in stems), None)
        if split is not None and suffix_of(path) in SUFFIXES and path.is_file():
            yield split, path


def more_train_candidates(folder: Folder) -> list[Path | zipfile.Path]:
    """Files that hold more training facts if the folder has all three splits."""
    return [
        path
        for path in visible(folder)
        if stem_of(path).lower() == MORE_TRAIN and suffix_of(path) in SUFFIXES and path.is_file()
    ]


def _more_train(folder: Folder) -> Place | None:
    found = more_train_candidates(folder)
    if len(found) > 1:
        raise DataError(f"two files of facts, {found[0].name} and {found[1].name}: keep one", shown(folder))
    return found[0] if found else None


def _add_more_train(raw: RawFacts, place: Place, options: ReadOptions) -> None:
    """Add the facts of facts.txt to train, unless they give the test facts away."""
    _read_into(raw, MORE_TRAIN, place, options)
    more = raw.splits[MORE_TRAIN]
    size = len(raw.entities), len(raw.relations)
    held_back = np.concatenate([raw.splits["valid"], raw.splits["test"]])
    repeated = int(is_among(fact_keys(held_back, *size), fact_keys(more, *size)).sum())
    if repeated > LEAKING * len(held_back):
        raw.tally.note(
            f"{place.name} ignored: it holds {repeated:,} of {len(held_back):,} facts of valid and test, "
            "so it is not training data"
        )
        raw.forget(MORE_TRAIN)
        return
    raw.move(MORE_TRAIN, "train")
    raw.tally.note(
        f"{len(more):,} fact(s) of {place.name} read as part of train (layout of Neural-LP and DRUM)"
    )


def _note_ignored(raw: RawFacts, folder: Folder, used: Sequence[str]) -> None:
    """Name the files that were not read; papers and programs beside the data do not count."""
    ignored = [
        shortened(place.name)
        for place in visible(folder)
        if place.is_file()
        and place.name not in used
        and suffix_of(place) not in NO_DATA
        and not place.name.upper().startswith(("README", "LICENSE", "CITATION", "MAKEFILE"))
    ]
    if ignored:
        some = ", ".join(ignored[:5]) + (f" and {len(ignored) - 5:,} more" if len(ignored) > 5 else "")
        raw.tally.note(f"ignored in this folder: {some}")


def _read_neo4j_folder(folder: Folder, options: ReadOptions) -> RawFacts:
    files = [dump for place in visible(folder) if place.is_file() and (dump := dump_file(place))]
    if not any(file.has_relationships for file in files):
        raise DataError(
            f"no train file; looked for train{{{','.join(TEXT_SUFFIXES)}}} (also .gz, .zst), RDF, JSON "
            "Lines, Parquet, Neo4j's CSV files, and the graphs of LightRAG and GraphRAG. Give the "
            "file itself if all facts are in one file",
            shown(folder),
        )
    raw = read_dump(files, str(folder), options)
    _note_ignored(raw, folder, [file.place.name for file in files])
    return raw


def _require_all_splits(folder: Folder, paths: dict[str, Place]) -> None:
    for split in SPLIT_FILES:
        if split not in paths:
            raise DataError(
                f"no {split} file ({', '.join(path.name for path in paths.values())} found); "
                f"add {split}.txt, or give all facts as a single file to have it split",
                shown(folder),
            )


def _read_into(raw: RawFacts, split: str, place: Place, options: ReadOptions) -> None:
    suffix = suffix_of(place)
    if suffix in OTHER_FORMATS:
        raise DataError(f"{suffix} files are not read; {OTHER_FORMATS[suffix]}", shown(place))
    if suffix not in TEXT_SUFFIXES and suffix in SUFFIXES and options.sep is not None:
        raise DataError(f"--sep applies to text tables only, not to {suffix} files", shown(place))
    if suffix in RDF_SUFFIXES:
        if options.columns is not None:
            raise DataError(
                "RDF says itself what is subject, predicate and object; leave out --columns", shown(place)
            )
        raw.add(split, read_rdf(place, raw), place)
    elif suffix in JSON_SUFFIXES:
        raw.add(split, read_json_lines(place, raw.tally, options), place)
    elif suffix == PARQUET:
        raw.add(split, read_parquet(place, raw.tally, options), place)
    else:
        raw.add(split, read_text(place, raw.tally, options), place)


def _fixed_names(path: Folder) -> Names:
    """Names in the order of their ids in an `id<TAB>name` file; free names if there is no such file."""
    if not path.is_file():
        return Names()
    names: dict[int, str] = {}
    ids: dict[str, int] = {}
    for line, (number, name) in read_pairs(path, "id<TAB>name"):
        if not number.isdecimal() or len(number) > LONGEST_ID:
            raise DataError(f"{number!r} is not an id; expected id<TAB>name", shown(path), line)
        if int(number) in names or name in ids:
            raise DataError(f"id {number} or name {name!r} is given twice", shown(path), line)
        names[int(number)], ids[name] = name, int(number)
    missing = next((i for i in range(len(names)) if i not in names), None)
    if missing is not None:
        raise DataError(f"ids must run from 0 to {len(names) - 1}; {missing} is missing", shown(path))
    return Names(names[i] for i in range(len(names)))
