"""Processes side by side: order, failures, what is done already, and being interrupted."""

import os
import subprocess
import sys
import threading

import pytest

from paper.pool import State, Task, run_tasks
from rnnlogic.base.lock import inherited_lock


def task(folder, name, code="", needs=(), environment=None):
    """A process that runs some code and then leaves a file."""
    file = folder / name
    program = f"{code}\nopen({str(file)!r}, 'w').close()"
    command = [sys.executable, "-S", "-c", program]
    return Task(name, command, folder / "logs" / f"{name}.log", file.is_file, needs, environment or {})


def test_what_is_needed_comes_first(tmp_path):
    first = task(tmp_path, "a", "import time; time.sleep(0.3)")
    second = task(tmp_path, "b", f"assert open({str(tmp_path / 'a')!r})", ("a",))
    run_tasks([second, first], jobs=2)
    assert [first.state, second.state] == [State.done, State.done]
    assert first.seconds >= 0.3


def test_one_that_fails_is_told_and_does_not_stop_the_rest(tmp_path):
    tasks = [
        task(tmp_path, "bad", "import sys; sys.exit('error: no such file')"),
        task(tmp_path, "after", needs=("bad",)),
        task(tmp_path, "good"),
        task(tmp_path, "after that", needs=("after",)),
    ]
    run_tasks(tasks, jobs=1)
    assert [t.state for t in tasks] == [State.failed, State.skipped, State.done, State.skipped]
    assert "exit code 1" in tasks[0].reason
    assert tasks[0].reason.endswith("error: no such file")
    assert tasks[1].reason == "needs bad"


def test_a_process_that_leaves_nothing_has_failed(tmp_path):
    empty = Task("x", [sys.executable, "-S", "-c", ""], tmp_path / "x.log", lambda: False)
    run_tasks([empty], jobs=1)
    assert empty.state is State.failed


def test_a_command_that_cannot_be_started_fails_alone(tmp_path):
    missing = Task("x", [str(tmp_path / "none")], tmp_path / "x.log", lambda: False)
    good = task(tmp_path, "good")
    run_tasks([missing, good], jobs=1)
    assert [missing.state, good.state] == [State.failed, State.done]
    assert "none" in missing.reason


def test_what_is_done_is_not_done_again(tmp_path):
    (tmp_path / "a").touch()
    done = task(tmp_path, "a", "import sys; sys.exit(1)")
    run_tasks([done], jobs=1)
    assert done.state is State.done
    assert done.seconds == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_more_than_so_many_at_once(tmp_path, jobs):
    most = []
    tasks = [task(tmp_path, str(i), "import time; time.sleep(0.2)") for i in range(4)]
    run_tasks(tasks, jobs, lambda seen: most.append(sum(t.state is State.running for t in seen)))
    assert max(most) == jobs


def test_environment(tmp_path):
    code = "import os; assert os.environ['RNNLOGIC_THREADS'] == '3'"
    one = task(tmp_path, "a", code, environment={"RNNLOGIC_THREADS": "3"})
    run_tasks([one], jobs=1)
    assert one.state is State.done


def test_an_interrupt_reaches_the_processes_which_may_save_their_work(tmp_path):
    saved = tmp_path / "saved"
    code = (
        "import time\ntry:\n  print('at work', flush=True); time.sleep(3600)\n"
        f"except KeyboardInterrupt:\n  open({str(saved)!r}, 'w').close(); raise"
    )
    one = task(tmp_path, "a", code)

    def interrupt(tasks):
        if tasks[0].last_line() == "at work":
            raise KeyboardInterrupt

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_tasks([one], 1, interrupt)
    assert saved.is_file()
    assert threading.active_count() == threads


def test_work_that_still_runs_is_waited_for_and_not_started_again(tmp_path):
    log = tmp_path / "logs" / "a.log"
    lock = inherited_lock(log.with_suffix(".lock"))
    code = f"import time; time.sleep(0.6); open({str(tmp_path / 'a')!r}, 'w').close()"
    earlier = subprocess.Popen([sys.executable, "-S", "-c", code], pass_fds=[lock])
    os.close(lock)
    again = task(tmp_path, "a", "raise SystemExit('a second copy')")
    run_tasks([again], jobs=1)
    assert again.state is State.done
    assert not log.exists()
    assert earlier.wait() == 0
