"""Reports of a run folder: where they lie, how they are read and written."""

import json

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.runs.files import (
    evaluation_name,
    has_report,
    metrics_of,
    ranks_path,
    read_report,
    report_path,
    write_report,
)


def test_names_and_places(tmp_path):
    assert evaluation_name("test") == "test"
    assert evaluation_name("test", "train+valid") == "test-train+valid"
    assert report_path(tmp_path, "case") == tmp_path / "reports" / "case.json"
    assert ranks_path(str(tmp_path), "valid") == tmp_path / "reports" / "valid.safetensors"
    assert ranks_path(tmp_path, "test", "train+valid").name == "test-train+valid.safetensors"


def test_a_report_is_read_as_it_was_written(tmp_path):
    values = {"both": {"expected": {"mrr": 0.5}}, "name": "Zoë"}
    assert not has_report(tmp_path / "new", "test")
    write_report(tmp_path / "new", "test", {"old": 1})
    write_report(tmp_path / "new", "test", values)
    assert has_report(tmp_path / "new", "test")
    assert read_report(tmp_path / "new", "test") == values
    assert metrics_of(tmp_path / "new") == {"mrr": 0.5}
    assert [path.name for path in (tmp_path / "new" / "reports").iterdir()] == ["test.json"]
    assert json.loads(report_path(tmp_path / "new", "test").read_text(encoding="utf-8")) == values


def test_a_broken_or_missing_report_is_named(tmp_path):
    with pytest.raises(RNNLogicError, match=r"test\.json: cannot be read .*; was the folder copied whole\?"):
        read_report(tmp_path, "test")
    write_report(tmp_path, "test", {})
    report_path(tmp_path, "test").write_text("{")
    with pytest.raises(RNNLogicError, match=r"test\.json: cannot be read"):
        read_report(tmp_path, "test")
    (tmp_path / "file").touch()
    with pytest.raises(RNNLogicError, match="cannot be written"):
        write_report(tmp_path / "file", "test", {})
