"""Files are known by their checksums; links are not followed."""

import os
from pathlib import Path

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.sealed import (
    DamagedError,
    SealedError,
    append_line,
    begin_manifest,
    digest,
    read_sealed,
    refuse_links,
    seal,
    verification,
    write_sealed,
)


@pytest.fixture
def folder(tmp_path) -> Path:
    begin_manifest(tmp_path / "run")
    write_sealed(tmp_path / "run" / "a.json", "first")
    write_sealed(tmp_path / "run" / "stages" / "b", b"second")
    return tmp_path / "run"


def test_damage_is_noticed_unless_nobody_looks(folder):
    assert read_sealed(folder / "stages" / "b") == b"second"
    for change in (b"Second", b"secon", b"secondd", b""):
        (folder / "stages" / "b").write_bytes(change)
        with pytest.raises(DamagedError, match="stages/b: is damaged"):
            read_sealed(folder / "stages" / "b")
    with verification(False):
        assert read_sealed(folder / "stages" / "b") == b""
    (folder / "new").write_text("x")
    with pytest.raises(DamagedError, match=r"manifest\.jsonl does not know it"):
        read_sealed(folder / "new")


def test_a_kill_between_the_manifest_and_the_file_leaves_a_whole_folder(folder, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    for _ in range(2):  # one kill after another, each with other contents
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", killed)
            for content in ("newer", "newest", "newest", "other"):
                with pytest.raises(KeyboardInterrupt):
                    write_sealed(folder / "a.json", content)
                assert read_sealed(folder / "a.json") == b"first"
        assert not list(folder.glob(".*.partial"))
        write_sealed(folder / "a.json", "second")
        assert read_sealed(folder / "a.json") == b"second"
        write_sealed(folder / "a.json", "first")


def test_a_new_note_does_not_make_damage_good(folder, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    write_sealed(folder / "a.json", "second")
    (folder / "a.json").write_text("damaged")
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_sealed(folder / "a.json", "third")
    with pytest.raises(DamagedError):
        read_sealed(folder / "a.json")


def test_damage_of_the_manifest_is_noticed(folder):
    manifest = folder / "manifest.jsonl"
    whole = manifest.read_bytes()
    for bad in (
        whole.replace(b"a.json", b"b.json"),
        whole[:20],
        b"",
        *(
            whole.replace(b'"bytes": 5', b'"bytes": ' + number)
            for number in (b"4", b"7e564", b"1e400", b"-1e400", b"NaN", b"5.0", b"5" * 5000, b"null", b'"5"')
        ),
    ):
        manifest.write_bytes(bad)
        with pytest.raises(DamagedError):
            read_sealed(folder / "a.json")
    manifest.write_bytes(whole + b'{"file": "a.js')  # half a line, by a kill
    assert read_sealed(folder / "a.json") == b"first"
    write_sealed(folder / "a.json", "third")
    assert read_sealed(folder / "a.json") == b"third"


def test_of_a_file_that_grows_the_beginning_is_known(folder):
    append_line(folder / "log.txt", "one")
    seal(folder / "log.txt", grows=True)
    append_line(folder / "log.txt", "two")
    assert read_sealed(folder / "log.txt") == b"one\ntwo\n"
    (folder / "log.txt").write_text("One\ntwo\n")
    with pytest.raises(DamagedError):
        read_sealed(folder / "log.txt")


@pytest.mark.parametrize("inside", ["a.json", "stages"])
def test_links_are_neither_followed_nor_replaced(folder, tmp_path, inside):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "b").write_text("years of work")
    target = precious / "b" if inside == "a.json" else precious
    for name in ("a.json", "stages/b"):
        (folder / name).unlink()
    if inside == "stages":
        (folder / "stages").rmdir()
    (folder / inside).symlink_to(target)
    with pytest.raises(SealedError, match="is a link"):
        refuse_links(folder)
    path = folder / ("a.json" if inside == "a.json" else "stages/b")
    for act in (lambda: write_sealed(path, "x"), lambda: read_sealed(path), lambda: append_line(path, "x")):
        with pytest.raises(SealedError, match="is a link or no file"):
            act()
    assert (precious / "b").read_text() == "years of work"


def test_pipes_are_refused(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(RNNLogicError, match="is no file"):
        refuse_links(folder)


def test_the_digest_of_a_beginning(tmp_path):
    (tmp_path / "x").write_bytes(b"abcdef")
    (tmp_path / "y").write_bytes(b"abc")
    assert digest(tmp_path / "x", 3) == digest(tmp_path / "y")
