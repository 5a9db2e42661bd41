import builtins
import gzip

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data.dataset import Dataset, load_dataset

PREFIX = "@prefix x: <http://x.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
TURTLE = """\
x:ann x:knows x:bob ; x:age 7 ; rdfs:label "Anna"@de , "Ann"@en .
x:bob x:knows x:ann , x:cy ; rdfs:label "Bob" .
x:knows rdfs:label "knows someone" .
x:cy x:knows x:ann ; x:born "1970" .
"""
NTRIPLES = """\
<http://x.org/ann> <http://x.org/knows> <http://x.org/bob> .
<http://x.org/bob> <http://x.org/knows> <http://x.org/ann> .
<http://x.org/bob> <http://x.org/knows> <http://x.org/cy> .
<http://x.org/cy> <http://x.org/knows> <http://x.org/ann> .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x.org/">
  <rdf:Description rdf:about="http://x.org/ann"><x:knows rdf:resource="http://x.org/bob"/></rdf:Description>
  <rdf:Description rdf:about="http://x.org/bob">
    <x:knows rdf:resource="http://x.org/ann"/><x:knows rdf:resource="http://x.org/cy"/>
  </rdf:Description>
  <rdf:Description rdf:about="http://x.org/cy"><x:knows rdf:resource="http://x.org/ann"/></rdf:Description>
</rdf:RDF>
"""


def all_facts(dataset: Dataset) -> set[tuple[str, str, str]]:
    vocab = dataset.vocab
    facts = [row for split in ("train", "valid", "test") for row in dataset.facts(split).tolist()]
    return {(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in facts}


EXPECTED = {
    (f"http://x.org/{h}", "http://x.org/knows", f"http://x.org/{t}")
    for h, t in (("ann", "bob"), ("bob", "ann"), ("bob", "cy"), ("cy", "ann"))
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.nt", NTRIPLES),
        ("g.ttl", PREFIX + TURTLE),
        ("g.rdf", XML),
        ("g.xml", XML),
        ("g.owl", XML),
        ("g.nt.gz", NTRIPLES),
    ],
)
def test_all_formats_give_the_same_facts(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert all_facts(load_dataset(path)) == EXPECTED


def test_literals_are_counted_and_labels_kept(tmp_path):
    path = tmp_path / "g.ttl"
    path.write_text(PREFIX + TURTLE, encoding="utf-8")
    dataset = load_dataset(path)
    assert dataset.report.literals == 1
    assert "1 fact(s) with a literal as object skipped" in dataset.report.lines()
    assert [one.name for one in dataset.vocab.attributes] == ["http://x.org/age"]
    assert dataset.vocab.entity_labels == {
        "http://x.org/ann": "Ann",
        "http://x.org/bob": "Bob",
        "http://x.org/cy": "x:cy",  # no rdfs:label, so the file's prefix
    }
    assert dataset.vocab.relation_labels == {
        "http://x.org/knows": "knows someone",
        "http://x.org/age": "x:age",
    }
    assert dataset.vocab.entity_id("Ann") == dataset.vocab.entity_id("http://x.org/ann")


def test_blank_nodes_are_entities_with_names_that_repeat(tmp_path):
    path = tmp_path / "g.ttl"
    path.write_text(PREFIX + "x:a x:k [ x:k x:b ] , [ x:k x:a ] , _:here . x:b x:k x:a .", encoding="utf-8")
    names = load_dataset(path).vocab.entities
    assert names == ("_:here", "_:node-1", "_:node-2", "http://x.org/a", "http://x.org/b")
    assert load_dataset(path).vocab.entities == names


def test_blank_nodes_of_two_files_are_different(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.ttl").write_text(PREFIX + "x:a x:k [ x:k x:a ] .", encoding="utf-8")
    assert load_dataset(tmp_path).vocab.num_entities == 4


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("g.nt", NTRIPLES + "<http://x.org/a> nonsense .\n", 5),
        ("g.ttl", PREFIX + "x:a x:b ;;; , .\n", 2),
        ("g.ttl", PREFIX + "y:a y:b y:c .\n", 2),
        ("g.rdf", XML.replace("</rdf:RDF>", "</rdf:RD>"), None),
        ("g.ttl", PREFIX, None),
    ],
)
def test_syntax_errors_name_file_and_line(tmp_path, name, text, line):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_without_the_extra_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    path = tmp_path / "g.nt"
    path.write_text(NTRIPLES, encoding="utf-8")
    original = builtins.__import__

    def without_pyoxigraph(name, *args, **kwargs):
        if name == "pyoxigraph":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyoxigraph)
    with pytest.raises(DataError, match=r"pip install '\.\[rdf\]' in the clone"):
        load_dataset(path)


def test_prefixes_of_the_file_are_shown_and_may_be_asked_for(tmp_path):
    path = tmp_path / "g.ttl"
    text = (
        "@prefix kin: <http://k.org/> . @prefix p: <http://k.org/people/> . @prefix o: <http://o.org/x> .\n"
    )
    path.write_text(
        text + "p:ann kin:parent p:bob . p:bob kin:parent <http://k.org/a/b> , o:y .", encoding="utf-8"
    )
    vocab = load_dataset(path).vocab
    assert vocab.relations == ("http://k.org/parent",)  # the names stay, so that exports are exact
    assert vocab.relation_label(1) == "kin:parent^-1"
    assert vocab.relation_id("kin:parent") == 0
    shown = {vocab.entity_label(i) for i in range(vocab.num_entities)}
    assert shown == {"p:ann", "p:bob", "http://k.org/a/b", "o:y"}
    assert vocab.entity_id("p:ann") == vocab.entity_id("http://k.org/people/ann")


def test_prefixes_of_rdf_xml_are_shown(tmp_path):
    path = tmp_path / "g.owl"
    path.write_text(XML, encoding="utf-8")
    assert load_dataset(path).vocab.relation_labels == {"http://x.org/knows": "x:knows"}


def test_one_prefix_never_stands_for_two_namespaces(tmp_path):
    for split, space in (("train", "a"), ("valid", "a"), ("test", "b")):
        facts = " x:i x:r x:j . x:j x:r x:i ." if split == "train" else f" x:{split} x:r x:i ."
        text = f"@prefix x: <http://{space}.org/> .{facts}"
        (tmp_path / f"{split}.ttl").write_text(text, encoding="utf-8")
    vocab = load_dataset(tmp_path).vocab
    assert vocab.relation_labels == {"http://a.org/r": "x:r"}
    assert vocab.entity_label(vocab.entity_id("http://b.org/i")) == "http://b.org/i"


def test_rdfs_labels_of_later_files_go_before_prefixes(tmp_path):
    for split in ("train", "valid", "test"):
        label = 'x:k rdfs:label "knows" .' if split == "test" else ""
        (tmp_path / f"{split}.ttl").write_text(f"{PREFIX} x:{split} x:k x:a . {label}", encoding="utf-8")
    assert load_dataset(tmp_path).vocab.relation_labels == {"http://x.org/k": "knows"}
