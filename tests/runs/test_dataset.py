"""The dataset of a run comes back, and runs of other versions are refused."""

import json
import shutil
import sys
from functools import partial

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import main
from rnnlogic.config import make_config
from rnnlogic.data.cleaning import CleaningReport
from rnnlogic.data.dataset import Dataset
from rnnlogic.data.vocab import Vocab
from rnnlogic.fit.result import pack_learned
from rnnlogic.model import RNNLogic
from rnnlogic.runs.check import check_folder, drop_damaged
from rnnlogic.runs.dataset import write_graphs
from rnnlogic.runs.files import write_file, write_object
from rnnlogic.runs.folder import Run
from tests.helpers.family import fake_learn, family, given_rules, tiny_settings, write_family

CONFIG = make_config({"seed": 3})
OF_VERSION_1 = {"mine": {"smoothing": 300.0}, "em": {"generate": "beam", "rounds": 3}, "gone": True}
REFUSED = (
    "{}: holds a run of rnnlogic 0.1, which this version cannot read; fit again in a new folder, or in this"
    " one with --restart"
)
ASK = ("--head", "grandpa0", "--relation", "grandparent")
VERBS = {
    "fit": ("fit", "DATA", "-o", "RUN"),
    "fit with its rules": ("fit", "DATA", "-o", "NEW", "--rules", "RUN"),
    "evaluate": ("evaluate", "RUN"),
    "predict": ("predict", "RUN", *ASK),
    "explain": ("explain", "RUN", *ASK, "--tail", "child0_0"),
    "complete": ("complete", "RUN", "-o", "NEW"),
    "rules": ("rules", "RUN"),
    "export": ("rules", "RUN", "export", "--format", "sql", "-o", "NEW"),
    "compare": ("compare", "RUN", "RUN"),
}


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


def test_the_graphs_of_a_large_dataset_are_mapped(run, monkeypatch):
    monkeypatch.setattr("rnnlogic.runs.dataset.LARGE", 1)
    data = run.dataset()
    assert not (run.folder / "graphs").exists()
    write_graphs(run.folder, data)
    monkeypatch.setattr("rnnlogic.data.graph._sorted_edges", None)  # so that no graph can be built
    for evidence in ("train", "all"):
        graph = Run.open(run.folder).dataset().graph(evidence)
        assert isinstance(graph.arrays.tails.base, np.memmap)
        for mapped, built in zip(graph.arrays, data.graph(evidence).arrays, strict=True):
            np.testing.assert_array_equal(mapped, built)
            assert not mapped.flags.writeable
    damaged = next((run.folder / "graphs").glob("train-*/tails.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-4])
    with pytest.raises(RNNLogicError, match=r"graphs.train-\w+.tails.npy: is damaged"):
        Run.open(run.folder).dataset().graph("train")
    Run.open(run.folder).dataset().graph("all")  # nobody needs the other one
    monkeypatch.undo()
    monkeypatch.setattr("rnnlogic.runs.dataset.LARGE", 1)
    (name,) = drop_damaged(run.folder)
    assert name == damaged.relative_to(run.folder).as_posix()
    assert [one.name for one in check_folder(run.folder).problems] == [name]
    graph = Run.open(run.folder).dataset().graph("train")  # made again
    np.testing.assert_array_equal(graph.arrays.tails, data.graph("train").arrays.tails)
    write_graphs(run.folder, data)
    assert not check_folder(run.folder).problems


def test_a_mapped_graph_with_ids_out_of_range_is_refused(run, monkeypatch):
    monkeypatch.setattr("rnnlogic.runs.dataset.LARGE", 1)
    write_graphs(run.folder, run.dataset())
    path = next((run.folder / "graphs").glob("train-*/tails.npy"))
    write_file(path, partial(np.save, arr=np.load(path) + 1000, allow_pickle=False))  # in the manifest, too
    with pytest.raises(RNNLogicError, match=r"graphs.train-\w+: cannot be read \(entity ids"):
        Run.open(run.folder).dataset().graph("train")


def test_a_graph_that_is_gone_is_built_from_the_facts(run, monkeypatch):
    monkeypatch.setattr("rnnlogic.runs.dataset.LARGE", 1)
    write_graphs(run.folder, run.dataset())
    dataset = Run.open(run.folder).dataset()
    shutil.rmtree(run.folder)
    graph = dataset.graph("all")
    assert not isinstance(graph.arrays.tails.base, np.memmap)
    assert len(graph) == sum(len(dataset.facts(split)) for split in ("train", "valid", "test"))


def test_names_and_facts_that_do_not_belong_together_are_refused(run):
    path = run.folder / "vocabulary.json"
    names = json.loads(path.read_text())
    write_object(path, names | {"entities": names["entities"][:-1]})
    with pytest.raises(RNNLogicError, match=r"run: cannot be read \(.* do not fit: .* ids without a name"):
        Run.open(run.folder).dataset()


@pytest.fixture(params=["unfinished", "finished"])
def old(request, tmp_path):
    """A run folder as version 0.1 left it: no mark in vocabulary.json, other settings."""
    folder, dataset = tmp_path / "old", family()
    (folder / "stages").mkdir(parents=True)
    vocab = dataset.vocab
    names = {"name": dataset.name, "source": dataset.source, "cleaning": dataset.report.as_dict()}
    names |= {"relations": vocab.relations, "relation_labels": {}}
    names |= {"entities": vocab.entities, "entity_labels": {}}
    (folder / "vocabulary.json").write_text(json.dumps(names, indent=1))
    facts = {split: np.ascontiguousarray(dataset.facts(split)) for split in ("train", "valid", "test")}
    save_file(facts, folder / "dataset.safetensors")
    (folder / "config.yaml").write_text(yaml.safe_dump(OF_VERSION_1))
    arrays = pack_learned(given_rules(dataset))
    save_file(arrays, folder / "stages" / "learned.safetensors", {"seconds": "1.000"})
    if request.param == "finished":
        save_file(arrays, folder / "model.safetensors")
        about = {"format": 1, "rnnlogic": "0.1.0", "seed": 0, "feature": "log1p", "rules": 6, "minutes": 1.0}
        (folder / "model.json").write_text(json.dumps(about))
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_a_run_of_version_0_1(old, tmp_path, verb, monkeypatch, capsys):
    places = {
        "RUN": str(old),
        "NEW": str(tmp_path / "new.tsv"),
        "DATA": write_family(tmp_path / "family.tsv"),
    }
    monkeypatch.setattr(sys, "argv", ["rnnlogic", *(places.get(word, word) for word in VERBS[verb])])
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {REFUSED.format(old)}"
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new.tsv").exists()


def test_python_refuses_it_too(old):
    for use in (RNNLogic.load, Run.open, lambda folder: RNNLogic({}).fit(family(), folder)):
        with pytest.raises(RNNLogicError) as caught:
            use(old)
        assert str(caught.value) == REFUSED.format(old)


def test_the_advice_helps(old, tmp_path, monkeypatch):
    monkeypatch.setattr("rnnlogic.fit.pipeline.learn", fake_learn)
    data = write_family(tmp_path / "family.tsv")
    monkeypatch.setattr(sys, "argv", ["rnnlogic", "fit", data, "-o", str(old), "--restart", *tiny_settings()])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert RNNLogic.load(old).learned.rules == given_rules(family()).rules
    assert not (old / "stages" / "learned.safetensors").exists()


def test_a_run_of_a_newer_version_is_refused(run):
    path = run.folder / "vocabulary.json"
    write_object(path, json.loads(path.read_text()) | {"format": 99})
    with pytest.raises(RNNLogicError, match=r"another version of rnnlogic \(format 99; this one reads 3\)"):
        Run.open(run.folder)


def test_a_mark_that_does_not_come_first_is_found_too(run):
    path = run.folder / "vocabulary.json"
    names = json.loads(path.read_text())
    write_object(path, {key: names[key] for key in sorted(names)})
    assert Run.open(run.folder).dataset().vocab.entities == tuple(names["entities"])
