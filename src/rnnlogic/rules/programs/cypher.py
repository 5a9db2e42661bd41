"""Rules as Cypher: relations are relationship types between nodes `(:Entity {name})`.

Attributes are properties of nodes, all numbers.

Every step has its own MATCH: a single MATCH never uses a relationship twice and would miss walks.
"""

from __future__ import annotations

import json
from itertools import groupby

from rnnlogic.base.errors import RuleError
from rnnlogic.base.types import PathKind
from rnnlogic.data.attributes import Values
from rnnlogic.data.graph import Triples
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.chain import Clause, Test, clauses, double, values_in, without_nul
from rnnlogic.rules.table import RuleTable


def cypher(table: RuleTable, vocab: Vocab, path_kind: PathKind = "simple") -> str:
    """One query: what every rule predicts (rule, head, relation, tail) and by how many paths."""
    return "UNION ALL\n".join(_answers(clause) for clause in clauses(table, vocab, path_kind))


def cypher_facts(triples: Triples, vocab: Vocab, values: Values | None = None) -> str:
    """Statements that create the entities, their attributes, then the facts of each relation."""
    names = ", ".join(map(cypher_string, vocab.entities))
    statements = [f"UNWIND [{names}] AS name CREATE (:Entity {{name: name}});\n"]
    told = groupby(values_in(values, vocab), key=lambda value: value[1].name)
    for name, rows_of in told:
        numbers = ", ".join(
            f"{{name: {cypher_string(entity)}, value: {double(number)}}}" for entity, _, number in rows_of
        )
        statements.append(
            f"UNWIND [{numbers}] AS told MATCH (e:Entity) WHERE e.name = told.name "
            f"SET e.{cypher_name(name)} = told.value;\n"
        )
    facts = sorted((relation, head, tail) for head, relation, tail in triples.tolist())
    for relation, rows in groupby(facts, key=lambda fact: fact[0]):
        pairs = ", ".join(
            f"{{head: {cypher_string(vocab.entities[head])}, tail: {cypher_string(vocab.entities[tail])}}}"
            for _, head, tail in rows
        )
        statements.append(
            f"UNWIND [{pairs}] AS fact "
            "MATCH (h:Entity), (t:Entity) WHERE h.name = fact.head AND t.name = fact.tail "
            f"CREATE (h)-[:{cypher_name(vocab.relations[relation])}]->(t);\n"
        )
    return "".join(statements)


def cypher_string(name: str) -> str:
    """A name as a string."""
    return json.dumps(without_nul(name, "Cypher"), ensure_ascii=False)


def cypher_name(name: str) -> str:
    """A name as a relationship type."""
    if not name:
        raise RuleError("an empty relation name cannot be a relationship type in Cypher")
    return "`" + without_nul(name, "Cypher").replace("`", "``") + "`"


def _answers(clause: Clause) -> str:
    variables = [name.lower() for name in clause.variables]
    if clause.test is not None:
        matched = _tested(clause, clause.test, variables)
    else:
        matched = (_constants if clause.has_constants else _walk)(clause, variables)
    walks = "count(*)" if clause.test is None else "1"
    head, tail = (
        cypher_string(clause.bound[place]) if place in clause.bound else f"{variables[place]}.name"
        for place in (clause.head.left, clause.head.right)
    )
    returned = (
        f"RETURN {clause.number} AS rule, {head} AS head, "
        f"{cypher_string(clause.head.relation)} AS relation, {tail} AS tail, {walks} AS walks"
    )
    return "\n".join([f"// {clause.note}", *matched, returned]) + "\n"


def _walk(clause: Clause, variables: list[str]) -> list[str]:
    """A chain, step by step."""
    lines = []
    for i, atom in enumerate(clause.body):
        here = f"({variables[i]}:Entity)" if i == 0 else f"({variables[i]})"
        step = f"[:{cypher_name(atom.relation)}]"
        arrow = f"-{step}->" if atom.left == i else f"<-{step}-"
        differ = " AND ".join(
            f"{variables[a]}.name <> {variables[b]}.name" for a, b in clause.unequal if b == i + 1
        )
        where = f" WHERE {differ}" if differ else ""
        lines.append(f"MATCH {here}{arrow}({variables[i + 1]}:Entity){where}")
    return lines


def _tested(clause: Clause, test: Test, variables: list[str]) -> list[str]:
    """A condition, which each pair fulfils once."""
    terms = {place: f"{variables[place]}.{cypher_name(one.name)}" for place, one in test.values}
    nodes = ", ".join(f"({variables[place]}:Entity)" for place in terms)
    checks = test.checks(terms, double)
    checks += [f"{variables[a]}.name <> {variables[b]}.name" for a, b in clause.unequal]
    return [f"MATCH {nodes} WHERE {' AND '.join(checks)}"]


def _constants(clause: Clause, variables: list[str]) -> list[str]:
    """A rule that names entities; whoever has such facts is found once."""
    (atom,) = clause.body
    ends = [f"({variables[place]}:Entity)" for place in atom[1:]]
    is_named = f" WHERE z.name = {cypher_string(clause.bound[2])}" if 2 in clause.bound else ""
    return [
        f"MATCH {ends[0]}-[:{cypher_name(atom.relation)}]->{ends[1]}{is_named}",
        f"WITH DISTINCT {variables[clause.free]}",
    ]
