"""One writer at a time; a kill leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rnnlogic.base.lock import LOCK, LockedError, exclusive

HOLD = """
import sys, time
from rnnlogic.base.lock import exclusive
with exclusive(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()


def test_the_holder_is_named_and_a_kill_frees_the_folder(holder, tmp_path):
    with pytest.raises(
        LockedError, match=rf"process {holder.pid} on .* is writing here; wait .*remove"
    ) as told:
        exclusive(tmp_path).__enter__()
    assert str(tmp_path / LOCK) in str(told.value)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).is_file()
    with exclusive(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"{os.getpid()}\n")
    assert not (tmp_path / LOCK).exists()


def test_the_same_process_does_not_write_twice(tmp_path):
    with exclusive(tmp_path), pytest.raises(LockedError), exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        pass


def left_behind(folder: Path, **changes) -> None:
    """Leave the file of a holder that was killed; `changes` of the process, the machine and its last line."""
    with exclusive(folder):
        process, machine, last, _ = (folder / LOCK).read_text().split("\n")
    holder = {"process": process, "machine": machine, "last": last} | changes
    (folder / LOCK).write_text("".join(f"{part}\n" for part in holder.values()))


def test_another_machine_cannot_be_looked_at_so_a_person_decides(tmp_path):
    left_behind(tmp_path, machine="elsewhere", last="another boot")
    with pytest.raises(LockedError, match="on elsewhere"):
        exclusive(tmp_path).__enter__()
    (tmp_path / LOCK).unlink()
    with exclusive(tmp_path):
        pass


def test_a_reboot_leaves_nothing_behind(tmp_path):
    left_behind(tmp_path, last="before the reboot", process=1)
    with exclusive(tmp_path):
        pass


def test_without_locks_of_the_system_the_holder_is_looked_for(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with (
        exclusive(tmp_path),
        pytest.raises(LockedError, match=rf"process {os.getpid()} on .*, since 2"),
        exclusive(tmp_path),
    ):
        pass
    left_behind(tmp_path, process=2**22 + 1)
    with exclusive(tmp_path):
        pass
    left_behind(tmp_path, process=1, last=1 << 64)  # when the process began: another one had this number
    with exclusive(tmp_path):
        pass
    left_behind(tmp_path, machine="elsewhere")
    with pytest.raises(LockedError, match="on elsewhere"):
        exclusive(tmp_path).__enter__()
    (tmp_path / LOCK).unlink()
    with exclusive(tmp_path):
        pass


def test_damaged_files_and_links_are_told_apart(tmp_path):
    (tmp_path / LOCK).write_bytes(b"\xff half a file")
    with exclusive(tmp_path):
        pass
    (tmp_path / LOCK).symlink_to(tmp_path / "anything")
    with pytest.raises(LockedError, match="is a link"):
        exclusive(tmp_path).__enter__()
    assert not (tmp_path / "anything").exists()


def test_no_trace_where_nothing_was_written(tmp_path):
    with exclusive(tmp_path / "new" / "run"):
        assert (tmp_path / "new" / "run" / LOCK).is_file()
    assert not (tmp_path / "new").exists()
    with exclusive(tmp_path / "new" / "run"):
        (tmp_path / "new" / "other").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "other"]
    with exclusive(None):
        pass
