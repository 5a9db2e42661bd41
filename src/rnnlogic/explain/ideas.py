"""Ideas: what a rule says of a question in plain words, by the shape of its body beside the head relation."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.names import entity_words, relation_words
from rnnlogic.explain.sentences import fact_sentence
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.features import FEATURES
from rnnlogic.rules.rule import Constant, Feature, Rule


class Family(StrEnum):
    """Families of rules that a person would give one name; the last one has no rules."""

    similar_heads = "entities like X have this answer"
    similar_answers = "X has answers like Y"
    similar_both = "entities like X have answers like Y"
    same_relation = "other facts of the relation lead from X to Y"
    turned_round = "entities like Y have answers like X"
    inverse = "the inverse says so"
    other_relation = "another relation says so"
    chain = "a chain of other relations"
    itself = "X is an answer of its own"
    linked = "an exclusion"
    often = "base rate"
    kind = "facts about X or Y"
    surest = "a rule that is often right"
    embedding = "the embedding says so"


_OF_GROUP: dict[str, Family] = {
    "exclusions": Family.linked,
    "base_rate": Family.often,
    "constants": Family.kind,
    "best_rule": Family.surest,
}


class Question(NamedTuple):
    """An answer that is explained: relation(head, tail), relation in 0..2R-1."""

    head: int
    relation: int
    tail: int


def family_of(rule: Rule, num_relations: int) -> Family:
    """The family of a rule."""
    if isinstance(rule, Feature):
        return _OF_GROUP[FEATURES[rule.name].group]
    if isinstance(rule, Constant | Condition):
        return Family.kind
    head, body = rule
    inverse = head + num_relations if head < num_relations else head - num_relations
    if len(body) < 2:
        return _short(head, body, num_relations)
    if body[0] == head:
        return Family.same_relation if body[-1] == head else Family.similar_answers
    if body[-1] == head:
        return Family.similar_heads
    if head in body:
        return Family.similar_both
    return Family.turned_round if inverse in body else Family.chain


def sentence(family: Family, question: Question, vocab: Vocab, is_against: bool = False) -> str:
    """What such rules say of a question, with the labels of its entities."""
    head, tail = entity_words(question.head, vocab), entity_words(question.tail, vocab)
    relation = relation_words(question.relation, vocab)

    def said(subject: str, target: str) -> str:
        return fact_sentence(subject, question.relation, target, vocab)

    like_head, like_tail = f"something similar to {head}", f"something similar to {tail}"
    sentences: dict[Family, Callable[[], str]] = {
        Family.similar_heads: lambda: said(like_head, tail),
        Family.similar_answers: lambda: said(head, like_tail),
        Family.similar_both: lambda: said(like_head, like_tail),
        Family.same_relation: lambda: f"other facts of {relation} lead from {head} to {tail}",
        Family.turned_round: lambda: said(like_tail, like_head),
        Family.inverse: lambda: f"a fact from {tail} to {head} says so",
        Family.other_relation: lambda: f"another relation leads from {head} to {tail}",
        Family.chain: lambda: f"other relations lead from {head} to {tail}",
        Family.itself: lambda: f"{head} is an answer of its own",
        Family.linked: lambda: f"how {head} and {tail} are linked already",
        Family.often: lambda: f"base rate: how often {tail} is an answer of {relation}",
        Family.kind: lambda: (
            f"facts about {head} or {tail} make this answer {'less' if is_against else 'more'} likely"
        ),
        Family.surest: lambda: f"a rule that is often right leads from {head} to {tail}",
        Family.embedding: lambda: (
            f"the embedding itself {'doubts' if is_against else 'finds'} that {said(head, tail)}"
        ),
    }
    return _capital(sentences[family]())


def says(rule: Rule, question: Question, vocab: Vocab, is_against: bool = False) -> str:
    """What a rule says of a question: an exclusion by itself, any other as its family does."""
    if not isinstance(rule, Feature) or rule.name not in ("reversed", "linked", "linked_back", "itself"):
        return sentence(family_of(rule, vocab.num_relations), question, vocab, is_against)
    head, tail = entity_words(question.head, vocab), entity_words(question.tail, vocab)
    sentences = {
        "reversed": f"the other way round it is known: {fact_sentence(tail, question.relation, head, vocab)}",
        "linked": f"another relation leads from {head} to {tail} already",
        "linked_back": f"another relation leads from {tail} to {head} already",
        "itself": f"the answer is {head} itself",
    }
    return _capital(sentences[rule.name])


def _short(head: int, body: tuple[int, ...], num_relations: int) -> Family:
    if not body:
        return Family.itself
    is_turned = (head < num_relations) != (body[0] < num_relations)
    return Family.inverse if is_turned else Family.other_relation


def _capital(text: str) -> str:
    """A capital for words of ours at the beginning; names stay as they are."""
    ours = ("how ", "facts ", "something ", "other ", "a ", "another ", "the ", "base rate")
    return text[0].upper() + text[1:] if text.startswith(ours) else text
