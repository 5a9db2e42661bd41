"""Files of relation ids, as the authors of RNNLogic released them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats import read_rules, write_table
from rnnlogic.rules.formats.lines import ImportReport
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable
from tests.helpers.names import rule_sets, vocabularies

VOCAB = Vocab((), ("friend", "hobby"))
DICT_WITH_INVERSES = "0\thobby\n1\tfriend\n2\t!hobby\n3\t!friend\n"
DICT_WITHOUT_INVERSES = "0\thobby\n1\tfriend\n"


@pytest.fixture
def id_file(tmp_path):
    """Writes an id file with its dictionary; returns its path."""

    def write(rules, relations=DICT_WITH_INVERSES):
        (tmp_path / "some.relations.dict").write_text(relations)
        path = tmp_path / "some.txt"
        path.write_text(rules)
        return path

    return write


@given(st.data())
def test_id_files_round_trip_or_say_why_not(tmp_path_factory, data):
    vocab = data.draw(vocabularies())
    rules = data.draw(rule_sets(vocab, min_length=1)).without_trivial()
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    if any(set(name) & set("\t\r\n") for name in vocab.relations):
        with pytest.raises(RuleError, match="contains a tab or a line break, which id files cannot hold"):
            write_table(path, RuleTable(rules), vocab, "ids")
    else:
        write_table(path, RuleTable(rules), vocab, "ids")
        assert read_rules(path, vocab, "ids").rules == rules


def test_id_files_are_written_as_the_authors_do(tmp_path):
    rules = RuleSet.from_rules([Chain(1, (0, 3)), Chain(2, (2, 2))])
    write_table(tmp_path / "own.txt", RuleTable(rules), VOCAB, "ids")
    assert (tmp_path / "own.txt").read_text() == "1 0 3\n2 2 2\n"
    assert (tmp_path / "own.relations.dict").read_text() == "0\tfriend\n1\thobby\n2\t!friend\n3\t!hobby\n"


@pytest.mark.parametrize("relations", [DICT_WITH_INVERSES, DICT_WITHOUT_INVERSES])
def test_id_file(id_file, relations):
    path = id_file("0 1 0\n0 3\n1\n0 1 0\n2 2\n\n1\n3 1\n", relations)
    rules, report = read_rules(path, VOCAB)
    assert list(rules) == [Chain(1, (0, 1)), Chain(1, (2,)), Chain(2, (0,))]
    assert report == ImportReport(read=7, kept=3, duplicates=2, empty=2, trivial=1)
    assert report.lines() == [
        "7 rules read",
        "  2 dropped: repeated",
        "  2 dropped: empty body",
        "  1 dropped: r <- r",
        "3 rules kept",
    ]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("0 1\n0 4\n", r"some.txt:2: relation id 4 is not in 0..3"),
        ("0 1\n\n0 -1\n", r"some.txt:3: relation id -1 is not in 0..3"),
        ("0 1\n0 1 0.5\n", r"some.txt:2: expected relation ids separated by spaces, found '0.5'"),
    ],
)
def test_bad_id_lines(id_file, rules, message):
    with pytest.raises(RuleError, match=message):
        read_rules(id_file(rules), VOCAB)


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ("0\thobby\n1\tfrend\n", r"some.relations.dict:2: unknown relation 'frend'; did you mean 'friend'"),
        ("0\thobby\n1\t!frend\n", r"some.relations.dict:2: unknown relation 'frend'; did you mean 'friend'"),
        (
            "0\thobby\n2\tfriend\n",
            r"some.relations.dict:2: expected '1<TAB>relation name', found '2\\tfriend'",
        ),
        ("0 hobby\n", r"some.relations.dict:1: expected '0<TAB>relation name', found '0 hobby'"),
    ],
)
def test_bad_relation_dictionaries(id_file, relations, message):
    with pytest.raises(RuleError, match=message):
        read_rules(id_file("0 1\n", relations), VOCAB)


def test_id_file_without_dictionary_says_what_is_missing(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("0 1\n")
    with pytest.raises(
        RuleError, match=r"some.txt: a file of relation ids needs some.relations.dict beside it"
    ):
        read_rules(path, VOCAB)
    with pytest.raises(RuleError, match=r"some.txt:1: column 1: unknown relation '0'"):
        read_rules(path, VOCAB, format="text")


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("wn18rr", ImportReport(read=7386, kept=6133, duplicates=1251, empty=4)),
        ("fb15k-237", ImportReport(read=131883, kept=126102, duplicates=5747, empty=77)),
    ],
)
def test_rules_released_by_the_authors(dataset, expected, authors_data):
    folder = authors_data / "rnnlogic-rules"
    names = [line.split("\t")[1] for line in (folder / f"{dataset}.relations.dict").read_text().splitlines()]
    vocab = Vocab((), tuple(sorted(name for name in names if not name.startswith("!"))))
    rules, report = read_rules(folder / f"{dataset}.txt", vocab)
    assert report == expected
    assert len(rules) == expected.kept
    raw = {tuple(line.split()) for line in (folder / f"{dataset}.txt").read_text().splitlines()}
    in_names = {tuple(vocab.relation_name(r) for r in (rule.head, *rule.body)) for rule in rules}
    assert in_names == {
        tuple(f"{name[1:]}^-1" if name.startswith("!") else name for name in (names[int(i)] for i in ids))
        for ids in raw
        if len(ids) > 1
    }


def test_an_id_of_5000_digits_is_refused(tmp_path):
    vocab = Vocab(("a", "b"), ("r", "s"))
    (tmp_path / "x.txt").write_text("0 1\n0 " + "1" * 5000 + "\n")
    (tmp_path / "x.relations.dict").write_text("0\tr\n1\ts\n")
    with pytest.raises(RuleError, match=r"x\.txt:2: expected relation ids .* found '1{20}'"):
        read_rules(tmp_path / "x.txt", vocab)
