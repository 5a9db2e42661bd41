"""Small files do not fill the memory: errors name the limit and how to raise it."""

import gzip
import zipfile

import pytest

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.settings import read_values
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.places import limit

FACTS = b"a\tr\tb\nb\tr\tc\nc\tr\ta\n"


@pytest.fixture
def low(monkeypatch):
    for name, value in {"LINE_BYTES": 1000, "FREE_BYTES": 100_000, "EXPANSION": 50}.items():
        monkeypatch.setenv(f"RNNLOGIC_LIMIT_{name}", str(value))
    monkeypatch.setattr("rnnlogic.data.readers.CHUNK_BYTES", 1000)


def test_long_lines(low, tmp_path, monkeypatch):
    path = tmp_path / "x.tsv"
    path.write_bytes(FACTS + b"a" * 5000)
    with pytest.raises(RNNLogicError, match=r"limit line_bytes = 1,000.*RNNLOGIC_LIMIT_LINE_BYTES=2000"):
        load_dataset(str(path))
    monkeypatch.setenv("RNNLOGIC_LIMIT_LINE_BYTES", "10000")
    with pytest.raises(RNNLogicError, match="expected 3"):
        load_dataset(str(path))


@pytest.mark.parametrize("packed", ["gz", "zip", "gz in zip"])
def test_files_that_grow_huge(low, tmp_path, packed, monkeypatch):
    content = FACTS * 10_000
    data = gzip.compress(content) if packed.startswith("gz") else content
    path = tmp_path / ("facts.tsv.gz" if packed == "gz" else "facts.zip")
    if packed == "gz":
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("facts.tsv" + ".gz" * packed.startswith("gz"), data)
    with pytest.raises(RNNLogicError, match=r"limit expansion = 50.*RNNLOGIC_LIMIT_EXPANSION=100"):
        load_dataset(str(path))
    monkeypatch.setenv("RNNLOGIC_LIMIT_EXPANSION", "10000")
    assert load_dataset(str(path)).vocab.num_entities == 3


def test_a_limit_is_a_number(monkeypatch):
    monkeypatch.setenv("RNNLOGIC_LIMIT_EXPANSION", "much")
    with pytest.raises(RNNLogicError, match="must be a whole number"):
        limit("expansion")


@pytest.mark.parametrize(
    "text", ["a: &a [x]\nb: [*a, *a]", "a: " + "[" * 500, "a: " + "[" * 30 + "]" * 30, f"a: {10**30}"]
)
def test_settings_that_are_out_of_all_reason(tmp_path, text):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(RNNLogicError, match=r"aliases|nested|at most|not YAML"):
        read_values(tmp_path / "x.yaml")


RDF = (
    '<?xml version="1.0"?><!DOCTYPE r [{}]>'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    '<rdf:Description rdf:about="&a;1"><e:p rdf:resource="&a;2"/></rdf:Description></rdf:RDF>'
)


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "x"><!ENTITY b "&a;&a;">',
        """<!ENTITY a "x'&b;'">""",
        '<!ENTITY % a "x">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        f'<!ENTITY a "{"x" * 3000}">',
    ],
)
def test_entities_that_stand_for_more(tmp_path, entities):
    (tmp_path / "x.rdf").write_text(RDF.format(entities))
    with pytest.raises(RNNLogicError, match=r"entity"):
        load_dataset(str(tmp_path / "x.rdf"))
    (tmp_path / "x.rdf").write_text(RDF.format('<!ENTITY a "http://x/">'))
    assert "http://x/1" in load_dataset(str(tmp_path / "x.rdf"), ratios=(1, 0, 0)).vocab.entities
