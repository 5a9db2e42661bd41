"""Every reader of input: it reads, or refuses with a message."""

import gzip
import io
import sqlite3
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from backports import zstd

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.settings import read_values
from rnnlogic.cli.answers import _read_queries
from rnnlogic.config import Config, override, read_config
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.saving import pack_dataset, unpack_dataset
from rnnlogic.embeddings.settings import RotatESettings
from rnnlogic.review.log import DecisionLog
from rnnlogic.rules.formats import read_table
from rnnlogic.rules.parse import parse_pattern
from rnnlogic.rules.patterns import parse_pinned
from tests.helpers.family import RULES, family, family_facts
from tests.torture.mutate import batch, mutated
from tests.torture.outcome import Tally
from tests.torture.runs import Subject

BY_HYPOTHESIS = 0.0005  # share of calls in which hypothesis makes a batch of inputs
TSV = "".join("\t".join(fact) + "\n" for fact in family_facts(1)).encode()
FACTS: dict[str, bytes] = {
    "facts.tsv": TSV,
    "facts.txt": TSV.replace(b"\t", b" "),
    "facts.csv": b'head,relation,tail\n"a b",r,c\nc,r,"d ""q"""\nd,r,a\n',
    "facts.jsonl": b'{"head": "a", "relation": "r", "tail": 1.5}\n{"head": "b", "relation": "r", "tail": 2}',
    "facts.nt": b"<http://a> <http://r> <http://b> .\n<http://b> <http://r> _:x .\n",
    "facts.ttl": b'@prefix e: <http://e/> .\ne:a e:r e:b ; e:s "x"@en .\ne:b e:r e:a .\n',
    "facts.rdf": b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "http://x/">]><rdf:RDF xmlns:rdf='
    b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    b'<rdf:Description rdf:about="&a;1"><e:p rdf:resource="&a;2"/></rdf:Description></rdf:RDF>',
    "scored.csv": b"Subject,relation,Target,score,source\na,r,b,0.5,x|y\nb,r,c,1,x\nc,r,a,5e-1,\n",
    "windows.csv": b"head,relation,tail\nM\xfcller,r,K\xf6ln\nb,r,M\xfcller\n",
    "wide.csv": "head,relation,tail\nMüller,r,Köln\nb,r,Müller\n".encode("utf-16"),
    "network.json": b'{"directed": true, "nodes": [{"id": 1, "name": "x", "entity_type": "t"}, {"id": 2}],'
    b'"links": [{"source": 1, "target": 2, "key": "r", "weight": 0.5}, {"source": 2, "target": 1, "key": "s"}'
    b"]}",
    "network.graphml": b'<graphml><key id="k" for="edge" attr.name="keywords"/><graph edgedefault='
    b'"undirected"><node id="a"/><node id="b"/><edge source="a" target="b"><data key="k">r, s</data></edge>'
    b"</graph></graphml>",
    "nodes.csv": b"id:ID,name,:LABEL\n1,a,X\n2,b,X\n",
    "edges.csv": b":START_ID,:TYPE,:END_ID\n1,r,2\n2,r,1\n",
}
RULE_FILES: dict[str, bytes] = {
    "text.rules": "".join(f"{rule}  # {weight}\n" for rule, weight in RULES.items()).encode(),
    "anyburl.rules": b"10\t5\t0.5\tparent(X,Y) <= married(X,A), parent(A,Y)\n"
    b"3\t1\t0.33\tparent(X,Y) <= married(Y,X)\n",
    "jsonl.rules": b'{"rule": "parent(X,Y) <- married(X,Z) & parent(Z,Y)", "weight": 0.5}\n',
    "ids.rules": b"0 1 2\n1 0\n",
}
SETTINGS = b"seed: 3\nem:\n  rounds: 2\npredictor: {weight_decay: 100.0, feature: log1p}\npinned: []\n"
CHANGES = b"em.rounds=2\nseed=1\npinned=['a <- b']\npaths.etas=[0.1, 0.2]\npredictor.weight_decay=100.0"
ANSWER = (
    b'{"head":{"vars":["h","r","t"]},"results":{"bindings":[{"h":{"type":"uri","value":"http://a"},"r":'
    b'{"type":"uri","value":"http://r"},"t":{"type":"literal","value":"x"}}]}}'
)
REVIEW = b'{"head":"a","relation":"r","tail":"b","verdict":"accept","by":"x","probability":0.5}\n' * 2


class Target(NamedTuple):
    """A reader, good input for it, and how often it gets its turn."""

    name: str
    good: bytes
    read: Callable[[bytes, Path], object]
    weight: float = 1.0


def readers(tally: Tally, random: Random, scratch: Path, subjects: list[Subject]) -> None:
    """Changed input for a reader: it is read, or refused with a message."""
    del subjects
    found = targets()
    (target,) = random.choices(found, [one.weight for one in found])
    if random.random() < BY_HYPOTHESIS:
        batch(target.good, random, lambda data: _try(tally, target, data, scratch))
    else:
        _try(tally, target, mutated(target.good, random), scratch)


def _try(tally: Tally, target: Target, data: bytes, scratch: Path) -> None:
    try:
        target.read(data, scratch)
        tally.add("clear")
    except RNNLogicError as problem:
        tally.add("clear" if str(problem) else "traceback", f"{target.name}: no message")
    except Exception as problem:
        found = f"{type(problem).__name__} {str(problem)[:100]}"
        tally.add("traceback", f"{target.name}: {found} of {data[:300]!r}")


@cache
def targets() -> list[Target]:
    """All readers."""
    vocab, plain = family().vocab, RotatESettings()
    (ids,) = [b"".join(f"{i}\t{name}\n".encode() for i, name in enumerate(vocab.relations))]
    rules = [
        Target(name, good, _file(name, lambda path: read_table(path, vocab)), 2)
        for name, good in RULE_FILES.items()
    ]
    return [
        *(Target(name, good, _file(name, _load), 3) for name, good in FACTS.items()),
        *rules,
        Target("weights and sources", FACTS["scored.csv"], _file("scored.csv", _weighted), 3),
        Target("--weight", b"score/2", lambda d, p: _weighted(_named(p, "scored.csv"), _text(d)), 0.5),
        Target("--encoding", b"utf-16", lambda d, p: _encoded(_named(p, "wide.csv"), _text(d)), 0.5),
        Target("facts.tsv.zst", zstd.compress(TSV), _file("packed.tsv.zst", _load)),
        Target("facts.tsv.gz", gzip.compress(TSV, 1), _file("packed.tsv.gz", _load)),
        Target("inside facts.tsv.gz", TSV, lambda data, place: _packed(gzip.compress(data, 1), place)),
        Target("facts.zip", _zipped(TSV), _file("facts.zip", _load)),
        Target("inside facts.zip", TSV, lambda data, place: _file("in.zip", _load)(_zipped(data), place)),
        Target("facts.parquet", _parquet(), _file("facts.parquet", _load), 0.05),
        Target("facts.sqlite", _sqlite(), _file("facts.sqlite", _query), 0.3),
        Target("train, valid and test", TSV, _folder),
        Target("entities.dict", ids, lambda data, place: _folder(TSV, place, data)),
        Target("the answer of an endpoint", ANSWER, _endpoint),
        Target("labels", b"child0_0\tThe child\nparent\tis parent of\n", _file("labels.tsv", _labels)),
        Target("dictionary of ids.rules", ids, lambda data, place: _dictionary(data, place, vocab)),
        Target("a rule", b"parent(X,Y) <- married(X,Z) & parent(Z,Y)", lambda d, _: _rule(d, vocab), 2),
        Target(
            "questions", b"grandpa0\tparent\ngrandma1\tmarried\n", _file("q.tsv", lambda p: _ask(p, vocab))
        ),
        Target("settings", SETTINGS, _file("settings.yaml", _settings), 0.5),
        Target("--set", CHANGES, lambda data, _: override(Config(), _lines(data)), 0.3),
        Target("embed --set", b"dim=8\nlearning_rate=0.1", lambda d, _: override(plain, _lines(d)), 0.5),
        Target("--columns", b"head,relation,tail", lambda d, p: load_dataset(_put(p), columns=_text(d))),
        Target("--sep", b"comma", lambda data, place: load_dataset(_put(place), sep=_text(data)), 0.5),
        Target(
            "decisions of a review",
            REVIEW,
            _file("x.decisions.jsonl", lambda p: DecisionLog(p).read().warnings()),
        ),
    ]


def _file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def write_and_read(data: bytes, scratch: Path) -> object:
        path = scratch / name
        path.write_bytes(data)
        return read(path)

    return write_and_read


def _load(path: Path) -> object:
    return load_dataset(str(path), ratios=(80, 10, 10))


def _weighted(path: Path, weight: str = "score") -> object:
    options = {"skip_incomplete": True, "min_weight": 0.1, "without_source": "y"}
    dataset = load_dataset(str(path), weight=weight, source="source", ratios=(80, 10, 10), **options)
    return unpack_dataset(*pack_dataset(dataset))


def _encoded(path: Path, encoding: str) -> object:
    return load_dataset(str(path), encoding=encoding, ratios=(80, 10, 10))


def _named(scratch: Path, name: str) -> Path:
    path = scratch / f"good-{name}"
    if not path.is_file():
        path.write_bytes(FACTS[name])
    return path


def _packed(data: bytes, scratch: Path) -> object:
    return _file("inside.tsv.gz", _load)(data, scratch)


def _query(path: Path) -> object:
    return load_dataset(str(path), query="SELECT * FROM facts", ratios=(80, 10, 10))


def _put(scratch: Path) -> str:
    path = scratch / "good.csv"
    if not path.is_file():
        path.write_bytes(FACTS["facts.csv"])
    return str(path)


def _folder(data: bytes, scratch: Path, ids: bytes | None = None) -> object:
    folder = scratch / "splits"
    folder.mkdir(exist_ok=True)
    third = len(data) // 3
    parts = {"train.txt": data[: 2 * third], "valid.txt": data[third:], "test.txt": data[-third:]}
    for name, part in (parts | ({} if ids is None else {"relations.dict": ids})).items():
        (folder / name).write_bytes(part)
    if ids is None:
        (folder / "relations.dict").unlink(missing_ok=True)
    return load_dataset(str(folder))


def _endpoint(data: bytes, scratch: Path) -> object:
    del scratch
    kind = "application/sparql-results+json" if data[:1] in b"{[" else "application/n-triples"
    with patch("rnnlogic.data.rdf._ask", lambda *_: (kind, data)):
        return load_dataset("http://localhost/sparql", query="SELECT", ratios=(80, 10, 10))


def _labels(path: Path) -> object:
    return load_dataset(family_facts(1), labels=path)


def _dictionary(data: bytes, scratch: Path, vocab) -> object:
    (scratch / "by_ids.relations.dict").write_bytes(data)
    return _file("by_ids.rules", lambda path: read_table(path, vocab))(RULE_FILES["ids.rules"], scratch)


def _rule(data: bytes, vocab) -> object:
    return parse_pattern(_text(data), vocab), parse_pinned(_text(data), vocab)


def _ask(path: Path, vocab) -> object:
    return _read_queries(str(path), vocab)


def _settings(path: Path) -> object:
    return read_values(path), read_config(path)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")  # as Python hands over arguments


def _lines(data: bytes) -> list[str]:
    return [_text(line) for line in data.split(b"\n")]


def _zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/facts.tsv", data)
    return file.getvalue()


def _sqlite() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE facts (head TEXT, relation TEXT, tail TEXT)")
    connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", family_facts(2))
    connection.commit()
    return connection.serialize()


def _parquet() -> bytes:
    import tempfile

    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        query = (
            "COPY (SELECT 'a' || i AS head, 'r' AS relation, 'b' || i AS tail FROM range(40) t(i)) TO '{}'"
        )
        connection.execute(query.format(f"{folder}/facts.parquet"))
        return Path(folder, "facts.parquet").read_bytes()
