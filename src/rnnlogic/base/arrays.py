"""Arrays in safetensors files, which may come from anybody: what is not as declared never reaches a kernel.

Whoever packs arrays declares them beside its pack function: name, type, shape, range. Shapes and ranges may
use names of sizes, such as `rules` or `2*R`. A name without a value takes the one of the first array that has
it, so all others must agree.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnlogic.base.types import Arrays

DTYPES = {  # in the order of safetensors, whose files begin with the last: so everything is aligned
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "F32": "float32",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
LARGEST = 1e12  # no fit gives larger values; sums and products of such ones are still numbers, in float32 too
METADATA = "__metadata__"
ALIGNED = 8  # bytes: the length of the header, and what the header is filled up to a multiple of
_SIZE = re.compile(r"(?:(-?\d+)\*)?([A-Za-z_]\w*)([+-]\d+)?")
Size = str | int  # a number, a name, or such as "2*R" and "rules+1"


class WrongArraysError(ValueError):
    """Arrays that are not as declared, or a file that is none; whoever knows the file says which."""


class Declared(NamedTuple):
    """What one array must be."""

    dtype: str
    shape: tuple[Size, ...] | None = ()  # of a single number; None for any
    least: Size | None = None
    below: Size | None = None
    most: float | None = None
    finite: bool = True  # else NaN, infinity and values beyond LARGEST may occur
    points_into: str | None = None  # rises from 0 to the length of that array
    optional: bool = False
    other_shape: tuple[Size, ...] | None = None  # one of another rank that it may have instead


Declaration = dict[str, Declared]  # by name; `*` in a name stands for anything
Sizes = Mapping[str, int]


class _Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class ArrayFile(NamedTuple):
    """The arrays of a safetensors file, and the texts beside them."""

    arrays: Arrays
    metadata: dict[str, str]


def write_arrays(
    file: BinaryIO, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file, array by array.

    The library holds the whole file in memory a second time, and ends the process where that does not fit.
    """
    names = {dtype: name for name, dtype in DTYPES.items()}
    order = {dtype: -place for place, dtype in enumerate(DTYPES.values())}
    header: dict[str, Any] = {} if metadata is None else {METADATA: dict(metadata)}
    end, ordered = 0, sorted(arrays.items(), key=lambda item: (order[str(item[1].dtype)], item[0]))
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        shape, dtype = list(array.shape), names[str(array.dtype)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    packed = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % ALIGNED)
    file.write(len(packed).to_bytes(ALIGNED, "little") + packed)
    for _, array in ordered:
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def parse_arrays(
    data: bytearray, declaration: Declaration | None = None, sizes: Sizes | None = None
) -> ArrayFile:
    """The arrays of a safetensors file, not copied; without a declaration only the file is checked."""
    entries, metadata, start = _header(data)
    bound = dict(sizes or {})
    if declaration is not None:
        _require_declared(entries, declaration, bound)
    arrays = {name: _array(data, entry, start) for name, entry in entries.items()}
    if declaration is not None:
        check_values(arrays, declaration, bound)
    return ArrayFile(arrays, metadata)


def require_arrays(arrays: Mapping[str, NDArray[Any]], declaration: Declaration, sizes: Sizes) -> None:
    """Refuse arrays in memory that are not as declared."""
    entries = {name: _Entry(str(array.dtype), array.shape, 0, 0) for name, array in arrays.items()}
    bound = dict(sizes)
    _require_declared(entries, declaration, bound)
    check_values(arrays, declaration, bound)


def check_values(arrays: Mapping[str, NDArray[Any]], declaration: Declaration, sizes: Sizes) -> None:
    """Refuse values out of range, and such as are no numbers."""
    for name, array in arrays.items():
        wanted = _declared(name, declaration)
        if wanted is None or not array.size:
            continue
        if wanted.finite and array.dtype.kind == "f":
            _require_finite(name, array)
        _require_range(name, array, wanted, sizes)
        if wanted.points_into is not None:
            _require_pointers(name, array, len(arrays[wanted.points_into]))


def _require_finite(name: str, array: NDArray[Any]) -> None:
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise WrongArraysError(f"{name} holds values that are no numbers")
    if max(-low, high) > LARGEST:
        raise WrongArraysError(f"{name} holds {low if -low > high else high:g}, beyond {LARGEST:g}")


def _require_range(name: str, array: NDArray[Any], wanted: Declared, sizes: Sizes) -> None:
    if wanted.least is None and wanted.below is None and wanted.most is None:
        return
    numbers = array[~np.isnan(array)] if array.dtype.kind == "f" else array
    low, high = (numbers.min(), numbers.max()) if numbers.size else (0, 0)
    if wanted.least is not None and numbers.size and low < size_of(wanted.least, sizes):
        raise WrongArraysError(f"{name} holds {low}, less than {size_of(wanted.least, sizes)}")
    if wanted.below is not None and numbers.size and high >= size_of(wanted.below, sizes):
        raise WrongArraysError(f"{name} holds {high}, but there are only {size_of(wanted.below, sizes):,}")
    if wanted.most is not None and numbers.size and high > wanted.most:
        raise WrongArraysError(f"{name} holds {high}, more than {wanted.most:g}")


def _require_pointers(name: str, array: NDArray[Any], end: int) -> None:
    if array.ndim != 1 or array[0] != 0 or array[-1] != end or (np.diff(array) < 0).any():
        raise WrongArraysError(f"{name} does not rise from 0 to {end:,}")


def _require_declared(entries: Mapping[str, _Entry], declaration: Declaration, sizes: dict[str, int]) -> None:
    for name, wanted in declaration.items():
        if name not in entries and not wanted.optional and "*" not in name:
            raise WrongArraysError(f"{name} is missing")
    ordered = [name for name in declaration if name in entries]
    for name in [*ordered, *(name for name in entries if name not in declaration)]:
        found = _declared(name, declaration)
        if found is None:
            raise WrongArraysError(f"{name} does not belong here")
        _require_form(name, entries[name], found, sizes)


def _require_form(name: str, entry: _Entry, wanted: Declared, sizes: dict[str, int]) -> None:
    is_other = wanted.other_shape is not None and len(entry.shape) == len(wanted.other_shape)
    shape = wanted.other_shape if is_other else wanted.shape
    fits = entry.dtype == wanted.dtype and (shape is None or len(shape) == len(entry.shape))
    for size, found in zip(shape or (), entry.shape, strict=False):
        if isinstance(size, str) and size.isidentifier() and size not in sizes:
            sizes[size] = found
        fits = fits and found == size_of(size, sizes)
    if not fits:
        form = "" if shape is None else f" [{', '.join(map(str, shape))}]"
        values = ", ".join(f"{key} = {sizes[key]:,}" for key in sizes if key in form)
        meant = f"{wanted.dtype}{form}" + (f" with {values}" if values else "")
        raise WrongArraysError(f"{name} is {entry.dtype} {list(entry.shape)}, not {meant}")


def size_of(size: Size, sizes: Sizes) -> int:
    """The value of a size such as 3, "rules", "2*R" or "rules+1"."""
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    assert match is not None, size
    factor, name, more = match.groups()
    if name not in sizes:
        raise WrongArraysError(f"the size {name} is not known")
    return int(factor or 1) * sizes[name] + int(more or 0)


def _declared(name: str, declaration: Declaration) -> Declared | None:
    if name in declaration:
        return declaration[name]
    return next(
        (d for pattern, d in declaration.items() if "*" in pattern and fnmatchcase(name, pattern)), None
    )


def _header(data: bytearray) -> tuple[dict[str, _Entry], dict[str, str], int]:
    """What lies where; every byte belongs to exactly one array."""
    length = int.from_bytes(data[:ALIGNED], "little")
    if len(data) < 8 or length > min(len(data) - 8, 1 << 24):  # bytes
        raise WrongArraysError("it is no safetensors file")
    try:
        header = json.loads(bytes(data[8 : 8 + length]))
        metadata = header.pop(METADATA, {})
        entries = {name: _entry(values) for name, values in header.items()}
        texts = {str(key): str(value) for key, value in metadata.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise WrongArraysError("its header is damaged") from None
    end = 0
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        size = math.prod(entry.shape) * np.dtype(entry.dtype).itemsize
        if entry.begin != end or entry.end - entry.begin != size:
            raise WrongArraysError("its header does not fit its contents")
        end = entry.end
    if 8 + length + end != len(data):
        raise WrongArraysError(f"it has {len(data):,} bytes, its header says {8 + length + end:,}")
    return entries, texts, 8 + length


def _entry(values: Any) -> _Entry:
    numbers: list[int] = [*values["shape"], *values["data_offsets"]]
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError
    begin, end = values["data_offsets"]
    return _Entry(DTYPES[values["dtype"]], tuple(values["shape"]), begin, end)


def _array(data: bytearray, entry: _Entry, start: int) -> NDArray[Any]:
    count = math.prod(entry.shape)
    if not count:
        return np.empty(entry.shape, entry.dtype)
    array = np.frombuffer(data, np.dtype(entry.dtype), count, start + entry.begin).reshape(entry.shape)
    return array if array.flags.aligned else array.copy()
