"""Arrays that are not as declared are refused before anybody sees them."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from rnnlogic.base.arrays import Declared, WrongArraysError, parse_arrays, require_arrays, write_arrays

DECLARED = {
    "heads": Declared("int32", ("rules",), least=0, below="2*R"),
    "body": Declared("int32", ("steps",), least=0, below="2*R"),
    "body_ptr": Declared("int64", ("rules+1",), points_into="body"),
    "share": Declared("float64", ("rules",), least=0, most=1.0),
    "prior": Declared("float32", ("rules",), finite=False, optional=True),
    "layer.*": Declared("float32", None),
}
GOOD = {
    "heads": np.array([0, 5], np.int32),
    "body": np.array([1, 2, 3], np.int32),
    "body_ptr": np.array([0, 1, 3]),
    "share": np.array([0.5, 1.0]),
    "layer.1": np.ones((2, 2), np.float32),
}
SIZES = {"R": 3}


ABOVE = """
import resource, sys
import numpy as np
from pathlib import Path
from rnnlogic.base.arrays import write_arrays
array = np.ones(3 << 24, np.float32)
now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + array.nbytes // 2,) * 2)
with open(sys.argv[1], "wb") as file:
    write_arrays(file, {"entity": array})
"""


def test_arrays_are_written_as_the_library_writes_them():
    every = GOOD | {
        "flags": np.array([True]),
        "none": np.empty((0, 3), np.int8),
        "number": np.array(2.5),
        "across": np.arange(6, dtype=np.uint64).reshape(2, 3).T,
        "bytes": np.arange(3, dtype=np.uint8),
    }
    contiguous = {name: np.asarray(array, order="C") for name, array in every.items()}
    for metadata in (None, {"about": 'x é "quoted"'}):
        file = io.BytesIO()
        write_arrays(file, every, metadata)
        assert file.getvalue() == save(contiguous, metadata)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="the limit is set from the memory in use, which only Linux tells in /proc",
)
def test_a_file_is_written_where_memory_does_not_hold_the_arrays_twice(tmp_path):
    done = subprocess.run([sys.executable, "-c", ABOVE, str(tmp_path / "x")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(parse_arrays(bytearray((tmp_path / "x").read_bytes())).arrays["entity"]) == 3 << 24


def test_an_array_may_have_another_rank_if_that_is_declared():
    declared = {"eta": Declared("float64", other_shape=("parts", "2*R"))}
    for shape in ((), (2, 6)):
        require_arrays({"eta": np.zeros(shape)}, declared, SIZES)
    for shape in ((6,), (2, 5), (1, 2, 6)):
        with pytest.raises(WrongArraysError, match="eta is float64"):
            require_arrays({"eta": np.zeros(shape)}, declared, SIZES)
    with pytest.raises(WrongArraysError, match=r"eta is float64 \[3, 6\], not float64 \[parts, 2\*R\]"):
        require_arrays({"eta": np.zeros((3, 6))}, declared, SIZES | {"parts": 2})


def read(arrays, declared=DECLARED):
    return parse_arrays(bytearray(save(arrays, {"about": "x"})), declared, SIZES)


def test_what_is_declared_comes_back_and_can_be_changed():
    back, metadata = read(GOOD)
    assert metadata == {"about": "x"}
    for name, array in GOOD.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
        assert back[name].flags.writeable
        assert back[name].flags.aligned


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": np.array([0, 6], np.int32)}, "heads holds 6, but there are only 6"),
        ({"heads": np.array([0, -1], np.int32)}, "heads holds -1, less than 0"),
        ({"heads": np.array([0, 1])}, r"heads is int64 \[2\], not int32 \[rules\]"),
        ({"share": np.array([0.5])}, r"share is float64 \[1\], not float64 \[rules\] with rules = 2"),
        ({"share": np.array([0.5, np.nan])}, "share holds values that are no numbers"),
        ({"share": np.array([0.5, 1.1])}, "share holds 1.1, more than 1"),
        ({"body_ptr": np.array([0, 4, 3])}, "body_ptr does not rise from 0 to 3"),
        ({"body_ptr": np.array([0, 1, 9])}, "body_ptr does not rise from 0 to 3"),
        ({"body_ptr": np.array([[0, 1, 3]])}, r"body_ptr is int64 \[1, 3\]"),
        ({"layer.1": np.array([np.inf], np.float32)}, "no numbers"),
        ({"layer.1": np.array([1, 1e30], np.float32)}, r"layer.1 holds 1e\+30, beyond 1e\+12"),
        ({"layer.1": np.array([1, -1e30], np.float32)}, r"layer.1 holds -1e\+30, beyond 1e\+12"),
        ({"other": np.zeros(1)}, "other does not belong here"),
        ({"share": None}, "share is missing"),
    ],
)
def test_what_is_not_as_declared_is_refused(change, message):
    arrays = {name: array for name, array in (GOOD | change).items() if array is not None}
    with pytest.raises(WrongArraysError, match=message):
        read(arrays)
    with pytest.raises(WrongArraysError, match=message):
        require_arrays(arrays, DECLARED, SIZES)


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]}},
        {"x": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}},
        {"x": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}},
        {"x": {"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]}},
        {"x": {"dtype": "PY", "shape": [1], "data_offsets": [0, 8]}},
        {n: {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]} for n in "xy"},
        {"x": []},
        [],
    ],
)
def test_headers_that_lie_cost_no_memory(header):
    text = json.dumps(header).encode()
    with pytest.raises(WrongArraysError):
        parse_arrays(bytearray(len(text).to_bytes(8, "little") + text + bytes(8)))


WHOLE = save(GOOD)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255), st.integers(0, len(WHOLE)))
def test_any_damage_is_refused_or_leaves_declared_arrays(place, byte, end):
    data = bytearray(WHOLE)
    data[place] = byte
    for damaged in (data, bytearray(WHOLE[:end])):
        try:
            arrays = parse_arrays(damaged, DECLARED, SIZES).arrays
        except WrongArraysError:
            continue
        require_arrays(arrays, DECLARED, SIZES)
        assert load(bytes(damaged)).keys() == arrays.keys()
