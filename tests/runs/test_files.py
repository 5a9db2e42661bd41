"""Lines and JSON objects of a run folder."""

import json

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.runs.files import append_line, read_object, write_file


def test_half_a_line_of_metrics_is_dropped(run):
    run.log({"round": 1})
    with (run.folder / "metrics.jsonl").open("a") as file:
        file.write('{"round": 2, "val')
    run.log({"round": 2, "note": "é"})
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"round": 1}, {"round": 2, "note": "é"}]


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", '{"a": 1} more'])
def test_what_is_no_object_is_named(tmp_path, text):
    path = tmp_path / "about.json"
    path.write_text(text)
    with pytest.raises(RNNLogicError, match=r"about\.json: cannot be read \(.*\); was the folder copied"):
        read_object(path)


def test_what_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for write in (write_file, append_line):
        with pytest.raises(RNNLogicError, match=r"log\.txt: cannot be written"):
            write(tmp_path / "file" / "log.txt", "line")
