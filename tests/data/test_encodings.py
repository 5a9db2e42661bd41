"""Text in other encodings, and compressed files: told apart, read, or refused with the way out."""

import codecs
import gzip
import io
import zipfile

import pytest

from rnnlogic.base.errors import DataError
from rnnlogic.data import places, readers
from rnnlogic.data.dataset import load_dataset
from rnnlogic.data.places import StandardInput, is_windows, wide_encoding
from tests.helpers.reading import facts_of, read

FACTS = {("Müller", "arbeitet in", "Köln"), ("Straßer", "kennt", "Müller"), ("naïve", "kennt", "Straßer")}
TEXT = "head,relation,tail\r\n" + "".join(",".join(fact) + "\r\n" for fact in sorted(FACTS))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (TEXT.encode(), None),
        (TEXT.encode("utf-8-sig"), "byte order mark skipped"),
        (TEXT.encode("cp1252"), "f.csv is not UTF-8 and is read as cp1252 (Windows), with words such as "),
        (TEXT.encode("utf-16"), "f.csv is read as utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "f.csv is read as utf-16"),
        (TEXT.encode("utf-16-le"), "f.csv is read as utf-16-le"),
        (TEXT.encode("utf-16-be"), "f.csv is read as utf-16-be"),
        (TEXT.encode("utf-32"), "f.csv is read as utf-32"),
    ],
)
def test_encodings_are_told_apart(tmp_path, data, said):
    path = tmp_path / "f.csv"
    path.write_bytes(data)
    facts, lines = read(path)
    assert facts == FACTS
    assert said is None or any(line.startswith(said) for line in lines)


def test_the_note_on_windows_shows_a_word_with_such_a_letter(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes("a\tr\tb\nMüller\tr\tb\n".encode("cp1252"))
    assert "such as 'Müller'; if that is wrong, name the encoding: --encoding NAME" in read(path)[1][0]


@pytest.mark.parametrize("encoding", ["cp1251", "latin-1", "UTF-16", "utf8", "shift_jis"])
def test_the_user_may_name_the_encoding(tmp_path, encoding):
    name = "Чехов" if encoding in ("cp1251", "UTF-16", "utf8", "shift_jis") else "é"
    path = tmp_path / "f.tsv"
    path.write_bytes(f"{name}\tr\tb\n".encode(encoding))
    assert read(path, encoding=encoding)[0] == {(name, "r", "b")}


def test_wrong_encodings_are_errors(tmp_path):
    path = tmp_path / "f.tsv"
    path.write_bytes("é\tr\tb\n".encode("cp1252"))
    for wrong in ("utf9", "base64", "rot13", "", "a\0b"):
        with pytest.raises(DataError, match="is not known; give one such as utf-8, cp1252"):
            load_dataset(path, encoding=wrong)
    with pytest.raises(DataError, match=r"f\.tsv:1: byte 0xe9 is not UTF-8"):
        load_dataset(path, encoding="utf-8")
    path.write_bytes(b"a\tr\tbc\n")  # an odd number of bytes
    with pytest.raises(DataError, match=r"f\.tsv: not valid utf-16.*name its encoding"):
        load_dataset(path, encoding="utf-16-le")


@pytest.mark.parametrize("chunk", [8, 64, 1 << 20])
def test_letters_beyond_the_first_piece_are_read_alike(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(readers, "CHUNK_BYTES", chunk)
    rows = [("a", "r", f"b{i}") for i in range(50)] + [("ü", "r", "b0"), ("ä", "r", "b1")]
    for encoding in ("cp1252", "utf-8", "utf-16-le"):
        path = tmp_path / f"{encoding}.txt"
        path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode(encoding))
        assert read(path)[0] == set(rows)


def test_a_file_that_is_utf8_only_here_and_there_is_damaged(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes("é\tr\tb\n".encode() + "é\tr\tc\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"f\.txt:2: byte 0xe9 is not UTF-8, as text before it is"):
        load_dataset(path)
    path.write_bytes(b"a\tr\t\x81\n")  # no letter of cp1252
    with pytest.raises(DataError, match="byte 0x81 is not UTF-8"):
        load_dataset(path)
    assert not is_windows(b"\xe9\x00")
    assert wide_encoding(b"a\x00\x00b" * 9) is None


def test_json_lines_and_neo4j_dumps_are_recoded_too(tmp_path):
    lines = tmp_path / "f.jsonl"
    lines.write_bytes('{"head": "Müller", "relation": "r", "tail": "b"}\n'.encode("cp1252"))
    assert read(lines)[0] == {("Müller", "r", "b")}
    dump = tmp_path / "f.csv"
    dump.write_bytes(":START_ID,:END_ID,:TYPE\nMüller,b,r\n".encode("utf-16"))
    assert read(dump)[0] == {("Müller", "r", "b")}


def zst(data: bytes) -> bytes:
    return pytest.importorskip("backports.zstd").compress(data)


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_compressed_files(tmp_path, pack):
    suffix = ".gz" if pack is gzip.compress else ".zst"
    path = tmp_path / f"f.csv{suffix}"
    path.write_bytes(pack(TEXT.encode("utf-16")))
    assert read(path)[0] == FACTS
    path.write_bytes(pack(TEXT.encode())[:-6])
    with pytest.raises(DataError, match="file is damaged"):
        load_dataset(path)
    path.write_bytes(b"no such thing")
    with pytest.raises(DataError, match="file is damaged"):
        load_dataset(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.tsv{suffix}").write_bytes(pack(f"a\tr\t{split}\n".encode()))
    assert len(read(folder)[0]) == 3


def test_a_small_file_may_not_fill_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLOGIC_LIMIT_FREE_BYTES", "1000")
    path = tmp_path / "f.txt.zst"
    path.write_bytes(zst(b"a\tr\tb\n" * 100_000))
    with pytest.raises(DataError, match="beyond the limit expansion"):
        load_dataset(path)


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    path = tmp_path / "f.txt.zst"
    path.write_bytes(b"x")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(places.importlib, "import_module", missing)
    with pytest.raises(DataError, match=r"pip install backports\.zstd"):
        load_dataset(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zst])
@pytest.mark.parametrize("memory", [10, 1 << 20])
def test_standard_input(monkeypatch, pack, memory):
    monkeypatch.setattr(places, "IN_MEMORY", memory)
    place = StandardInput.of(io.BytesIO(pack(TEXT.encode("utf-16"))))
    monkeypatch.setattr(StandardInput, "read", lambda: place)
    assert place.name.startswith("facts.csv")
    assert (place.file is None) == (memory > 10)
    assert facts_of(load_dataset("-")) == FACTS


def test_a_zip_of_one_file_in_another_encoding(tmp_path):
    path = tmp_path / "f.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("f.csv", TEXT.encode("utf-16"))
    assert read(path)[0] == FACTS


def test_a_large_file_is_announced_and_read_piece_by_piece(tmp_path, monkeypatch):
    rows = 60_000
    path = tmp_path / "f.tsv"
    path.write_text(
        "".join(f"entity{i % 999}\tr{i % 7}\tentity{i % 1009}\n" for i in range(rows)), encoding="utf-8"
    )
    monkeypatch.setattr("rnnlogic.data.places.LARGE", 1 << 20)
    monkeypatch.setattr(readers, "CHUNK_BYTES", 1 << 16)
    sizes, decoded = [], readers.decode
    monkeypatch.setattr(
        readers, "decode", lambda chunk, at: sizes.append(len(chunk.data)) or decoded(chunk, at)
    )
    said: list[str] = []
    load_dataset(path, progress=said.append)
    assert max(sizes) < (1 << 16) + 100  # whatever the size of the file
    assert said[0].startswith("f.tsv: 0.0 GB, about 6")
    assert "lines; reading will take about 0.00" in said[0]
    assert 9 <= len(said[1:]) <= 10
    assert said[1].startswith("f.tsv: 1")
    assert said[1].endswith(" lines")
    packed = tmp_path / "f.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr("rnnlogic.data.places.LARGE", 1)
    again: list[str] = []
    load_dataset(packed, progress=again.append)
    assert again[0].startswith("f.tsv.gz: 0.0 GB, about ")
    monkeypatch.setattr("rnnlogic.data.places.LARGE", 1 << 30)
    load_dataset(path, progress=pytest.fail)
