"""A fit on a cluster of its own: killed in the middle it leaves nothing behind, and it resumes."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import rnnlogic
from rnnlogic.data.dataset import load_dataset
from rnnlogic.model import RNNLogic
from tests.helpers.family import tiny_config, tiny_settings, write_family
from tests.helpers.processes import processes_marked
from tests.helpers.waiting import wait_until

pytest.importorskip("ray")
FIRST = "round-1.safetensors"


def test_a_killed_fit_resumes_on_a_cluster(tmp_path):
    data, run, marker = (
        write_family(tmp_path / "family.tsv"),
        tmp_path / "run",
        f"MARK={secrets.token_hex(8)}",
    )
    command = [sys.executable, "-m", "rnnlogic", "fit", data, "-o", str(run), *tiny_settings()]
    environment = os.environ | {"PYTHONPATH": str(Path(rnnlogic.__file__).parents[1])}
    environment |= dict([marker.split("=")])
    started = subprocess.Popen([*command, "--cluster", "ray://1"], env=environment, stderr=subprocess.PIPE)

    def has_begun():
        assert started.poll() is None, started.stderr.read()
        return (run / "stages" / FIRST).exists()

    wait_until(has_begun, f"the fit keeps {FIRST}")
    started.kill()
    started.communicate()
    assert not (run / "model.json").exists()
    done = subprocess.run([*command, "--cluster", "ray://1"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "resuming the fit" in done.stderr
    RNNLogic(tiny_config()).fit(load_dataset(data), tmp_path / "threads")
    for name in ("rules.txt", "model.safetensors"):
        assert (run / name).read_bytes() == (tmp_path / "threads" / name).read_bytes()
    wait_until(lambda: not processes_marked(marker), "no process of the cluster is left")
