"""`rnnlogic fit --rules`, `--no-generate`, `--pin`, `--ban`; `mine --ban`: output, resuming, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.cli import app
from rnnlogic.data.dataset import load_dataset
from rnnlogic.model import RNNLogic
from rnnlogic.runs.folder import Run
from tests.helpers.family import family_facts, tiny_settings, write_family

GIVEN = "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)\nmarried(X,Y) <- married(Y,X)\n"


@pytest.fixture
def data(tmp_path) -> str:
    return write_family(tmp_path / "family.tsv")


@pytest.fixture
def rules(tmp_path) -> Path:
    (tmp_path / "my.rules").write_text(GIVEN)
    return tmp_path / "my.rules"


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "run"


def call(*arguments) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(done.exception, RNNLogicError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def learned_texts(folder) -> list[str]:
    return [rule.text for rule in RNNLogic.load(folder).rules()]


def test_a_refit_learns_the_weights_of_exactly_these_rules(data, rules, folder):
    arguments = ("fit", data, "-o", folder, "--rules", rules, "--no-generate")
    call(*arguments)
    assert sorted(learned_texts(folder)) == GIVEN.splitlines()
    stages = {path.stem for path in (folder / "stages").iterdir()}
    assert stages == {"statistics", "full"}  # nothing was mined or generated
    assert json.loads(call("rules", folder, "--json"))[0]["prior"] is None
    assert "is already finished" in call(*arguments)


def test_a_moved_file_is_no_problem_but_another_one_is(data, rules, folder):
    start = ("fit", data, "-o", folder, "--no-generate", "--seed", 3)
    call(*start, "--rules", rules)
    (folder / "model.json").unlink()  # as a kill before the end leaves it
    moved = rules.rename(rules.with_name("moved.rules"))
    assert "resuming" in call(*start)
    assert (folder / "given.rules").read_text() == GIVEN
    call(*start, "--rules", moved)
    moved.write_text(GIVEN.splitlines()[0] + "\n")
    with pytest.raises(RNNLogicError, match=r"with other rules \(given: 2 \(hash \w+\) there, 1 \(hash"):
        call(*start, "--rules", moved)
    with pytest.raises(RNNLogicError, match="other settings"):
        call(*start, "--ban", "married <- ...")
    call(*start, "--rules", moved, "--restart")
    assert learned_texts(folder) == GIVEN.splitlines()[:1]


def test_the_rules_of_a_run_on_data_with_other_ids(data, rules, folder, tmp_path):
    call("fit", data, "-o", folder, "--rules", rules, "--no-generate")
    facts = [("child0_0", "age", "9"), *family_facts()]
    (tmp_path / "more.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    call("fit", tmp_path / "more.tsv", "-o", tmp_path / "second", "--rules", folder, "--no-generate")
    assert load_dataset(data).vocab.relations != Run.open(tmp_path / "second").dataset().vocab.relations
    assert sorted(learned_texts(tmp_path / "second")) == GIVEN.splitlines()
    banned = ("--ban", "married <- married^-1")
    told = call("fit", data, "-o", tmp_path / "third", "--rules", folder, "--no-generate", *banned)
    assert f"note: {folder}: 1 rules are banned and left out" in told
    assert learned_texts(tmp_path / "third") == GIVEN.splitlines()[:1]


def test_pins_and_bans_of_a_whole_fit(data, folder):
    pin, ban = "grandparent(X,Y) <- married(Z,X) & married(Z,Y)", "grandparent(X,Y) <- parent(X,Z) & *(Z,Y)"
    settings = (*tiny_settings(), "--set", "em.rounds=1", "--set", "generator.pretrain_steps=20")
    call("fit", data, "-o", folder, *settings, "--pin", pin, "--ban", ban)
    config = Run.open(folder).config()
    assert (config.pinned, config.banned) == ((pin,), (ban,))
    texts = learned_texts(folder)
    assert texts.count(pin) == 1
    assert not [text for text in texts if text.startswith("grandparent(X,Y) <- parent(X,Z) &")]
    assert [text for text in texts if text.startswith("grandparent(X,Y) <- married(X,Z) &")]
    assert np.isfinite(Run.open(folder).learned().log_prior).all()


def test_mining_without_banned_rules(data, tmp_path):
    arguments = ("mine", data, "-o", tmp_path / "mined.rules", "--max-length", 2)
    call(*arguments)
    shown = set((tmp_path / "mined.rules").read_text().splitlines())
    call(*arguments, "--ban", "grandparent <- ...")
    left = set((tmp_path / "mined.rules").read_text().splitlines())
    assert left == {rule for rule in shown if not rule.startswith("grandparent")}
    assert 0 < len(left) < len(shown)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("married <- married^-1\nmarried <- maried\n", r"my.rules:2: column 12: .* did you mean 'married'"),
        ('{"rule": "married"}\n', r"my.rules:1: column 8: expected an arrow"),
        ("", "my.rules: there are no rules here"),
    ],
)
def test_bad_rules_leave_nothing_behind(data, rules, folder, text, problem):
    rules.write_text(text)
    with pytest.raises(RNNLogicError, match=problem):
        call("fit", data, "-o", folder, "--rules", rules, "--no-generate")
    assert not folder.exists()


def test_dropped_rules_are_noted(data, rules, folder):
    rules.write_text("5\t3\t0.6\tmarried(X,Y) <= married(Y,X)\n5\t3\t0.6\tmarried(X,eve) <= parent(X,A)\n")
    output = call("fit", data, "-o", folder, "--rules", rules, "--no-generate")
    assert f"note: {rules}: 1 rules dropped: an entity that the dataset does not have" in output
