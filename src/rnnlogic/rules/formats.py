"""Rule files: our readable text, and the id files that the authors of RNNLogic released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from rnnlogic.atomic import write_atomically
from rnnlogic.data.vocab import Vocab
from rnnlogic.errors import RuleError, UnknownNameError
from rnnlogic.rules.rule import Rule, format_rule
from rnnlogic.rules.ruleset import RuleSet, parse_lines

RuleFormat = Literal["text", "ids"]
_OLD_INVERSE = "!"  # marks inverse relations in the authors' relations.dict


@dataclass(frozen=True)
class ImportReport:
    """What a rule file held; a rule that repeats an empty one counts under both."""

    read: int  # rules in the file
    kept: int
    duplicates: int  # repeat an earlier rule
    empty: int = 0  # have no body
    trivial: int = 0  # say r <- r

    def lines(self) -> list[str]:
        """For people: what was read, dropped and kept."""
        dropped = {
            "repeat an earlier rule": self.duplicates,
            "have an empty body": self.empty,
            "say r <- r": self.trivial,
        }
        return [
            f"{self.read:,} rules read",
            *(f"  {count:,} {what}: dropped" for what, count in dropped.items() if count),
            f"{self.kept:,} rules kept",
        ]


class RuleImport(NamedTuple):
    """Rules of a file, and what was dropped on the way."""

    rules: RuleSet
    report: ImportReport


def read_rules(path: str | Path, vocab: Vocab, format: RuleFormat | None = None) -> RuleImport:  # noqa: A002
    """Read a file of rules as text, or of ids beside its `<stem>.relations.dict`; the first line tells.

    Of repeated rules the first stays. Text may hold empty and trivial rules; those of id files are dropped.
    """
    path = Path(path)
    lines = _read_lines(path)
    if format == "ids" or (format is None and _holds_ids(lines)):
        return read_id_rules(path, _dictionary_beside(path), vocab)
    rules = list(parse_lines(lines, vocab, path))
    distinct = RuleSet.from_rules(rules)
    return RuleImport(distinct, ImportReport(len(rules), len(distinct), len(rules) - len(distinct)))


def write_rules(
    path: str | Path, rules: Iterable[Rule], vocab: Vocab, style: Literal["long", "short"] = "long"
) -> None:
    """Write one rule per line as text; the file appears whole or not at all."""
    text = "".join(format_rule(rule, vocab, style) + "\n" for rule in rules)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise RuleError(f"{path}: cannot be written ({error.strerror})") from None


def read_id_rules(path: str | Path, relations_dict: str | Path, vocab: Vocab) -> RuleImport:
    """Read lines of head id and body ids; names in `relations_dict` say what the ids mean.

    Empty bodies, r <- r and repeated rules are dropped and counted. With R names in the dictionary, none of
    them an inverse, the inverse of id i is i + R.
    """
    path = Path(path)
    relation_of_id = _read_relations_dict(Path(relations_dict), vocab)
    rules = []
    for number, line in enumerate(_read_lines(path), start=1):
        if line.strip():
            head, *body = _translate(line.split(), relation_of_id, f"{path}:{number}")
            rules.append(Rule(head, tuple(body)))
    distinct = dict.fromkeys(rules)
    kept = RuleSet.from_rules(rule for rule in distinct if rule.body and not rule.is_trivial)
    report = ImportReport(
        read=len(rules),
        kept=len(kept),
        duplicates=len(rules) - len(distinct),
        empty=sum(not rule.body for rule in rules),
        trivial=sum(rule.is_trivial for rule in rules),
    )
    return RuleImport(kept, report)


def _dictionary_beside(path: Path) -> Path:
    dictionary = path.with_suffix(".relations.dict")
    if not dictionary.exists():
        raise RuleError(
            f"{path}: rules of relation ids need lines 'id<TAB>name' in {dictionary.name} beside it"
        )
    return dictionary


def _translate(words: list[str], relation_of_id: list[int], place: str) -> list[int]:
    try:
        ids = [int(word) for word in words]
    except ValueError:
        odd = next(word for word in words if not _is_integer(word))
        raise RuleError(f"{place}: expected relation ids separated by blanks, found {odd!r}") from None
    for i in ids:
        if not 0 <= i < len(relation_of_id):
            raise RuleError(f"{place}: relation id {i} is not in 0..{len(relation_of_id) - 1}")
    return [relation_of_id[i] for i in ids]


def _read_relations_dict(path: Path, vocab: Vocab) -> list[int]:
    """Our relation for each id of an `id<TAB>name` file; inverses follow if it lists none."""
    relations: list[int] = []
    for number, line in enumerate(_read_lines(path), start=1):
        if not line.strip():
            continue
        number_text, tab, name = line.partition("\t")
        if not tab or number_text != str(len(relations)):
            raise RuleError(f"{path}:{number}: expected '{len(relations)}<TAB>relation name', found {line!r}")
        relations.append(_relation_by_name(name, vocab, f"{path}:{number}"))
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


def _holds_ids(lines: list[str]) -> bool:
    first = next((line.split() for line in lines if line.strip()), [])
    return bool(first) and all(_is_integer(word) for word in first)


def _is_integer(word: str) -> bool:
    return word.removeprefix("-").isdecimal()


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise RuleError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise RuleError(f"{path}:{number}: not UTF-8 text; save the file in that encoding") from None
