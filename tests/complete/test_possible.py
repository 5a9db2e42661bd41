"""Facts with ends of types that a relation never has are told from possible ones."""

import numpy as np

from rnnlogic.complete.possible import possible_facts
from rnnlogic.data.dataset import load_dataset

KINDS = {"drug": ("aspirin", "codeine", "ibuprofen"), "illness": ("fever", "pain"), "virus": ("h1n1", "h5n1")}
TREATS = [("aspirin", "treats", "fever"), ("codeine", "treats", "pain")]
TYPES = [(name, "type", kind) for kind, names in KINDS.items() for name in names]


def judged(facts, more, wanted=None):
    """Which of these facts are possible, and how many were counted as left out."""
    data = load_dataset(facts, ratios=(100, 0, 0))
    ids = data.vocab
    possible = possible_facts(data, wanted, "all")
    assert possible is not None
    triples = np.array(
        [[ids.entity_id(h), ids.relation_id(r), ids.entity_id(t)] for h, r, t in more], np.int32
    )
    return possible.keeps(triples).tolist()


def test_types_that_were_never_seen_on_a_side_are_impossible():
    new = [
        ("ibuprofen", "treats", "pain"),  # seen on both sides
        ("ibuprofen", "treats", "h1n1"),  # no virus was ever treated
        ("h5n1", "treats", "fever"),  # no virus ever treated anything
        ("fever", "treats", "aspirin"),
    ]
    assert judged([*TYPES, *TREATS], new) == [True, False, False, False]


def test_entities_without_a_type_are_possible_everywhere():
    facts = [*TYPES, *TREATS, ("rest", "needs", "time")]
    assert judged(facts, [("rest", "treats", "fever"), ("rest", "treats", "h1n1")]) == [True, False]


def test_one_of_several_types_is_enough():
    facts = [*TYPES, *TREATS, ("h1n1", "type", "illness")]
    assert judged(facts, [("aspirin", "treats", "h1n1"), ("aspirin", "treats", "h5n1")]) == [True, False]


def test_where_few_have_types_these_say_nothing():
    facts = [*TYPES, *TREATS, *((f"x{i}", "treats", f"y{i}") for i in range(3))]
    assert judged(facts, [("h5n1", "treats", "h1n1")]) == [True]


def test_types_themselves_are_not_judged():
    assert judged([*TYPES, *TREATS], [("drug", "type", "virus")]) == [True]


def test_without_types_nothing_is_judged():
    data = load_dataset(TREATS, ratios=(100, 0, 0))
    assert possible_facts(data, None, "all") is None
    typed = load_dataset([*TYPES, *TREATS], ratios=(100, 0, 0))
    assert possible_facts(typed, "off", "all") is None


def test_seen_types_come_from_training_facts_only(tmp_path):
    splits = {
        "train": [*TYPES, *TREATS],
        "valid": [("aspirin", "treats", "h1n1")],
        "test": [("codeine", "treats", "h5n1")],
    }
    for name, facts in splits.items():
        (tmp_path / f"{name}.txt").write_text("".join("\t".join(f) + "\n" for f in facts), encoding="utf-8")
    data = load_dataset(tmp_path)
    possible = possible_facts(data, None, "all")
    assert possible is not None
    may_be_treated = possible.heads(data.graph("train").inverse(data.vocab.relation_id("treats")))
    assert not may_be_treated[data.vocab.entity_id("h1n1")]
    assert may_be_treated[data.vocab.entity_id("fever")]
