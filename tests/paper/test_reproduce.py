"""`python -m paper`: targets, work, the report of run folders, and the command line."""

import json

import pytest
from typer import Typer
from typer.testing import CliRunner

from paper import cli, reproduce
from paper.experiment import Bench
from paper.report import Page, _short
from paper.tables import minutes_of
from paper.targets import TARGETS, works_of
from paper.variants import embeddings_for
from paper.work import Work, with_needed
from rnnlogic.base.errors import RNNLogicError, UnknownNameError
from rnnlogic.base.types import silent
from rnnlogic.cli import app
from rnnlogic.data.saving import save_dataset
from rnnlogic.runs.files import write_object, write_report
from rnnlogic.runs.folder import CALIBRATED
from tests.helpers.family import family

METRICS = {"mrr": 0.5, "mr": 2.0, "hits@1": 0.4, "hits@3": 0.6, "hits@10": 0.7}


@pytest.fixture
def bench(tmp_path):
    """A bench whose Kinship and UMLS are a small family."""
    for name in ("kinship", "umls"):
        save_dataset(family(), tmp_path / "data" / name)
    return Bench(tmp_path / "data", tmp_path / "out", is_small=True)


def pretend(bench, dataset, setting, seed=0, mrr=0.5):
    """A finished run, as far as a report looks at it."""
    folder = bench.folder(dataset, setting, seed)
    side = {"expected": METRICS | {"mrr": mrr}}
    for name in ("valid", "test", "test-train+valid"):
        write_report(folder, name, {"both": side, "tail": side, "seconds": 30})
    write_object(folder / "model.json", {"minutes": 1.0})
    (folder / "metrics.jsonl").write_text(json.dumps({"stage": "round", "valid_mrr": 0.61}) + "\n")
    return folder


def test_names_of_work():
    for work in (Work("umls", "ours@facts=20", 3), Work("umls", "ours", 0, "case")):
        assert Work.parse(work.name) == work


def test_work_comes_after_what_it_needs(bench):
    for target in TARGETS:
        works = with_needed(works_of([target], bench, None), bench)
        assert works
        for i, work in enumerate(works):
            assert set(work.needs(bench)) <= set(works[:i])


def test_needs():
    bench = Bench("data", "out")
    assert Work("umls", "plus-emb", 2).needs(bench) == [Work("umls", "ours", 2), Work("umls", "rotate", 2)]
    assert Work("kinship", "emb@dim=50").needs(bench) == [
        Work("kinship", "ours"),
        Work("kinship", "rotate@dim=50"),
    ]
    assert Work("kinship", "plus-both-evidence", 1).needs(bench) == [
        Work("kinship", setting, 1) for setting in ("links", "rotate", "complex-own")
    ]
    assert Work("fb15k-237", "complex-evidence").needs(bench) == [Work("fb15k-237", "complex-own")]
    assert Work("umls", "drum").needs(bench) == Work("umls", "rotate").needs(bench) == []
    assert Work("umls", "complex-own").needs(bench) == []
    assert Work("umls", "tucker").needs(bench) == []
    assert Work("umls", "tucker", 3).needs(bench) == [Work("umls", "tucker")]  # the settings of seed 0
    assert Work("umls", "ours", 0, "case").needs(bench) == [Work("umls", "ours")]


def test_seeds_and_sizes():
    bench = Bench("data", "out")
    assert len(works_of(["umls/ours"], bench, None)) == 5
    assert works_of(["umls/ours"], bench, 1) == [Work("umls", "ours")]
    assert {work.dataset for work in works_of(["table1"], bench, None)} == {"fb15k-237", "wn18rr"}
    small = works_of([], Bench("data", "out", is_small=True), None)
    assert {work.dataset for work in small} == {"kinship", "umls"}
    assert {work.seed for work in small} == {0}
    assert len(set(small)) == len(small)


def test_unknown_targets(bench):
    with pytest.raises(UnknownNameError, match="did you mean 'table3'"):
        works_of(["tabel3"], bench, None)
    with pytest.raises(UnknownNameError, match="unknown dataset 'umsl'"):
        works_of(["umsl/ours"], bench, None)
    with pytest.raises(
        RNNLogicError, match=r"umls/our: umls has no such setting; choose one of rotate, .* drum"
    ):
        works_of(["umls/our"], bench, None)


def test_a_table_shows_ours_beside_what_is_published(bench):
    for seed, mrr in ((0, 0.5), (1, 0.7)):
        pretend(bench, "umls", "ours", seed, mrr)
    pretend(bench, "umls", "drum")
    pretend(bench, "umls", "scratch-reinforce")
    pretend(bench, "umls", "paper")
    write_object(bench.out / "umls" / "drum" / "chosen.json", {"minutes_of_choice": 4.0})
    page = Page(bench, bench.out / "report" / "results.md").text()
    assert "| **RNNLogic w/o emb.** | 0.600 ± 0.141 (0.745) | 2.0 ± 0.0 (5.3) |" in page
    assert "| DRUM | 0.500 (0.548) | 2.0 (8.4) | 0.400 (0.358) |" in page
    assert "| 1.5 (+ 4.0) | 1 | run | [drum](" in page
    assert "| MLN | - (0.688) |" in page
    assert "| **RNNLogic with emb.** | - (0.842) |" in page
    assert "| EM | 0.600 ± 0.141 (0.745) | 2 | 0.610 |" in page
    assert "| **RNNLogic w/o emb. (settings as far as the paper states them)** | 0.500 (0.745) |" in page
    assert "| REINFORCE, from scratch | 0.500 (0.504) | 1 | 0.610 |" in page
    assert "scratch-reinforce)" not in page.split("## Table 4")[0]  # has no row in table 3
    assert "| kinship |" not in page
    assert "## Table 1: FB15k-237 and WN18RR (here on kinship and umls)" in page
    assert "Small size" in page


def test_a_model_of_others_alone_has_its_row(bench):
    pretend(bench, "umls", "pathrank")
    assert "| PathRank | 0.500 (0.197) |" in Page(bench, bench.out / "results.md").text()


def test_rows_of_embeddings_and_of_settings_with_several(bench):
    for setting in ("complex-own", "links", "both-evidence"):
        pretend(bench, "umls", setting)
    page = Page(bench, bench.out / "results.md").text()
    assert "| **ComplEx-N3, our own** | 0.500 (0.791) |" in page
    assert "| 1.5 | 1 | run | [complex-own](" in page
    assert "| **RNNLogic w/o emb. (with what is already linked)** | 0.500 (0.745) |" in page
    assert (
        "| **RNNLogic with emb. (our RotatE and ComplEx, with what is already linked)** | 0.500 (0.842)"
        in page
    )


def test_a_page_of_only_what_was_run(bench):
    for setting in ("rotate", "links", "pathrank", "first-code"):  # RotatE is also a point of a figure
        pretend(bench, "umls", setting)
    page = Page(bench, bench.out / "results-2.md", only_rows=True).text()
    table = page.split("## Table 3")[1].split("\n## ")[0]
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][2:] == [
        "| PathRank",
        "| RNNLogic w/o emb., the paper's first code without its generator",
        "| **RotatE, our own**",
        "| **RNNLogic w/o emb. (with what is already linked)**",
    ]
    assert "## umls: valid, evidence train" in page
    assert "Figure" not in page
    assert not (bench.out / "figures").exists()


def test_minutes_are_of_fits_without_calibration_if_there_are_any(bench):
    folders = [pretend(bench, "umls", "links", seed) for seed in (0, 1)]
    write_object(folders[0] / "model.json", {"minutes": 7.0})
    write_object(folders[0] / CALIBRATED, {})
    assert minutes_of(folders) == "1.5"
    assert minutes_of(folders[:1]) == "7.5"


def test_a_fit_takes_all_embeddings_that_its_setting_names(bench):
    folders = embeddings_for(bench, "umls", "both-evidence", 3, silent)
    abouts = [json.loads((folder / "about.json").read_text()) for folder in folders]
    assert [about["model"] for about in abouts] == ["RotatE", "ComplEx"]
    assert [about["origin"]["settings"]["seed"] for about in abouts] == [3, 3]
    for setting in ("rotate", "complex-own"):
        assert Work("umls", setting, 3).is_done(bench)  # each has its row, too
    assert embeddings_for(bench, "umls", "links", 3, silent) is None


def test_links_lead_to_experiment_files(bench):
    pretend(bench, "umls", "ours")
    path = bench.out / "report" / "results.md"
    link = Page(bench, path).link("umls", "ours")
    assert link.startswith("[ours](")
    assert (path.parent / link.removeprefix("[ours](").removesuffix(")")).resolve().name == "umls.yaml"


def test_figures_are_of_finished_points_only(bench):
    pytest.importorskip("matplotlib")
    pretend(bench, "umls", "ours@facts=20", mrr=0.3)
    pretend(bench, "umls", "ours", mrr=0.8)
    folder = bench.out / "report"
    lines = "\n".join(Page(bench, folder / "results.md").figure("facts"))
    assert "| umls, RNNLogic w/o emb. | 0.300 | 0.800 |" in lines
    assert (folder / "figures" / "facts.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / "figures" / "facts.csv").read_text().splitlines()[1] == (
        "umls,RNNLogic w/o emb.,20,0.3000,0.3000,1.5"
    )
    assert list(Page(bench, folder / "results.md").figure("dimension")) == []


def test_studies_of_a_real_run(bench):
    told = []
    work = Work("umls", "ours")
    work.perform(bench, lambda *given: told.append(given))
    assert told
    assert work.is_done(bench)
    assert not (work.folder(bench) / CALIBRATED).exists()  # ranks do not need it
    for study in ("case", "rules"):
        assert not work._replace(study=study).is_done(bench)
        work._replace(study=study).perform(bench, lambda *given: None)
        assert work._replace(study=study).is_done(bench)
    page = Page(bench, bench.out / "report" / "results.md")
    case = "\n".join(page.case("case"))
    relation = "grandparent"
    assert f"**umls: `{relation}`**" in case
    assert f"`{relation}(X,Y) <- parent(X,Z) & parent(Z,Y)`" in case
    figure = "\n".join(page.figure("rules"))
    assert "| umls, the miner's |" in figure
    assert "| umls, compacted from the full model |" in figure
    work.forget(bench)
    assert not work.is_done(bench)


def test_names_of_freebase_are_cut_short():
    text = "/a/b./c/d(X,Y) <- /e/f(X,Z) & g(Z,Y)"
    assert _short(text) == "d(X,Y) <- f(X,Z) & g(Z,Y)"
    assert _short("treats(A/B test, c) <- isa(a, c/d (e))") == "treats(A/B test, c) <- isa(a, c/d (e))"


def test_again_means_what_is_asked_only(bench, monkeypatch):
    for setting in ("ours", "plus"):
        pretend(bench, "umls", setting)
    left = []
    monkeypatch.setattr(
        reproduce, "run_tasks", lambda tasks, jobs, show: left.extend(t.is_done() for t in tasks)
    )
    tasks = reproduce.reproduce([Work("umls", "plus")], bench, 1, again=True)
    assert [task.name for task in tasks] == ["umls/ours/0", "umls/plus/0"]
    assert left == [True, False]


def test_again_also_means_another_choice_of_settings(bench):
    chosen = bench.out / "umls" / "tucker" / "chosen.json"
    for seed in (1, 0):
        pretend(bench, "umls", "tucker", seed)
        write_object(chosen, {"settings": {}})
        Work("umls", "tucker", seed).forget(bench)
        assert chosen.is_file() == bool(seed)  # it was seed 0 that chose


def test_data_are_looked_for_first(tmp_path):
    with pytest.raises(RNNLogicError, match=r"umls: there is no such folder"):
        reproduce.reproduce([Work("umls", "ours")], Bench(tmp_path, tmp_path / "out", is_small=True), 1)


def run(*arguments):
    program = Typer()
    program.command()(cli.reproduce)
    return CliRunner().invoke(program, [*map(str, arguments)])


def test_the_plan(bench):
    pretend(bench, "umls", "ours")
    result = run("table4", "--small", "--data", bench.data, "--out", bench.out, "--plan", "--json")
    states = {row["work"]: row["state"] for row in json.loads(result.stdout)}
    assert states["umls/ours/0"] == "done"
    assert states["kinship/reinforce/0"] == "to do"
    text = run("table4", "--small", "--data", bench.data, "--out", bench.out, "--plan").stdout
    assert "1 of 8 done" in text


def test_from_experiments_to_a_report(bench):
    options = ["--small", "--data", bench.data, "--out", bench.out, "--jobs", 2]
    result = run("umls/ours", "umls/anyburl", *options)
    assert result.exit_code == 1  # anyburl was given no rules
    assert "umls/anyburl/0" in result.stdout
    assert "needs --anyburl FILE" in result.stdout
    report = bench.out / "report" / "results.md"
    assert "| **RNNLogic w/o emb.** |" in report.read_text()
    assert "[2/2]" in result.stderr
    again = run("umls/ours", *options)
    assert again.exit_code == 0
    assert "1 experiments, 1 already done" in again.stderr


def test_the_report_alone(bench):
    pretend(bench, "umls", "ours")
    path = bench.out / "page.md"
    options = ["--small", "--data", bench.data, "--out", bench.out]
    assert run(*options, "--report-only", "--report", path).exit_code == 0
    assert "0.500 (0.745)" in path.read_text()


def test_the_former_command_says_where_it_went():
    result = CliRunner().invoke(app, ["reproduce", "table3", "--small"])
    assert "run `python -m paper`" in str(result.exception)
