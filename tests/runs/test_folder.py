"""The run folder: everything comes back, a stopped fit goes on, mistakes are told."""

import json

import numpy as np
import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.config import make_config
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import read_rules
from rnnlogic.runs.folder import Run
from tests.family import family, given_rules

CONFIG = make_config({"seed": 3, "em": {"rounds": 2}})


@pytest.fixture
def run(tmp_path) -> Run:
    return Run.create(tmp_path / "run", family(), CONFIG)


def test_dataset_and_settings_come_back(tmp_path):
    vocab = Vocab(("b", "a", "é"), ("s", "r"), {"b": "Bee"}, {"r": "are"})
    report = CleaningReport(blank_lines=2, duplicates={"train": 1}, unseen_entities=("é",))
    facts = [np.array(rows, np.int32).reshape(-1, 3) for rows in ([[0, 1, 1], [1, 0, 0]], [[0, 0, 2]], [])]
    Run.create(tmp_path, Dataset("tiny", vocab, *facts, report, "made here"), CONFIG)
    back = Run.open(tmp_path).dataset()
    assert (back.name, back.source, back.report) == ("tiny", "made here", report)
    assert (back.vocab.entities, back.vocab.relations) == (vocab.entities, vocab.relations)
    assert (back.vocab.entity_label(0), back.vocab.relation_label(1)) == ("Bee", "are")
    for split, rows in zip(("train", "valid", "test"), facts, strict=True):
        assert np.array_equal(back.facts(split), rows)
        assert back.facts(split).shape == rows.shape
    assert Run.open(tmp_path).config() == CONFIG


def test_learned_rules_come_back(run):
    learned = given_rules(family())
    run.finish(learned)
    back = Run.open(run.folder).learned()
    assert back.rules == learned.rules
    assert back.feature == "log1p"
    for name in ("weights", "log_prior", "support", "confidence"):
        np.testing.assert_array_equal(getattr(back, name), getattr(learned, name))
    about = run.about()
    assert (about["seed"], about["rules"]) == (3, len(learned.rules))
    assert 0 <= about["minutes"] < 1


def test_rules_txt_is_a_rule_file(run):
    dataset = family()
    learned = given_rules(dataset)
    run.finish(learned)
    read = read_rules(run.folder / "rules.txt", dataset.vocab).rules
    assert set(read) == set(learned.rules)
    weights = [learned.weights[learned.rules.index(rule)] for rule in read]
    assert list(zip(read.heads, weights, strict=True)) == sorted(
        zip(read.heads, weights, strict=True), key=lambda pair: (pair[0], -pair[1])
    )


def test_stages_come_back_as_they_were(run):
    arrays = {
        "turned": np.arange(6.0).reshape(2, 3).T,
        "number": np.array(0.5),
        "empty": np.zeros((0, 3), np.int32),
        "every_other": np.arange(10)[::2],
    }
    assert run.load("round-1") is None
    run.save("round-1", arrays)
    back = Run.open(run.folder).load("round-1")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        np.testing.assert_array_equal(back[name], array)


def test_minutes_add_up_over_sessions(run, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    first = Run.open(run.folder)
    now[0] += 60
    first.save("mined", {"x": np.arange(2)})
    now[0] += 500  # lost: the process was killed
    second = Run.open(run.folder)
    second.load("mined")
    now[0] += 90
    second.save("learned", {"x": np.arange(2)})
    second.finish(given_rules(family()))
    assert second.about()["minutes"] == pytest.approx(2.5)


def test_half_a_line_of_metrics_is_dropped(run):
    run.log({"round": 1})
    with (run.folder / "metrics.jsonl").open("a") as file:
        file.write('{"round": 2, "val')
    run.log({"round": 2, "note": "é"})
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"round": 1}, {"round": 2, "note": "é"}]


def test_start_goes_on_with_the_same_fit(run):
    run.save("mined", {"x": np.arange(2)})
    partial = run.folder / "stages" / ".round-1.safetensors.1234.partial"
    partial.write_bytes(b"half")
    again = Run.start(run.folder, family(), CONFIG.model_copy(update={"threads": 1}))
    assert again.load("mined") is not None
    assert not partial.exists()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("family", {"seed": 3, "em": {"rounds": 5}}, "other settings (em.rounds: 2 there, 5 now)"),
        ("family", {"seed": 4, "em": {"rounds": 2}}, "other settings (seed: 3 there, 4 now)"),
        ("clan", {"seed": 3, "em": {"rounds": 2}}, "other data (name: family there, clan now)"),
    ],
)
def test_start_refuses_another_fit(run, name, values, message):
    with pytest.raises(RNNLogicError) as caught:
        Run.start(run.folder, family(name), make_config(values))
    assert message in str(caught.value)
    assert "choose another folder, or --restart" in str(caught.value)


def test_start_sees_a_single_other_fact(run):
    dataset = family()
    train = dataset.train.copy()
    train[0, 2] = (train[0, 2] + 1) % dataset.vocab.num_entities
    other = Dataset(dataset.name, dataset.vocab, train, dataset.valid, dataset.test)
    with pytest.raises(RNNLogicError, match=r"other data \(train: "):
        Run.start(run.folder, other, CONFIG)


def test_restart_drops_the_run_but_not_other_files(run):
    run.save("mined", {"x": np.arange(2)})
    run.finish(given_rules(family()))
    (run.folder / "notes.md").write_text("mine")
    other = make_config({"seed": 9})
    again = Run.start(run.folder, family(), other, restart=True)
    assert again.config() == other
    assert not again.finished
    assert again.load("mined") is None
    assert (run.folder / "notes.md").read_text() == "mine"


@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_of_other_files_is_left_alone(tmp_path, restart):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "vocabulary.json").write_text("of another program")
    with pytest.raises(RNNLogicError, match=r"not empty \(thesis.tex\)"):
        Run.start(tmp_path, family(), CONFIG, restart)
    assert (tmp_path / "vocabulary.json").read_text() == "of another program"


@pytest.mark.parametrize("name", ["config.yaml", "reports/thesis.md", "log.txt"])
def test_names_that_a_run_has_too_are_left_alone(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("years of work")
    with pytest.raises(RNNLogicError, match="not empty"):
        Run.start(tmp_path, family(), CONFIG, restart=True)
    assert path.read_text() == "years of work"


def test_a_start_that_was_killed_is_begun_anew(run):
    (run.folder / "config.yaml").unlink()
    (run.folder / ".config.yaml.0a1b.partial").write_bytes(b"see")
    again = Run.start(run.folder, family(), CONFIG)
    assert again.config() == CONFIG
    assert not list(run.folder.glob(".*"))


def test_create_refuses_a_run(run):
    with pytest.raises(RNNLogicError, match="holds a run already; choose another folder"):
        Run.create(run.folder, family(), CONFIG)


def test_open_and_learned_say_what_to_do(run, tmp_path):
    with pytest.raises(RNNLogicError, match="no such run folder; make one with `rnnlogic fit DATASET -o"):
        Run.open(tmp_path / "nowhere")
    with pytest.raises(RNNLogicError, match="is not a run folder"):
        Run.open(tmp_path)
    with pytest.raises(RNNLogicError, match="not finished; run the same `rnnlogic fit` command again"):
        Run.open(run.folder).learned()


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_damaged_files_are_told(run, name):
    run.finish(given_rules(family()))
    path = run.folder / name
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(RNNLogicError, match=f"{name}: cannot be read"):
        run.learned()


def test_a_run_of_a_newer_version_is_refused(run):
    run.finish(given_rules(family()))
    about = json.loads((run.folder / "model.json").read_text()) | {"format": 99, "rnnlogic": "7.0"}
    (run.folder / "model.json").write_text(json.dumps(about))
    with pytest.raises(RNNLogicError, match=r"made by rnnlogic 7\.0"):
        run.learned()


def test_reports_are_kept(run):
    assert run.report("test") is None
    run.save_report("test", {"mrr": 0.5})
    assert Run.open(run.folder).report("test") == {"mrr": 0.5}


def test_the_seeded_split_is_part_of_the_data(tmp_path):
    facts = [(f"e{i}", "r", f"e{j}") for i in range(8) for j in range(8)]
    run = Run.create(tmp_path, load_dataset(facts, seed=0), CONFIG)
    with pytest.raises(RNNLogicError, match="other data"):
        Run.start(run.folder, load_dataset(facts, seed=1), CONFIG)
