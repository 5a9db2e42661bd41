import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlogic.base.errors import RuleError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import NONE, Chain, Constant, format_rule, is_trivial, mirrored

FRIEND, HOBBY, LIVES = 0, 1, 2
FRIEND_INV, HOBBY_INV, LIVES_INV = 3, 4, 5
VOCAB = Vocab((), ("friend", "hobby", "lives in"), relation_labels={"hobby": "has hobby"})

NASTY = [
    "/travel/travel_destination/climate./travel/travel_destination_monthly_climate/month",
    "lives in", "a,b", "f(x)", 'say "hi"', "back\\slash", "a & b", "liebt_Ämter", "友達", "2nd", "true",
    "a", "a^-1", "^-1", "", "#tag", "rdf#type", ":-", "a:-b", "a:", "<-", "-", "new\nline", "tab\t", " pad ",
    "\r", "\u2028",
]  # fmt: skip
relation_names = st.lists(st.sampled_from(NASTY) | st.text(max_size=8), min_size=1, max_size=6, unique=True)


@st.composite
def vocab_and_rule(draw):
    vocab = Vocab((), tuple(draw(relation_names)))
    relations = st.integers(0, 2 * vocab.num_relations - 1)
    return vocab, Chain(draw(relations), tuple(draw(st.lists(relations, max_size=5))))


@pytest.mark.parametrize(
    ("rule", "long", "short"),
    [
        (Chain(HOBBY, (FRIEND, HOBBY)), "hobby(X,Y) <- friend(X,Z) & hobby(Z,Y)", "hobby <- friend & hobby"),
        (Chain(FRIEND, (FRIEND_INV,)), "friend(X,Y) <- friend(Y,X)", "friend <- friend^-1"),
        (
            Chain(HOBBY_INV, (HOBBY_INV, LIVES, LIVES_INV)),
            'hobby^-1(X,Y) <- hobby(Z1,X) & "lives in"(Z1,Z2) & "lives in"(Y,Z2)',
            'hobby^-1 <- hobby^-1 & "lives in" & "lives in"^-1',
        ),
        (Chain(FRIEND, ()), "friend(X,X) <- true", "friend <- true"),
    ],
)
def test_canonical_text(rule, long, short):
    assert format_rule(rule, VOCAB) == long
    assert format_rule(rule, VOCAB, style="short") == short
    assert parse_rule(long, VOCAB) == parse_rule(short, VOCAB) == rule


PEOPLE = Vocab(("ann", "X", "new york", "a"), ("speaks", "lives in"), entity_labels={"a": "Ayo"})


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Constant(0, 1, 0, 2, False), 'speaks(X,ann) <- "lives in"(X,"new york")'),
        (Constant(0, 3, 0, 2, False), 'speaks(X,ann) <- "lives in"("new york",X)'),
        (Constant(0, 1, 1, NONE, False), 'speaks(X,"X") <- "lives in"(X,Z)'),
        (Constant(0, 1, 0, 3, True), 'speaks(ann,Y) <- "lives in"(a,Y)'),
        (Constant(0, 3, 3, NONE, True), 'speaks(a,Y) <- "lives in"(Y,Z)'),
        (Constant(0, 1, 3, 3, False), 'speaks(X,"a") <- "lives in"(X,"a")'),
    ],
)
def test_rules_with_constants_as_text(rule, text):
    assert format_rule(rule, PEOPLE) == format_rule(rule, PEOPLE, style="short") == text
    assert parse_rule(text, PEOPLE) == rule
    turned = mirrored(rule, PEOPLE.num_relations)
    assert turned.head == 2
    assert turned.at_head != rule.at_head
    assert mirrored(turned, PEOPLE.num_relations) == rule
    assert parse_rule(format_rule(turned, PEOPLE), PEOPLE) == turned


def test_other_ways_to_write_rules_with_constants():
    expected = Constant(0, 1, 3, 0)
    for text in ('speaks(V1,Ayo) <- "lives in"(V1,ann)', 'speaks(A,"a") :- "lives in"^-1("ann",A)'):
        assert parse_rule(text, PEOPLE) == expected
    assert format_rule(expected, PEOPLE, labels=True) == 'speaks(X,Ayo) <- "lives in"(X,ann)'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speaks(X,bob) <- speaks(X,ann)", "column 10: unknown entity 'bob'"),
        ('speaks(X,"ann") <- speaks(X,Z) & speaks(Z,Y)', "needs a body of one atom"),
        ('speaks("ann","a") <- speaks(X,Z)', "expected one variable and one entity in the head"),
        ('speaks(X,Y) <- speaks(X,"ann")', "expected one variable and one entity in the head"),
        ('speaks(X,"ann") <- speaks(Y,"a")', "expected the chain variable 'X'"),
        ('speaks(X,"ann") <- speaks(X,X)', "expected another variable than 'X', or an entity"),
        ("speaks(X,*) <- speaks(X,Z)", "expected a variable"),
    ],
)
def test_errors_in_rules_with_constants(text, message):
    with pytest.raises(RuleError, match=re.escape(message)):
        parse_rule(text, PEOPLE)


@pytest.mark.parametrize(
    "text",
    [
        "hobby(a,b) <- friend(a,c), hobby(c,b)",
        "hobby(A,B)<=friend(A,friend)∧hobby(friend,B)",
        "hobby(X,Y) ← friend^-1(Z,X) & hobby^-1(Y,Z)",
        "hobby(X,Y):-friend(X,Z)&hobby(Z,Y)  # people share hobbies",
        '"hobby":-friend,"hobby"',
        "\thobby <- friend^-1^-1 &\n hobby ",
        '"hobby^-1"^-1 <- "friend" & hobby',
    ],
)
def test_spellings_of_one_rule(text):
    assert parse_rule(text, VOCAB) == Chain(HOBBY, (FRIEND, HOBBY))


def test_labels_are_for_display():
    assert format_rule(Chain(HOBBY, (HOBBY_INV,)), VOCAB, labels=True) == "has hobby(X,Y) <- has hobby(Y,X)"


@pytest.mark.parametrize("style", ["long", "short"])
@pytest.mark.parametrize("name", range(len(NASTY)))
def test_nasty_names_in_every_place(name, style):
    vocab = Vocab((), tuple(NASTY))
    inverse, other = vocab.inverse(name), NASTY.index("a")
    for rule in [Chain(name, ()), Chain(other, (name,)), Chain(inverse, (inverse, other, name))]:
        assert parse_rule(format_rule(rule, vocab, style), vocab) == rule


@given(vocab_and_rule(), st.sampled_from(["long", "short"]))
def test_any_rule_survives_text(vocab_rule, style):
    vocab, rule = vocab_rule
    text = format_rule(rule, vocab, style)
    assert parse_rule(text, vocab) == rule
    assert format_rule(parse_rule(text, vocab), vocab, style) == text
    assert "\n" not in text
    assert "\r" not in text


@given(vocab_and_rule(), st.data())
def test_names_of_variables_and_direction_of_atoms_are_free(vocab_rule, data):
    vocab, rule = vocab_rule
    n = len(rule.body) + 1
    names = data.draw(
        st.lists(st.from_regex(r"[A-Za-z_0-9]{1,3}", fullmatch=True), min_size=n, max_size=n, unique=True)
    )
    quoted = [
        format_rule(Chain(r, ()), vocab, "short").removesuffix(" <- true") for r in (*rule.body, rule.head)
    ]
    atoms = [
        f"{name}^-1({end} , {start})" if data.draw(st.booleans()) else f"{name}({start},{end})"
        for name, start, end in zip(quoted, names, names[1:], strict=False)
    ]
    text = f"{quoted[-1]}({names[0]},{names[-1]}) <- {' & '.join(atoms) or 'true'}"
    assert parse_rule(text, vocab) == rule


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a relation name, found the end"),
        ("# only a comment", 17, "expected a relation name, found the end"),
        ("(X,Y)", 1, "expected a relation name, found '('"),
        ("hobby", 6, "expected an arrow '<-', found the end"),
        ("hobby(X,Y) > friend", 12, "expected an arrow '<-', found '>'"),
        ("hobby <-", 9, "expected a relation name, found the end"),
        ("hobby <- friend &", 18, "expected a relation name, found the end"),
        ("hobby <- friend & & hobby", 19, "expected a relation name, found '&'"),
        ("hobby <- friend hobby", 17, "expected '&' or the end of the rule, found 'hobby'"),
        ("hobby <- friend(X,Y)", 16, "expected '&' or the end of the rule, found '('"),
        ("hobby <- true & friend", 15, "expected '&' or the end of the rule, found '&'"),
        ("hobby(X,Y) <- friend", 21, "expected '(' and two variables, found the end"),
        ("hobby(,Y) <- friend(X,Y)", 7, "expected a variable, found ','"),
        ('hobby(X,"Y") <- friend(X,Y)', 9, "unknown entity 'Y'"),
        ("hobby(X) <- friend(X,Y)", 8, "expected ',', found ')'"),
        ("hobby(X,Y <- friend(X,Y)", 11, "expected ')', found '<-'"),
        ("hobby <- frend", 10, "unknown relation 'frend'; did you mean 'friend'?"),
        ("hobby <- lives in", 10, "unknown relation 'lives'; did you mean 'lives in'?"),
        (r'hobby <- "fr\iend"', 10, "bad quoted name (invalid \\escape)"),
        ('hobby <- "friend', 10, "bad quoted name (unterminated string)"),
        ("hobby(X,Y) <- friend(X,Z) & hobby(W,Y)",
         35, "expected the chain variable 'Z' in this atom, found 'W'"),
        ("hobby(X,Y) <- hobby(Z,Y) & friend(X,Z)",
         21, "expected the chain variable 'X' in this atom, found 'Z'"),
        ("hobby(X,Y) <- friend(X,Z) & hobby(Z,W)", 37, "expected 'Y', where the chain must end, found 'W'"),
        ("hobby(X,Y) <- friend(X,Z)", 24, "expected 'Y', where the chain must end, found 'Z'"),
        ("hobby(X,Y) <- friend(X,Y) & hobby(Y,Y)",
         24, "expected a new variable that leads to the next atom, found 'Y'"),
        ("hobby(X,Y) <- friend(X,X) & hobby(X,Y)",
         24, "expected a new variable that leads to the next atom, found 'X'"),
        ("hobby(X,X) <- friend(X,X)", 9, "expected a variable other than 'X', found 'X'"),
        ("hobby(X,Y) <- true", 9, "expected 'X' again, because the body is 'true', found 'Y'"),
    ],
)  # fmt: skip
def test_errors_name_position_and_expectation(text, column, message):
    with pytest.raises(RuleError) as caught:
        parse_rule(text, VOCAB)
    assert str(caught.value) == f"column {column}: {message}\n  {text}\n  {' ' * (column - 1)}^"


@given(st.text(st.sampled_from('XYZhobbyfriend()<-&,"^1:# \\')))
def test_any_other_text_is_a_rule_error_within_the_text(text):
    try:
        rule = parse_rule(text, VOCAB)
    except RuleError as error:
        column = re.match(r"column (\d+): ", str(error))
        assert column
        assert 1 <= int(column[1]) <= len(text) + 1
    else:
        assert parse_rule(format_rule(rule, VOCAB), VOCAB) == rule


def test_trivial_rule():
    assert is_trivial(Chain(HOBBY, (HOBBY,)))
    assert not is_trivial(Chain(HOBBY, (HOBBY, HOBBY)))
    assert not is_trivial(Chain(HOBBY, (HOBBY_INV,)))
