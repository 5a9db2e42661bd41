"""Engines that run exported programs: text of a program and of facts in, predicted facts with walks out."""

import re
from urllib.parse import unquote

import clingo
import duckdb
import ladybug
import pyoxigraph

from rnnlogic.rules.programs.cypher import cypher_name


def run_sql(program, facts, vocab):
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(facts)
    return {tuple(row[:4]): row[4] for row in connection.execute(program).fetchall()}


def run_clingo(program, facts, vocab):
    control = clingo.Control()
    control.add("base", [], facts + program)
    control.ground([("base", [])])
    found = {}
    with control.solve(yield_=True) as models:
        for model in models:
            for symbol in model.symbols(shown=True):
                rule, head, relation, tail, walks = symbol.arguments
                found[rule.number, head.string, relation.string, tail.string] = walks.number
    return found


def rdf_store(facts):
    store = pyoxigraph.Store()
    store.load(facts.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def name_of(node):
    """The name behind an IRI that we made."""
    return unquote(node.value.removeprefix("urn:rnnlogic:"))


def run_sparql(program, facts, vocab):
    return {
        (
            int(row["rule"].value),
            *(name_of(row[part]) for part in ("head", "relation", "tail")),
        ): int(row["walks"].value)
        for row in rdf_store(facts).query(program)
    }


def run_cypher(program, facts, vocab):
    connection = ladybug.Connection(ladybug.Database(":memory:"), num_threads=1)
    own = "".join(f"{cypher_name(one.name)} DOUBLE, " for one in vocab.attributes)
    connection.execute(f"CREATE NODE TABLE Entity(name STRING, {own}PRIMARY KEY(name))")
    for relation in vocab.relations:
        connection.execute(f"CREATE REL TABLE {cypher_name(relation)}(FROM Entity TO Entity)")
    connection.execute(facts)
    result = connection.execute(program)
    found = {}
    while result.has_next():
        *key, walks = result.get_next()
        found[tuple(key)] = walks
    return found


TERM = re.compile(r"'(?>\\x[0-9a-f]+\\|\\.|[^'\\])*+'|\w+|\\==")
UNESCAPED = {"n": "\n", "t": "\t", "\\": "\\", "'": "'"}


def unquoted(atom):
    """The name of a Prolog atom."""
    if not atom.startswith("'"):
        return atom
    return re.sub(
        r"\\(x([0-9a-f]+)\\|.)",
        lambda match: chr(int(match[2], 16)) if match[2] else UNESCAPED[match[1]],
        atom[1:-1],
    )


def run_prolog(program, facts, vocab):
    """A Prolog for clauses of facts: tries fact after fact, and counts the solutions."""
    known = [tuple(terms_of(line)[1:]) for line in facts.split("\n")[:-1]]
    found = {}
    for line in program.split("\n"):
        if line.startswith("rule("):
            _, number, *terms = terms_of(line)
            answer, body = terms[:3], terms[3:]
            end = body.index("\\==") - 1 if "\\==" in body else len(body)
            goals = [body[i + 1 : i + 4] for i in range(0, end, 4)]
            unequal = [(body[i], body[i + 2]) for i in range(end, len(body), 3)]
            for solution in solutions(goals, known, {}):
                if any(solution[a] == solution[b] for a, b in unequal):
                    continue
                key = (int(number), *(unquoted(solution.get(term, term)) for term in answer))
                found[key] = found.get(key, 0) + 1
    return found


def terms_of(text):
    return [match[0] for match in TERM.finditer(text)]


def solutions(goals, facts, bound):
    """Every way to make the goals true, as the variables' values."""
    if not goals:
        yield bound
        return
    for fact in facts:
        values = dict(bound)
        if all(
            values.setdefault(t, v) == v if t[0].isupper() else t == v
            for t, v in zip(goals[0], fact, strict=True)
        ):
            yield from solutions(goals[1:], facts, values)
