"""Which relation gives the types of entities, and which type is shown."""

import pytest

from rnnlogic.base.errors import UnknownNameError
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.types import RDF_TYPE, EntityTypes, type_relation, with_types

DRUGS = ("aspirin", "ibuprofen", "codeine")
ILLS = ("fever", "pain", "cough", "flu")


def medicine(relation: str, labels: dict[str, str] | None = None):
    kinds = [(name, relation, "drug") for name in DRUGS] + [(name, relation, "illness") for name in ILLS]
    facts = [(drug, "treats", ill) for drug in DRUGS for ill in ILLS[:2]]
    return load_dataset([*kinds, *facts], labels=labels or {}, ratios=(100, 0, 0))


def found(data, wanted: str | None = None) -> str | None:
    relation = type_relation(data.vocab, data.graph("all"), wanted)
    return None if relation is None else data.vocab.relation_name(relation)


@pytest.mark.parametrize(
    "name", ["type", RDF_TYPE, "rdf:type", "P31", "wdt:P31", "instance_of", "instanceOf", "Type"]
)
def test_usual_names_are_found(name):
    assert found(medicine(name)) == name


def test_a_label_is_enough():
    assert found(medicine("r7", {"r7": "instance of"})) == "r7"


def test_other_names_count_only_if_chosen():
    data = medicine("isa")
    assert found(data) is None
    assert found(data, "isa") == "isa"
    assert found(data, "isa^-1") == "isa^-1"
    assert found(medicine("type"), "off") is None
    with pytest.raises(UnknownNameError, match="did you mean 'isa'"):
        found(data, "issa")


def test_a_relation_with_a_tail_of_its_own_for_every_head_gives_no_types():
    data = load_dataset([(f"e{i}", "type", f"t{i}") for i in range(6)], ratios=(100, 0, 0))
    assert found(data) is None


def test_the_type_with_fewest_members_is_shown_but_not_one_of_its_own():
    facts = [(name, "type", "thing") for name in (*DRUGS, *ILLS)]
    facts += [(name, "type", "drug") for name in DRUGS] + [("aspirin", "type", "invention of 1897")]
    data = load_dataset(facts, ratios=(100, 0, 0))
    ids, types = data.vocab.entity_id, EntityTypes.from_graph(data.graph("all"), 0)
    assert types.shown(ids("aspirin")) == ids("drug")
    assert types.shown(ids("fever")) == ids("thing")
    assert types.shown(ids("thing")) is None
    assert {data.vocab.entities[i] for i in types.of(ids("codeine"))} == {"thing", "drug"}


def test_types_are_shown_with_their_labels():
    data = medicine("type", {"drug": "medicine", "aspirin": "Aspirin"})
    vocab = with_types(data.vocab, data.graph("all"))
    aspirin = vocab.entity_id("aspirin")
    assert vocab.described(aspirin) == "Aspirin (medicine)"
    assert vocab.with_ids().described(aspirin) == "aspirin (drug)"
    assert vocab.described(vocab.entity_id("drug")) == "medicine"
    assert vocab.types_of([aspirin]) == {"aspirin": ["drug"]}
    assert with_types(data.vocab, data.graph("all"), "off").described(aspirin) == "Aspirin"
