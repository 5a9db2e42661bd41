"""Rules as programs for other engines: one request each, and the facts that it needs."""

from __future__ import annotations

from collections.abc import Callable

from rnnlogic.base.types import PathKind
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.programs.cypher import cypher, cypher_facts
from rnnlogic.rules.programs.logic import datalog, datalog_facts, prolog, prolog_facts
from rnnlogic.rules.programs.sparql import (
    shacl,
    sparql_construct,
    sparql_facts,
    sparql_insert,
    sparql_ranking,
    sparql_select,
)
from rnnlogic.rules.programs.sql import sql, sql_facts, sql_ranking
from rnnlogic.rules.table import RuleTable

PROGRAMS: dict[str, Callable[[RuleTable, Vocab, PathKind], str]] = {
    "prolog": prolog,
    "datalog": datalog,
    "sparql": sparql_select,
    "sparql-construct": sparql_construct,
    "sparql-insert": sparql_insert,
    "shacl": shacl,
    "cypher": cypher,
    "sql": sql,
}
RANKINGS: dict[str, Callable[..., str]] = {"sparql-ranking": sparql_ranking, "sql-ranking": sql_ranking}
FACTS: dict[str, Callable[..., str]] = {
    "prolog": prolog_facts,
    "datalog": datalog_facts,
    "sparql": sparql_facts,
    "shacl": sparql_facts,
    "cypher": cypher_facts,
    "sql": sql_facts,
}


def facts_for(language: str) -> Callable[..., str]:
    """The writer of facts, names and values for a program; `sparql-insert` uses that of `sparql`."""
    return FACTS[language.split("-")[0]]
