"""Vocabularies with names that hurt, and rules over them."""

from hypothesis import strategies as st

from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.rule import Chain
from rnnlogic.rules.ruleset import RuleSet

NAMES = [
    "friend of",
    "co-occurs_with",
    "a,b",
    "a, b",
    "it's",
    'say "hi"',
    "/film/film./x",
    "f(x)",
    "f(X,Y)",
    "f(X,Y), g",
    "a <= b",
    "7up",
    "Üñï→☃",
    "true",
    "!not",
    "not",
    "back\\slash",
    "`tick`",
    "# hash",
    "% percent",
    "-- dash",
    "x^-1",
    "{brace}",
    " lead",
    "trail ",
    "http://example.org/a#b",
    "urn:rnnlogic:x",
    "\u2028",
]
UNRULY = ["tab\there", "new\nline", "car\rriage", "\x07", "\x85", ""]  # not for every format


any_names = st.one_of(st.sampled_from(NAMES + UNRULY), st.text(max_size=6))


@st.composite
def vocabularies(draw, names=any_names):
    return Vocab((), tuple(draw(st.lists(names, min_size=1, max_size=5, unique=True))))


@st.composite
def rule_sets(draw, vocab, min_length=0):
    relations = st.integers(0, 2 * vocab.num_relations - 1)
    bodies = st.lists(relations, min_size=min_length, max_size=4).map(tuple)
    return RuleSet.from_rules(draw(st.lists(st.builds(Chain, relations, bodies), max_size=8)))
