"""Rules as SQL over a table `facts(head, relation, tail)` that holds every fact once.

Conditions need a table `attributes(entity, attribute, value)` of numbers, too.
"""

from __future__ import annotations

from rnnlogic.base.types import Feature, PathKind
from rnnlogic.data.attributes import Values
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import (
    Atom,
    Clause,
    Test,
    clauses,
    double,
    facts_in,
    values_in,
    weighted,
    without_nul,
)
from rnnlogic.rules.table import RuleTable

_FEATURES: dict[Feature, str] = {"count": "walks", "log1p": "LN(1 + walks)", "binary": "1"}
_VALUES = "CREATE TABLE attributes (entity VARCHAR, attribute VARCHAR, value DOUBLE);\n"
_TABLE = "CREATE TABLE facts (head VARCHAR, relation VARCHAR, tail VARCHAR);\n"


def sql(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One query: what every rule predicts (rule, head, relation, tail) and by how many paths."""
    return "UNION ALL\n".join(_answers(clause) for clause in clauses(table, vocab, path_kind))


def sql_ranking(
    table: RuleTable,
    vocab: Vocab,
    relation: int,
    feature: Feature = "log1p",
    head: int | None = None,
    path_kind: PathKind = "simple",
) -> str:
    """One query: the weighted sum over all rules of a relation, for one head or all, best answers first."""
    name = None if head is None else vocab.entities[head]
    parts = "UNION ALL\n".join(
        _weighted(clause, name) for clause in weighted(table, relation, vocab, path_kind)
    )
    return (
        f"WITH grounded AS (\n{parts})\n"
        f"SELECT query, answer, SUM(weight * {_FEATURES[feature]}) AS score\n"
        "FROM grounded\nGROUP BY query, answer\nORDER BY query, score DESC, answer\n"
    )


def sql_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """The table with its facts, and that of attributes if there are any."""
    rows = ",\n".join(f"({', '.join(fact)})" for fact in facts_in(triples, vocab, sql_string))
    text = _TABLE + (f"INSERT INTO facts VALUES\n{rows};\n" if rows else "")
    told = ",\n".join(
        f"({sql_string(entity)}, {sql_string(attribute.name)}, {double(number)})"
        for entity, attribute, number in values_in(values, vocab)
    )
    return text + (f"{_VALUES}INSERT INTO attributes VALUES\n{told};\n" if told else "")


def sql_string(name: str) -> str:
    """A name as a string."""
    return "'" + without_nul(name, "SQL").replace("'", "''") + "'"


def _answers(clause: Clause) -> str:
    columns = (
        f"{clause.number} AS rule, {_place(clause, clause.head.left)} AS head, "
        f"{sql_string(clause.head.relation)} AS relation, {_place(clause, clause.head.right)} AS tail"
    )
    return _select(clause, columns, [])


def _weighted(clause: Clause, head: str | None) -> str:
    first, last = _place(clause, 0), _place(clause, clause.length)
    condition = [] if head is None else [f"{first} = {sql_string(head)}"]
    columns = f"{first} AS query, {last} AS answer, {double(clause.weight)} AS weight"
    return _select(clause, columns, condition)


def _tested(clause: Clause, test: Test, columns: str, conditions: list[str]) -> str:
    """A condition, which each pair fulfils once."""
    names = {place: f"v{place}" for place, _ in test.values}
    where = [f"{names[place]}.attribute = {sql_string(one.name)}" for place, one in test.values]
    where += test.checks({place: f"{name}.value" for place, name in names.items()}, double)
    tables = " CROSS JOIN ".join(f"attributes AS {name}" for name in names.values())
    where += [*_unequal(clause), *conditions]
    return f"-- {clause.note}\nSELECT {columns}, 1 AS walks\nFROM {tables}\nWHERE {' AND '.join(where)}\n"


def _select(clause: Clause, columns: str, conditions: list[str]) -> str:
    if clause.test is not None:
        return _tested(clause, clause.test, columns, conditions)
    joins = [
        f"JOIN facts AS b{i} ON {_end(atom, i, i - 1)} = {_place(clause, i - 1)}"
        for i, atom in enumerate(clause.body, start=1)
        if i > 1
    ]
    is_one = f"COUNT(DISTINCT {_place(clause, clause.free)})"  # a body with constants holds or not
    ends = [clause.free] if clause.has_constants else [0, clause.length]
    where = [f"b{i}.relation = {sql_string(atom.relation)}" for i, atom in enumerate(clause.body, start=1)]
    lines = [
        f"-- {clause.note}",
        f"SELECT {columns}, {is_one if clause.has_constants else 'COUNT(*)'} AS walks",
        " ".join(["FROM facts AS b1", *joins]),
        f"WHERE {' AND '.join([*where, *_named(clause), *_unequal(clause), *conditions])}",
        f"GROUP BY {', '.join(_place(clause, place) for place in ends)}",
    ]
    return "\n".join(lines) + "\n"


def _place(clause: Clause, place: int) -> str:
    """The column that holds a place of the chain, or the entity there."""
    if place in clause.bound:
        return sql_string(clause.bound[place])
    if clause.test is not None:
        return f"v{place}.entity"
    i = max(place, 1)
    return _end(clause.body[i - 1], i, place)


def _named(clause: Clause) -> list[str]:
    """That the body mentions the entity that it names."""
    return [f"{_end(clause.body[0], 1, 2)} = {sql_string(clause.bound[2])}"] if 2 in clause.bound else []


def _unequal(clause: Clause) -> list[str]:
    return [f"{_place(clause, i)} <> {_place(clause, j)}" for i, j in clause.unequal]


def _end(atom: Atom, i: int, place: int) -> str:
    return f"b{i}.{'head' if atom.left == place else 'tail'}"
