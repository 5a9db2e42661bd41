"""Accepted facts as files for graphs: what is written is read back by other tools, whatever the names are."""

import pyoxigraph
import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.complete.accepted import RDF, TERMS, write_decisions
from rnnlogic.review.decision import Decision
from rnnlogic.review.log import Decisions
from rnnlogic.rules.programs.sparql import iri
from tests.helpers.names import NAMES

NASTY = 'says "no"\\\n\t<b>; DROP'


def decisions():
    facts = [(name, NAMES[(i + 1) % len(NAMES)], NAMES[(i + 2) % len(NAMES)]) for i, name in enumerate(NAMES)]
    made = [
        Decision(*fact, "accept", by="Ada", time=f"2026-01-01T00:00:{i:02}", probability=0.25, rule=NASTY)
        for i, fact in enumerate(facts)
    ]
    made.append(Decision("wrong", "is", "this", "reject"))
    made.append(Decision("who", "knows", "this", "unsure"))
    return Decisions(tuple(made)), facts


@pytest.mark.parametrize("suffix", [".nt", ".ttl"])
def test_rdf_holds_facts_and_what_was_said_of_them(suffix, tmp_path):
    made, facts = decisions()
    path = tmp_path / f"out{suffix}"
    assert write_decisions(path, made) == len(facts)
    kind = pyoxigraph.RdfFormat.N_TRIPLES if suffix == ".nt" else pyoxigraph.RdfFormat.TURTLE
    store = pyoxigraph.Store()
    store.load(path.read_bytes(), kind)
    for fact in facts:
        terms = " ".join(map(iri, fact))
        assert store.query(f"ASK {{ {terms} }}")
    assert not store.query(f"ASK {{ {' '.join(map(iri, ('wrong', 'is', 'this')))} }}")
    rules = [row["r"].value for row in store.query(f"SELECT ?r WHERE {{ ?d <{TERMS}rule> ?r }}")]
    assert rules == [NASTY] * len(facts)
    chances = store.query(f"SELECT ?p WHERE {{ ?d <{TERMS}probability> ?p }}")
    assert [float(row["p"].value) for row in chances] == [0.25] * len(facts)
    if suffix == ".nt":
        query = f"SELECT ?s WHERE {{ ?d <{RDF}subject> ?s ; <{TERMS}decision> 'accept' }}"
        assert len(list(store.query(query))) == len(facts)


def test_cypher_merges_what_is_not_there(tmp_path):
    path = tmp_path / "out.cypher"
    one = Decision("a", "odd `name`", "b\n'", "accept", rule=NASTY, probability=0.5)
    assert write_decisions(path, Decisions((one, Decision("x", "y", "z", "reject")))) == 1
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") == 1  # a statement a line: names cannot break out
    assert '(h:Entity {name: "a"})' in text
    assert "[f:`odd ``name```]" in text
    assert '{name: "b\\n\'"}' in text
    assert "f.probability = 0.5" in text
    assert "MERGE" in text
    assert "reject" not in text


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(DataError, match="choose"):
        write_decisions(tmp_path / "out.doc", decisions()[0])
    assert not (tmp_path / "out.doc").exists()
