"""Files appear whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from rnnlogic.base.atomic import _tidied, write_atomically

KILLED = """
import os, signal, sys
from rnnlogic.base.atomic import write_atomically

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
