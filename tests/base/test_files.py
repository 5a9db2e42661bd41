"""Files appear whole or not at all; files that are not as they were written are told apart."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.files import (
    DamagedError,
    SealedError,
    _tidied,
    append_line,
    begin_manifest,
    digest,
    read_sealed,
    refuse_links,
    seal,
    verification,
    write_atomically,
    write_sealed,
)

KILLED = """
import os, signal, sys
from rnnlogic.base.files import write_atomically

def write(file):
    file.write(b"half")
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("at work", flush=True)
    sys.stdin.read()

write_atomically(sys.argv[1], write)
"""


@pytest.mark.parametrize("content", ["é\n", "é\n".encode(), lambda file: file.write("é\n".encode())])
def test_text_bytes_and_writers(tmp_path, content):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    write_atomically(path, content)
    assert path.read_bytes() == b"\xc3\xa9\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, problem):
    def fail(file):
        file.write(b"half")
        raise problem

    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(problem):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_readable_until_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    seen = []

    def write(file):
        file.write(b"new")
        file.flush()
        seen.append(path.read_bytes())

    write_atomically(path, write)
    assert seen == [b"old"]
    assert path.read_bytes() == b"new"


def test_what_a_kill_left_is_removed_and_nothing_of_the_living(tmp_path):
    path, others = (
        tmp_path / "a.txt",
        [".a.txt.0a1b2c3d.partial", ".b.123456.partial", "c.1-0a1b2c3d.partial"],
    )
    for name in others:
        (tmp_path / name).touch()  # not ours, or of an earlier version: nobody knows whose
    command = [sys.executable, "-c", KILLED, str(path)]
    subprocess.run([*command, "kill"], check=False)
    [left] = tmp_path.glob(".a.txt.*-*.partial")
    living = subprocess.Popen([*command, "live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert living.stdout.readline() == "at work\n"
    assert not left.exists()
    [at_work] = tmp_path.glob(".a.txt.*-*.partial")
    elsewhere = at_work.rename(tmp_path / ".a.txt.999999999-0a1b2c3d.partial")  # a number unknown here
    _tidied.discard(tmp_path)
    write_atomically(tmp_path / "b.txt", "whole")
    assert elsewhere.exists()
    living.kill()
    living.communicate()
    _tidied.discard(tmp_path)
    write_atomically(tmp_path / "b.txt", "whole")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([*others, "b.txt"])


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_atomically(tmp_path / "atomic", "")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "atomic")]
    assert modes[0] == modes[1]


def test_links_are_followed(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_devices_are_written_to_not_replaced(tmp_path):
    device = tmp_path / "null"
    device.symlink_to(os.devnull)
    write_atomically(device, "gone")
    assert device.is_symlink()
    assert not device.is_file()


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, "text")


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
