"""Which reader takes what: names, addresses, files, folders and objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rnnlogic.base.errors import DataError, RNNLogicError, UnknownNameError
from rnnlogic.data.files import read_file, read_folder, read_zip
from rnnlogic.data.named import KNOWN, is_name, local_names, read_named
from rnnlogic.data.options import ReadOptions
from rnnlogic.data.places import STANDARD_INPUT, StandardInput, stem_of, suffix_of
from rnnlogic.data.queries import DATABASE_SUFFIXES, is_connection, read_connection, read_database
from rnnlogic.data.raw import RawFacts
from rnnlogic.data.sparql import is_endpoint, read_endpoint
from rnnlogic.data.tables import read_object

LONGEST_NAME = 255  # bytes of a file's name, on every usual disk
SHOWN = 60


def read_source(x: Any, options: ReadOptions, *, keep_split: bool = True) -> tuple[str, RawFacts]:
    """The facts of anything that `load_dataset` takes, with a name for them."""
    if is_connection(x):
        return "facts", read_connection(x, options)
    if isinstance(x, str) and is_endpoint(x):
        return "facts", read_endpoint(x, options)
    path = Path(x) if isinstance(x, str | os.PathLike) else None
    if isinstance(x, str) and len(os.fsencode(Path(x).name)) > LONGEST_NAME:
        raise _not_found(x[:SHOWN] + "...")  # the system would not even look
    if path is not None and suffix_of(path) in DATABASE_SUFFIXES and path.exists():
        return stem_of(path), read_database(path, options)
    if options.query is not None:
        raise DataError(
            "a query needs a database file, a database connection or the address of a SPARQL endpoint"
        )
    if isinstance(x, str) and is_name(x):
        return x, read_named(x, options, keep_split=keep_split)
    if path is None:
        return "facts", read_object(x, options)
    if str(x) == STANDARD_INPUT:
        return "facts", read_file(StandardInput.read(), options)
    if path.is_dir():
        return path.resolve().name, read_folder(path, options)
    if path.is_file():
        reader = read_zip if suffix_of(path) == ".zip" else read_file
        return stem_of(path), reader(path, options)
    if str(x).lower() in KNOWN:
        return read_source(str(x).lower(), options, keep_split=keep_split)
    raise _not_found(x)


def _not_found(x: str | os.PathLike[str]) -> RNNLogicError:
    if not isinstance(x, str) or Path(x).name != x or suffix_of(Path(x)):
        return DataError("no such file or folder", Path(x))
    names = [*KNOWN, *(name for name in local_names() if name not in KNOWN)]
    problem = UnknownNameError("dataset", x, names)
    return DataError(f"{problem} (known: {', '.join(names)}; no file or folder has that name either)")
