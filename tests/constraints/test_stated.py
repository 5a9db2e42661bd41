"""Stated constraints: YAML, TSV, settings, SHACL and OWL; what is wrong is named with file and line."""

import pytest

from rnnlogic import load_dataset
from rnnlogic.base.errors import DataError
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.constraints.stated import read_lines, stated
from rnnlogic.runs.constraints import FoundConstraints, stated_texts
from tests.helpers.impossible import packages

PREFIXES = (
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix ex: <http://example.org/> .\n"
)


@pytest.fixture(scope="module")
def data():
    return load_dataset(packages(30), ratios=(100, 0, 0))


def shown(data, path):
    """What a file states, by kind and names."""
    found = stated(read_lines(path), data.vocab)
    return [
        (one.kind, *(data.vocab.relation_name(r) for r in (one.relation, one.other) if r >= 0))
        for one in found.constraints
    ]


def test_yaml(data, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "functional: [section, maintained_by^-1 4]\nfunctional: {depends: 3}\nirreflexive: depends\n"
        "exclusive: depends section\nasymmetric: depends\nexclusive:\n  - [depends, depends^-1]\n"
    )
    found = stated(read_lines(path), data.vocab).constraints
    assert [one.most for one in found if one.kind == "functional"] == [1, 4, 3]
    assert shown(data, path) == [
        ("functional", "section"),
        ("functional", "maintained_by^-1"),
        ("functional", "depends"),
        ("irreflexive", "depends"),
        ("exclusive", "depends", "section"),
        ("asymmetric", "depends"),
    ]


def test_tsv_and_settings_say_the_same(data, tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("# what we know\nfunctional\tsection\n\nexclusive\tsection\tdepends\n")
    texts = stated_texts(path, data.vocab)
    assert texts == ("functional: section", "exclusive: section\tdepends")
    assert stated_texts(texts, data.vocab) == texts
    assert shown(data, path) == [("functional", "section"), ("exclusive", "depends", "section")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("functional: sektion\n", "c.yaml:1: unknown relation 'sektion'; did you mean 'section'"),
        ("irreflexive: depends\nfunktional: section\n", "c.yaml:2: unknown kind of constraint 'funktional'"),
        ("exclusive: depends\n", "c.yaml:1: exclusive needs 2 names, found 1: 'depends'"),
        ("exclusive: depends depends\n", "c.yaml:1: depends cannot exclude itself"),
        ("functional: section 0\n", "c.yaml:1: functional allows 1 answer or more"),
        ("functional:\n", "c.yaml:1: functional: expected the name of a relation"),
        ("- functional\n", "c.yaml:1: expected lines such as"),
        ("functional: [\n", "c.yaml:2: not valid YAML"),
        ("domain: depends nobody\n", "c.yaml:1: unknown entity 'nobody'"),
        ("drop: \n", "c.yaml:1: drop: expected the name of a relation"),
        ("types: section\n", "unknown kind of constraint 'types'"),
    ],
)
def test_bad_lines_are_named(data, tmp_path, text, problem):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        stated_texts(path, data.vocab)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bad_setting_is_named(data):
    with pytest.raises(DataError, match="constraints: 'section' is no constraint"):
        stated_texts(["section"], data.vocab)


def test_found_ones_are_dropped_and_stated_ones_have_figures():
    data = load_dataset([*packages(200), ("package1", "section", "section9")], ratios=(100, 0, 0))
    graph = data.graph("all")

    def kinds(*texts):
        found = FoundConstraints(texts).on(data, "all", graph, None)
        return {one.text(data.vocab): one for one in found}

    text = "section: 199 of 200 heads have one answer"
    assert not kinds()[text].is_hard
    one = kinds("functional: section")[text]
    assert (one.origin, one.is_hard) == ("stated", True)
    loops = "depends: 594 of 594 facts join different entities"
    assert loops in kinds()
    assert loops not in kinds("drop: irreflexive depends")
    assert not any(text.startswith("depends") for text in kinds("drop: depends", "drop: depends^-1"))
    assert text not in kinds("drop: functional section")


def test_shapes_and_axioms(data, tmp_path):
    path = tmp_path / "shapes.ttl"
    path.write_text(
        PREFIXES + "ex:P a sh:NodeShape ; sh:property\n"
        "  [ sh:path ex:section ; sh:maxCount 1 ; sh:disjoint ex:depends ] ,\n"
        "  [ sh:path [ sh:inversePath ex:maintained_by ] ; sh:maxCount 9 ] .\n"
        "ex:depends a owl:IrreflexiveProperty , owl:AsymmetricProperty ; rdfs:domain ex:Nothing .\n"
        "ex:section a owl:InverseFunctionalProperty ; owl:propertyDisjointWith ex:maintained_by .\n"
        "ex:unused a owl:FunctionalProperty .\n"
    )
    texts = stated_texts(path, data.vocab)
    assert sorted(text.replace("\t", " ") for text in texts) == [
        "asymmetric: depends",
        "exclusive: section depends",
        "exclusive: section maintained_by",
        "functional: maintained_by^-1 9",
        "functional: section 1",
        "functional: section^-1",
        "irreflexive: depends",
    ]


def test_shapes_that_state_nothing_and_bad_files(tmp_path):
    path = tmp_path / "shapes.ttl"
    path.write_text(PREFIXES)
    with pytest.raises(DataError, match="states no constraint"):
        read_lines(path)
    path.write_text("not turtle")
    with pytest.raises(DataError, match=r"shapes\.ttl:1: not valid RDF"):
        read_lines(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(tmp_path / "none.yaml")


def test_axioms_in_the_graph_and_domains_with_narrower_types(tmp_path):
    path = tmp_path / "kin.ttl"
    path.write_text(
        PREFIXES
        + "ex:capital a owl:FunctionalProperty ; rdfs:domain ex:Place .\n"
        + "ex:Country rdfs:subClassOf ex:Place .\n"
        + "".join(f"ex:c{i} a ex:Country ; ex:capital ex:t{i} . ex:t{i} a ex:Town .\n" for i in range(4))
        + "ex:c9 a ex:Country ."
    )
    data = load_dataset(path, ratios=(100, 0, 0))
    found = FoundConstraints().on(data, "all", data.graph("all"), None)
    assert isinstance(found, Constraints)
    assert [(one.kind, one.exceptions) for one in found] == [("functional", 0), ("domain", 0)]
    names = {name: data.vocab.entity_id(f"http://example.org/{name}") for name in ("c1", "c9", "t1", "t2")}
    capital = data.vocab.relation_id("http://example.org/capital")
    assert "already has" in found.reason(names["c1"], capital, names["t2"])
    assert found.reason(names["c9"], capital, names["t2"]) == ""
    assert "must be" in found.reason(names["t1"], capital, names["t2"])
