"""Names, facts and rules as words for people: safe on a terminal, short where space is short.

A fact is said by the template of its relation that a run has, or as the name of the relation suggests.

A template says a fact with X as head and Y as tail: `X depends on Y`; a second one may begin with Y. What is
made from a name is a guess that templates correct. Words for the two directions of kinship (`parent`) are
used both ways in data, so they stay as they are.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from rnnlogic.base.text import printable
from rnnlogic.data.attributes import value_text
from rnnlogic.data.vocab import INVERSE, Vocab
from rnnlogic.rules.conditions import WORDS, Condition, bound_text
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.rule import NONE, Constant, Feature, Rule, directed

Namer = Callable[[int], str]  # what an entity is called


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PREPOSITIONS = _set(
    """of by in to with from at on for as into than under over near about upon through against within via"""
)
# Adjectives and participles that do not end in -ed, as they come before a preposition.
DESCRIBING = _set(
    """adjacent similar next close equal equivalent opposite due same dependent native prior relative subject
    born made built written held known led sold given taken spoken found set drawn worn sent said run won
    grown bound fed kept left lost paid sung taught told"""
)
PAST = {  # participles that stand alone, with the words that they mostly lack
    "married": "is married to",
    "related": "is related to",
    "located": "is located in",
    "connected": "is connected to",
    "associated": "is associated with",
    "born": "was born in",
}
LACKING = {  # verbs that need a preposition, which names of relations often leave out
    "depends": "depends on",
    "relies": "relies on",
    "belongs": "belongs to",
    "consists": "consists of",
    "refers": "refers to",
    "relates": "relates to",
    "interacts": "interacts with",
    "lives": "lives in",
    "links": "links to",
    "points": "points to",
}
BASES = _set("depend live work play belong refer study report participate interact rely relate lead")
PLURALS = _set(  # nouns that look like verbs
    """sports series species news arts awards politics languages genres members teams films songs parents
    friends process status class genus address basis analysis access progress business gas"""
)
BOTH_WAYS = _set(  # nouns that data use in either direction
    """parent child father mother son daughter grandparent grandchild grandfather grandmother uncle aunt
    nephew niece ancestor descendant"""
)
_PATH = re.compile(r"[^/\s]*(?:/[^/\s]*)+")
_PREFIX = re.compile(r"^[A-Za-z][\w-]*:(?=\w)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IRI = re.compile(r"[a-zA-Z][\w+.-]*://.*[/#]([^/#]+)[/#]?")
_SLOT = re.compile(r"\b[XY]\b")


def entity_words(entity: int, vocab: Vocab) -> str:
    """The label of an entity; of an IRI without a label, its last part."""
    return _local(vocab.entity_label(entity), vocab)


def typed_words(entity: int, vocab: Vocab, most: int | None = None) -> str:
    """The same with its type, where that is known: `aspirin (drug)`; each in at most so many columns."""
    kind = vocab.entity_type(entity)
    words = [printable(entity_words(entity, vocab)), "" if kind is None else printable(_local(kind, vocab))]
    name, kind = words if most is None else (shortened(word, most) for word in words)
    return f"{name} ({kind})" if kind else name


def relation_words(relation: int, vocab: Vocab) -> str:
    """The label of a relation, without the mark of an inverse; of an IRI without a label, its last part."""
    shown = vocab.relation_label(relation)
    return _local(shown.removesuffix(INVERSE if relation >= vocab.num_relations else ""), vocab)


def shortened(text: str, most: int) -> str:
    """The text in at most so many columns; what is left out of its middle is an ellipsis."""
    if cell_len(text) <= most:
        return text
    places, behind = range(len(text)), (most - 1) // 2
    end = bisect_left(places, True, key=lambda i: cell_len(text[: i + 1]) > most - 1 - behind)
    start = bisect_left(places, True, key=lambda i: cell_len(text[i:]) <= behind)
    return f"{text[:end]}…{text[start:]}"


def wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most `width` columns, the first after `first`, the others after `rest`."""
    lead = " " * cell_len(first) if rest is None else rest
    lines, line, empty = [], first, True
    for word in text.split():
        if not empty and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, empty = lead, True
        fitting = shortened(word, max(width - cell_len(line) - (not empty), 8))
        line, empty = line + fitting if empty else f"{line} {fitting}", False
    return [*lines, line]


def numbered(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 rule`, `2 rules`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def walk_words(entities: Sequence[str], relations: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """A walk step by step: an arrow for each relation (name, whether it is walked backwards), an entity.

    Entities that no walk joins, because a condition compares them, have `and` between them.
    """
    yield entities[0] if relations else " and ".join(entities)
    for (name, is_inverse), entity in zip(relations, entities[1:], strict=False):
        yield f"<-{name}- {entity}" if is_inverse else f"-{name}-> {entity}"


def _local(name: str, vocab: Vocab) -> str:
    found = _IRI.fullmatch(name) if vocab.shows_labels else None
    return found[1] if found else name


class Pattern(StrEnum):
    """What a rule is called by its shape."""

    inverse = "inverse"
    symmetry = "symmetry"
    transitivity = "transitivity"
    implication = "implication"
    sibling = "same as sibling"
    shared = "by a shared property"
    composition = "composition"
    identity = "identity"
    feature = "feature"
    condition = "condition"


class Template(NamedTuple):
    """How a relation is said; X is the head and Y the tail in both texts."""

    text: str
    turned: str | None = None  # the same said of Y
    is_plain: bool = False  # no sentence, for want of a better reading

    @property
    def forms(self) -> tuple[str, ...]:
        """Both texts."""
        return (self.text,) if self.turned is None else (self.text, self.turned)


def template_of(relation: int, vocab: Vocab) -> Template:
    """How a relation is said, in the direction of the graph; of an inverse the same."""
    if relation >= vocab.num_relations:
        relation = vocab.inverse(relation)
    name = vocab.relations[relation]
    given = vocab.templates.get(name) if vocab.shows_labels else None
    if given is not None:
        return Template(given[0], given[1] or None)
    return guessed(vocab.relation_label(relation))


def fact_sentence(head: str, relation: int, tail: str, vocab: Vocab) -> str:
    """A fact in the direction of the graph, whichever way round it is given."""
    _, head, tail = directed(relation, head, tail, vocab.num_relations)
    return filled(template_of(relation, vocab).text, head, tail)


def filled(text: str, x: str, y: str) -> str:
    """A template with names for X and Y."""
    return "".join(part for _, part in pieces(text, x, y))


def pieces(text: str, x: str, y: str) -> list[tuple[str, str]]:
    """The parts of a filled template: ("X", name), ("Y", name), and ("", words) between them."""
    parts, start = list[tuple[str, str]](), 0
    for slot in _SLOT.finditer(text):
        before, name = text[start : slot.start()], x if slot[0] == "X" else y
        if before.endswith(" a ") and name.startswith("something"):
            before = before[:-2]
        elif before.endswith(" a ") and len(name) > 1 and _begins_with_vowel(name):
            before = before[:-1] + "n "
        parts += [("", before), (slot[0], name)]
        start = slot.end()
    return [*parts, ("", text[start:])]


def counted_sentence(rule: Constant | Condition, right: int, cases: int, vocab: Vocab, name: Namer) -> str:
    """How often a rule is right of others: `57 of the 68 others that ... depend on octave`."""
    others = "the only other" if cases == 1 else f"{right:,} of the {cases:,} others"
    is_many = cases != 1

    def known(relation: int) -> _Known:
        return _Known(template_of(relation, vocab), rule.at_head != (relation >= vocab.num_relations))

    if isinstance(rule, Condition):
        clause = f"whose {attribute_words(max(rule.of_x, rule.of_y), vocab)} {bounds_words(rule, vocab)}"
    else:
        other = "something" if rule.other == NONE else name(rule.other)
        clause = known(rule.step).clause(other, is_many)
    return known(rule.head).said_of(f"{others} {clause}", name(rule.constant), is_many)


def attribute_words(attribute: int, vocab: Vocab) -> str:
    """What an attribute is called in a sentence."""
    return vocab.attribute_label(attribute).replace("_", " ")


def bounds_words(rule: Condition, vocab: Vocab) -> str:
    """An interval in words: `is at least 60 and below 70`."""
    kind = "number" if rule.compares else vocab.attributes[max(rule.of_x, rule.of_y)].kind
    low, high = rule.interval
    if rule.interval.is_one:
        return f"is {value_text(low, kind)}"
    parts = []
    if low > -math.inf:
        text, is_open = bound_text(low, kind)
        parts.append(f"{'more than' if is_open else 'at least'} {text}")
    if high < math.inf:
        text, is_closed = bound_text(high, kind)
        parts.append(f"{'at most' if is_closed else 'below'} {text}")
    return f"is {' and '.join(parts)}"


def comparison_words(rule: Condition, vocab: Vocab, x: str, y: str) -> str:
    """A comparison in words, by what X and Y are called: `born of A is below born of B`."""
    one, other = (f"{attribute_words(i, vocab)} of {end}" for i, end in ((rule.of_x, x), (rule.of_y, y)))
    signs = {"<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least", "=": "is"}
    sign = rule.sign
    if sign is not None:
        return f"{one} {signs[sign]} {other}"
    unit = WORDS[vocab.attributes[rule.of_x].kind]
    if rule.interval.turned == rule.interval:
        text, is_closed = bound_text(rule.interval.high, "number")
        return f"{one} and {other} differ by {'at most' if is_closed else 'less than'} {text}{unit}"
    return f"{other} minus {one} {bounds_words(rule, vocab)}{unit}"


class _Known(NamedTuple):
    """A relation, and which of its ends a sentence is about."""

    template: Template
    is_tail: bool

    @property
    def slot(self) -> str:
        return "Y" if self.is_tail else "X"

    def clause(self, other: str, is_many: bool) -> str:
        """What is true of the end that the sentence is about: `that depend on octave`."""
        slot = self.slot
        if self.template.is_plain:
            return f'in "{self._with("…", other)}"'
        for text in self.template.forms:
            if text.startswith(f"{slot} "):
                return f"that {_agreeing(self._with(slot, other, text)[2:], is_many)}"
        for text in self.template.forms:
            if text.endswith(f" {slot}"):
                return f"that {self._with(slot, other, text)[:-2]}"
        return f"for which {self._with('it', other)}"

    def said_of(self, subject: str, other: str, is_many: bool) -> str:
        """The relation said of a subject that may be many."""
        slot = self.slot
        if self.template.is_plain:
            return f'{subject} {"are" if is_many else "is"} in "{self._with("…", other)}" too'
        for text in self.template.forms:
            if text.startswith(f"{slot} "):
                return f"{subject} {_agreeing(self._with(slot, other, text)[2:], is_many)}"
        return self._with(subject, other)

    def _with(self, own: str, other: str, text: str | None = None) -> str:
        ends = (other, own) if self.is_tail else (own, other)
        return filled(self.template.text if text is None else text, *ends)


def rule_sentence(rule: Rule, vocab: Vocab) -> str:
    """The body of a rule as words: `X is a A and A treats Y`."""
    if isinstance(rule, Feature):
        return FEATURES[rule.name].sentence
    if isinstance(rule, Constant):
        other = "something" if rule.other == NONE else entity_words(rule.other, vocab)
        ends = (other, "Y") if rule.at_head else ("X", other)
        named = f"{'X' if rule.at_head else 'Y'} is {entity_words(rule.constant, vocab)}"
        return f"{fact_sentence(ends[0], rule.step, ends[1], vocab)} and {named}"
    if isinstance(rule, Condition):
        if rule.compares:
            return comparison_words(rule, vocab, "X", "Y")
        about, named = ("Y", "X") if rule.at_head else ("X", "Y")
        words = attribute_words(max(rule.of_x, rule.of_y), vocab)
        is_named = f"{named} is {entity_words(rule.constant, vocab)}"
        return f"{words} of {about} {bounds_words(rule, vocab)} and {is_named}"
    if not rule.body:
        return "X and Y are the same"
    chain = ["X", *_between(len(rule.body) - 1), "Y"]
    steps = zip(chain, rule.body, chain[1:], strict=False)
    return listed([fact_sentence(left, relation, right, vocab) for left, relation, right in steps])


def whole_rule(rule: Rule, vocab: Vocab) -> str:
    """A rule as one sentence: `X treats Y if X is a A and A treats Y`."""
    return f"{fact_sentence('X', rule.head, 'Y', vocab)} if {rule_sentence(rule, vocab)}"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def pattern_of(rule: Rule, num_relations: int) -> Pattern:
    """The name of a rule's shape."""
    if isinstance(rule, Feature):
        return Pattern.feature
    if isinstance(rule, Constant):
        return Pattern.shared
    if isinstance(rule, Condition):
        return Pattern.condition

    def turned(relation: int) -> int:
        return (relation + num_relations) % (2 * num_relations)

    head, body = rule
    if len(body) < 2:
        if not body:
            return Pattern.identity
        if body[0] == turned(head):
            return Pattern.symmetry
        is_turned = (head < num_relations) != (body[0] < num_relations)
        return Pattern.inverse if is_turned else Pattern.implication
    if set(body) == {head}:
        return Pattern.transitivity
    there_and_back = [i for i in range(len(body) - 1) if body[i + 1] == turned(body[i])]
    if len(body) == 2 and there_and_back:
        return Pattern.shared
    if len(body) == 3 and any(body[2 if i == 0 else 0] == head for i in there_and_back):
        return Pattern.sibling
    return Pattern.composition


@lru_cache(maxsize=4096)
def guessed(label: str) -> Template:
    """The template that the name or label of a relation suggests."""
    words = _words(label)
    if not words or any(c.isdigit() for word in words for c in word) or words[0] in ("also", "not"):
        return _plain(label, words)
    text = " ".join(words)
    if text in ("isa", "is a", "is an", "type", "kind", "is kind of", "a"):
        return Template("X is a Y", "Y includes X")
    for read in (_linking, _having, _ending, _verb, _past):
        found = read(words, text)
        if found is not None:
            return found
    if words[0] in PREPOSITIONS:
        return Template(f"X is {text} Y")
    if words[-1] in BOTH_WAYS:
        return Template(f"X {text} Y", is_plain=True)
    return Template(f"X has {text} Y", f"Y is {_article(text)} of X")


def _linking(words: list[str], text: str) -> Template | None:
    """Names that begin with a form of to be."""
    if words[0] not in ("is", "was", "are", "were", "can", "may") or len(words) == 1:
        return None
    rest = words[1:]
    if words[0] not in ("is", "was") or rest[-1] in PREPOSITIONS - {"of"} or _describes(rest[0]):
        return Template(f"X {text} Y")
    noun = " ".join(rest if rest[-1] == "of" else [*rest, "of"])
    has = f"Y has {noun.removesuffix(' of')} X" if words[0] == "is" else None
    return Template(f"X {words[0]} {noun if rest[0] in ('a', 'an', 'the') else _article(noun)} Y", has)


def _having(words: list[str], text: str) -> Template | None:
    if words[0] != "has":
        return None
    rest = words[1:]
    if not rest or rest[0].endswith("ed") or rest[-1] in PREPOSITIONS:
        return Template(f"X {text} Y")
    return Template(f"X {text} Y", f"Y is {_article(' '.join(rest))} of X")


def _ending(words: list[str], text: str) -> Template | None:
    """Names that end with a preposition."""
    if words[-1] not in PREPOSITIONS:
        return None
    if text == "same as":
        return Template("X is the same as Y", "Y is the same as X")
    if len(words) == 1:
        return Template(f"X is {text} Y")
    if _is_verb(words[0]):
        return Template(f"X {text} Y")
    if words[0] in BASES:
        return Template(f"X {_third_person(words[0])} {' '.join(words[1:])} Y")
    if _describes(words[-2]) or _describes(words[0]):
        return Template(f"X {'was' if words[-2] == 'born' else 'is'} {text} Y")
    turned = f"Y has {' '.join(words[:-1])} X" if words[-1] == "of" else None
    return Template(f"X is {_article(text)} Y", turned)


def _verb(words: list[str], text: str) -> Template | None:
    if text in LACKING:
        return Template(f"X {LACKING[text]} Y")
    return Template(f"X {text} Y") if _is_verb(words[0]) else None


def _past(words: list[str], text: str) -> Template | None:
    """Names that begin with a participle, or with a verb in the past."""
    if text in PAST:
        said = PAST[text]
        is_mutual = text in ("married", "related", "connected", "associated")
        return Template(f"X {said} Y", f"Y {said} X" if is_mutual else None)
    if not _describes(words[0]):
        return None
    if len(words) > 1 and words[1] in PREPOSITIONS:
        return Template(f"X is {text} Y")
    return Template(f"X {text} Y") if words[0].endswith("ed") and len(words) == 1 else None


def _plain(label: str, words: list[str]) -> Template:
    text = " ".join(words) or label
    return Template(f"X {_SLOT.sub(lambda slot: slot[0].lower(), text)} Y", is_plain=True)


def _words(label: str) -> list[str]:
    """The words of a name or label: of a path or an IRI those of its last part."""
    text = label.removesuffix(INVERSE)
    if found := _IRI.fullmatch(text):
        text = found[1]
    elif _PATH.fullmatch(text):
        text = next((part for part in reversed(text.split("/")) if part), text)
    text = _PREFIX.sub("", text).replace("_", " ")
    words = text.split()
    if len(words) == 1:
        words = [word.lower() for word in _CAMEL.sub(" ", words[0]).split()]
    words = words[:-1] if len(words) > 1 and words[-1] == "s" else words  # Freebase: `spouse_s`
    return [word for word in words if not _SLOT.fullmatch(word)] if len(words) > 1 else words


def _is_verb(word: str) -> bool:
    """Whether a word looks like a verb in the third person."""
    low = word.lower()
    return low.endswith("s") and not low.endswith(("ss", "us", "is")) and low not in PLURALS and len(low) > 3


def _describes(word: str) -> bool:
    low = word.lower()
    return low in DESCRIBING or (low.endswith("ed") and len(low) > 4)


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _agreeing(predicate: str, is_many: bool) -> str:
    """A predicate in the singular, or of many."""
    if not is_many:
        return predicate
    verb, _, rest = predicate.partition(" ")
    many = {"is": "are", "was": "were", "has": "have", "does": "do"}.get(verb)
    if many is None:
        many = verb
        if _is_verb(verb):
            many = f"{verb[:-3]}y" if verb.endswith("ies") else verb[:-1]
            if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
                many = verb[:-2]
    return f"{many} {rest}" if rest else many


def _article(noun: str) -> str:
    return f"{'an' if _begins_with_vowel(noun) else 'a'} {noun}"


def _begins_with_vowel(word: str) -> bool:
    low = word.lower()
    return low[:1] in ("a", "e", "i", "o", "u") and not low.startswith(("uni", "use", "eu", "one"))


def _between(number: int) -> list[str]:
    """Letters for the entities between X and Y."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVW"
    return list(letters[:number]) if number < len(letters) else [f"A{i}" for i in range(1, number + 1)]
