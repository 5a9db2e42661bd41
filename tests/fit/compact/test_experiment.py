"""experiments/compact.py on a finished run of the family."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from rnnlogic.config import changed
from rnnlogic.model import RNNLogic
from rnnlogic.runs.files import read_report
from tests.helpers.family import family, tiny_config

SCRIPT = Path(__file__).resolve().parents[3] / "experiments" / "compact.py"


@pytest.mark.parametrize("is_compact", [True, False])
def test_the_table_of_a_run(tmp_path, monkeypatch, capsys, is_compact):
    config = changed(tiny_config(), {"compact": {"enabled": is_compact}, "em": {"rounds": 1}})
    model = RNNLogic(config).fit(family(), tmp_path / "run")
    spec = spec_from_file_location("compact_experiment", SCRIPT)
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    arguments = [str(SCRIPT), str(tmp_path / "run"), "--caps", "2", "--json", str(tmp_path / "all.json")]
    monkeypatch.setattr(sys, "argv", arguments)
    script.main()
    full, capped, chosen, default = read_report(tmp_path / "run", "compact")["rows"]
    assert [full["level"], capped["level"], chosen["level"]] == ["full", "at most 2", "compact.rules=2"]
    assert full["rules"] > default["rules"] >= capped["rules"] >= chosen["rules"]
    assert max(capped["most"], chosen["most"]) <= 2
    assert default["valid_mrr"] >= full["valid_mrr"] - 0.01
    assert 0 < full["top3_of_score"] <= 1
    assert full["reaching"] > capped["reaching"]
    assert json.loads((tmp_path / "all.json").read_text())[0]["rows"][0] == full
    assert f"| full | {full['rules']} |" in capsys.readouterr().out
    metrics = model.evaluate("test").metrics()["mrr"]
    assert metrics == pytest.approx((default if is_compact else full)["test_mrr"])
