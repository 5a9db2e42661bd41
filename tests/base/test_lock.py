"""One writer at a time; a kill leaves nothing behind."""

import json
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
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert not (tmp_path / LOCK).exists()


def test_the_same_process_does_not_write_twice(tmp_path):
    with exclusive(tmp_path), pytest.raises(LockedError), exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        pass


def left_behind(folder: Path, **changes) -> None:
    with exclusive(folder):
        holder = json.loads((folder / LOCK).read_text())
    (folder / LOCK).write_text(json.dumps(holder | changes))


def test_another_machine_cannot_be_looked_at_so_a_person_decides(tmp_path):
    left_behind(tmp_path, host="elsewhere", boot="other")
    with pytest.raises(LockedError, match="on elsewhere"):
        exclusive(tmp_path).__enter__()
    (tmp_path / LOCK).unlink()
    with exclusive(tmp_path):
        pass


def test_a_reboot_leaves_nothing_behind(tmp_path):
    left_behind(tmp_path, boot="before the reboot", pid=1)
    with exclusive(tmp_path):
        pass


def test_without_locks_of_the_system_the_holder_is_looked_for(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("rnnlogic.base.lock.fcntl.flock", unsupported)
    with exclusive(tmp_path), pytest.raises(LockedError), exclusive(tmp_path):
        pass
    left_behind(tmp_path, pid=2**22 + 1)
    with exclusive(tmp_path):
        pass
    left_behind(tmp_path, pid=1, began="another process had this number")
    with exclusive(tmp_path):
        pass


def test_no_trace_where_nothing_was_written(tmp_path):
    with exclusive(tmp_path / "new" / "run"):
        assert (tmp_path / "new" / "run" / LOCK).is_file()
    assert not (tmp_path / "new").exists()
    with exclusive(tmp_path / "new" / "run"):
        (tmp_path / "new" / "other").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "other"]
    with exclusive(None):
        pass
