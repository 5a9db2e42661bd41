"""The id files that the authors of RNNLogic released: lines of relation ids, the head first.

Lines `id<TAB>name` in `<stem>.relations.dict` beside the rules say what the ids mean; inverses are `!name`.
"""

from __future__ import annotations

from pathlib import Path

from rnnlogic.base.errors import RuleError, UnknownNameError
from rnnlogic.data.vocab import Vocab
from rnnlogic.rules.formats.lines import (
    ImportReport,
    TableImport,
    check_names,
    numbered,
    read_lines,
    write_text,
)
from rnnlogic.rules.rule import Chain, is_trivial, relations_of
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.rules.table import RuleTable

_OLD_INVERSE = "!"


def read_id_rules(path: Path, vocab: Vocab) -> TableImport:
    """Read lines of head id and body ids, and the dictionary beside the file.

    Rules with an empty body, r <- r and repeats are dropped and counted. If the dictionary has R names and no
    inverses, the inverse of id i is i + R.
    """
    relation_of_id = _read_relations_dict(_dictionary_beside(path), vocab)
    rules = []
    for place, line in numbered(read_lines(path), path):
        head, *body = _translate(line.split(), relation_of_id, place)
        rules.append(Chain(head, tuple(body)))
    distinct = dict.fromkeys(rules)
    kept = RuleSet.from_rules(rule for rule in distinct if rule.body and not is_trivial(rule))
    report = ImportReport(
        read=len(rules),
        kept=len(kept),
        duplicates=len(rules) - len(distinct),
        empty=sum(not rule.body for rule in rules),
        trivial=sum(map(is_trivial, rules)),
    )
    return TableImport(RuleTable(kept), report)


def write_id_rules(path: str | Path, table: RuleTable, vocab: Vocab) -> None:
    """Write lines of ids, and the dictionary beside the file."""
    check_names(vocab.relations, "id")
    if not table.rules.are_chains.all():
        raise RuleError(f"{path}: id files hold chains only; write text or JSON Lines instead")
    names = [*vocab.relations]
    if not any(name.startswith(_OLD_INVERSE) for name in names):
        names += [_OLD_INVERSE + name for name in vocab.relations]
    dictionary = "".join(f"{i}\t{name}\n" for i, name in enumerate(names))
    lines = "".join(" ".join(map(str, (rule.head, *relations_of(rule)))) + "\n" for rule in table.rules)
    write_text(dictionary_of(Path(path)), dictionary)
    write_text(path, lines)


def dictionary_of(path: Path) -> Path:
    """The dictionary that belongs to an id file."""
    return path.with_suffix(".relations.dict")


def holds_ids(line: str) -> bool:
    """Whether a line looks like a rule of ids."""
    return all(_is_integer(word) for word in line.split())


def _dictionary_beside(path: Path) -> Path:
    dictionary = dictionary_of(path)
    if path.exists() and not dictionary.exists():
        raise RuleError(
            f"{path}: a file of relation ids needs {dictionary.name} beside it, with lines 'id<TAB>name'"
        )
    return dictionary


def _translate(words: list[str], relation_of_id: list[int], place: str) -> list[int]:
    try:
        ids = [int(word) for word in words]
    except ValueError:
        odd = next((word for word in words if not _is_integer(word)), max(words, key=len)[:20])
        raise RuleError(f"{place}: expected relation ids separated by spaces, found {odd!r}") from None
    for i in ids:
        if not 0 <= i < len(relation_of_id):
            raise RuleError(f"{place}: relation id {i} is not in 0..{len(relation_of_id) - 1}")
    return [relation_of_id[i] for i in ids]


def _read_relations_dict(path: Path, vocab: Vocab) -> list[int]:
    """Our relation for each id of an `id<TAB>name` file; if it lists no inverses, they are appended."""
    relations: list[int] = []
    for place, line in numbered(read_lines(path), path):
        number_text, tab, name = line.partition("\t")
        if not tab or number_text != str(len(relations)):
            raise RuleError(f"{place}: expected '{len(relations)}<TAB>relation name', found {line!r}")
        relations.append(_relation_by_name(name, vocab, place))
    if all(relation < vocab.num_relations for relation in relations):
        relations += [vocab.inverse(relation) for relation in relations]
    return relations


def _relation_by_name(name: str, vocab: Vocab, place: str) -> int:
    if name.startswith(_OLD_INVERSE) and name not in vocab.relations:
        return vocab.inverse(_relation_by_name(name.removeprefix(_OLD_INVERSE), vocab, place))
    try:
        return vocab.relation_id(name)
    except UnknownNameError as error:
        raise RuleError(f"{place}: {error}") from None


def _is_integer(word: str) -> bool:
    return word.removeprefix("-").isdecimal()
