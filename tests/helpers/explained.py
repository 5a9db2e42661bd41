"""Explanations of answers on a graph, by the plain parts of a model."""

from rnnlogic.explain.explain import DETAILED, Basis, compare_on, explain_on
from rnnlogic.explain.question import Question


def explain(graph, vocab, scorer, head, relation, tail, known, limit=3, detailed=DETAILED):
    """Explain an answer on the known facts `graph`, ranked against all answers not in `known`."""
    return explain_on(Basis(graph, vocab, scorer, known), Question(head, relation, tail), limit, detailed)


def compare(graph, vocab, scorer, head, relation, tail, instead, known, limit=3, detailed=DETAILED):
    """Explain why (head, relation, tail) has another score than (head, relation, instead)."""
    question = Question(head, relation, tail)
    return compare_on(Basis(graph, vocab, scorer, known), question, instead, limit, detailed)
