"""Text files: everything that may be in them, and every error with file and line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rnnlogic.base.errors import DataError
from rnnlogic.data import readers
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.data.readers import BLANKS, Tally, read_text

FACTS = [("ann", "friend", "bob"), ("bob", "friend", "cy"), ("cy", "likes", "ann"), ("ann", "likes", "cy")]


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path: Path) -> tuple[list[tuple[str, ...]], Tally]:
    tally = Tally()
    return [row for block in read_text(path, tally) for row in zip(*block.columns, strict=True)], tally


def lines(separator: str, facts=FACTS) -> str:
    return "".join(separator.join(fact) + "\n" for fact in facts)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("f.txt", lines("\t")),
        ("f.txt", lines("\t").removesuffix("\n")),
        ("f.tsv", lines("\t")),
        ("f.txt.gz", lines("\t")),
        ("f.csv.gz", lines(",")),
        ("f.txt", lines("  ")),
        ("f.csv", lines(",")),
        ("f.csv", lines("\t")),
        ("f.csv", lines('","').replace("\n", '"\n"').join(['"', ""]).removesuffix('"')),
        ("f.anything", lines("\t")),
        ("f.txt", lines(" \t ")),
    ],
)
def test_forms_of_text_are_read_alike(tmp_path, name, text):
    facts, tally = read(write(tmp_path / name, text))
    assert facts == FACTS
    assert tally == Tally()


@pytest.mark.parametrize("header", ["head relation tail", "h r t", "subject predicate object"])
@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_header_lines_are_skipped_in_csv_and_tsv(tmp_path, header, suffix, separator):
    text = header.replace(" ", separator).title() + "\n" + lines(separator)
    facts, tally = read(write(tmp_path / f"f{suffix}", text))
    assert facts == FACTS
    assert tally == Tally(header_lines=1)


def test_a_txt_file_has_no_header(tmp_path):
    facts, _ = read(write(tmp_path / "f.txt", "h\tr\tt\n"))
    assert facts == [("h", "r", "t")]


def test_what_is_passed_over_is_counted(tmp_path):
    text = "\ufeff" + lines("\t").replace("\n", "\r\n").replace("cy\tlikes", "\r\n  \r\ncy\tlikes")
    facts, tally = read(write(tmp_path / "f.txt", text))
    assert facts == FACTS
    assert tally == Tally(blank_lines=2, bom_files=1, crlf_files=1)


def test_names_may_hold_spaces_quotes_and_any_script(tmp_path):
    odd = [("Zoë K.", 'say "hi"', "東京"), ("a,b", "x\u2028y", "c")]
    assert read(write(tmp_path / "f.txt", lines("\t", odd)))[0] == odd
    quoted = '"Zoë K.","say ""hi""",東京\n"a,b",x\u2028y,c\n'
    assert read(write(tmp_path / "f.csv", quoted))[0] == odd


def test_quoted_fields_between_tabs(tmp_path):
    quoted = "".join("\t".join(f'"{name}"' for name in fact) + "\n" for fact in FACTS)
    for header in ("", '"subject"\t"predicate"\t"object"\n'):
        facts, tally = read(write(tmp_path / "f.tsv", header + quoted))
        assert facts == FACTS
        assert tally.notes == ["quotes around the fields are removed"]
    facts, _ = read(write(tmp_path / "f.txt", quoted))  # what save_dataset writes is never changed
    assert facts[0] == ('"ann"', '"friend"', '"bob"')


name = st.text(min_size=1, max_size=5).filter(
    lambda s: s == s.strip(BLANKS) and not set(s) & set("\t\n\ufeff\x00")  # zeros tell UTF-16
)


@given(st.lists(st.tuples(name, name, name), min_size=1, max_size=30), st.integers(1, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_chunks_of_any_size_give_what_plain_splitting_gives(tmp_path, facts, chunk_bytes):
    path = write(tmp_path / "f.txt", lines("\t", facts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "CHUNK_BYTES", chunk_bytes)
        assert read(path)[0] == facts


@given(st.lists(st.tuples(name, name, name, name), min_size=1, max_size=30), st.integers(1, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_further_columns_do_not_depend_on_chunks_either(tmp_path, rows, chunk_bytes):
    text = "type\tnote\tto\tfrom\n" + lines("\t", rows)
    path = write(tmp_path / "f.tsv", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "CHUNK_BYTES", chunk_bytes)
        assert read(path)[0] == [(head, relation, tail) for relation, _, tail, head in rows]


WRONG = [
    ("f.txt", "a\tr\tb\na\tr\n", 2, "expected 3 tab-separated columns (head, relation, tail), found 2"),
    ("f.txt", "a\tr\tb\n\na\tr\tb\tc\n", 3, "found 4"),
    ("f.txt", "a\tr\tb\na r b\n", 2, "found 1"),
    ("f.txt", "one two\n", 1, "expected 3 tab-separated columns"),
    ("f.txt", "a r b\na r b c\n", 2, "expected 3 space-separated columns"),
    ("f.csv", "a,r,b\na,r\n", 2, "expected 3 comma-separated columns"),
    ("f.csv", 'a,r,b\n"a,r,b\n', 2, "not valid CSV"),
    ("f.csv", '"a\tb",r,c\n', 1, "contains a TAB"),
    ("f.txt", "a\tr\tb\na\t \tb\n", 2, "the relation is empty"),
    ("f.txt", "a\tr\tb\na\tr\t\n", 2, "the tail is empty"),
    ("f.txt", b"\xc3\xa9\tr\tb\n\n\xff\xfe\tr\tb\n", 3, "byte 0xff is not UTF-8, as text before"),
    ("f.csv", b"a,r,\xc3\xa9\na,r,\xe9\n", 2, "byte 0xe9 is not UTF-8"),
    ("f.txt.gz", "a\tr\tb\na\tr\n", 2, "found 2"),
    ("f.txt", "", None, "no facts"),
    ("f.txt", "\n \n", None, "no facts"),
    ("f.csv", "head,relation,tail\n", None, "no facts"),
]


@pytest.mark.parametrize(("file", "text", "line", "message"), WRONG)
def test_errors_name_file_and_line(tmp_path, file, text, line, message):
    path = write(tmp_path / file, text)
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_line_numbers_are_right_in_later_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_BYTES", 64)
    path = write(tmp_path / "f.txt", "a\tr\tb\n" * 1000 + "a\tr\n")
    with pytest.raises(DataError, match=":1001: "):
        load_dataset(path)


def test_a_damaged_gzip_file_is_an_error(tmp_path):
    whole = gzip.compress(lines("\t").encode() * 100)
    for number, data in enumerate((whole[:-20], b"not gzip")):
        path = tmp_path / f"{number}.txt.gz"
        path.write_bytes(data)
        with pytest.raises(DataError, match="gzip file is damaged"):
            load_dataset(path)


def test_fact_arrays_cannot_be_changed(tmp_path):
    dataset = load_dataset(write(tmp_path / "f.txt", lines("\t")))
    assert isinstance(dataset, Dataset)
    for facts in (dataset.train, dataset.valid, dataset.test):
        assert not facts.flags.writeable
