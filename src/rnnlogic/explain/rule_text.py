"""Rules as lines for people: by relation, what speaks for it first, rules that say the same together."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.listing import RuleInfo
from rnnlogic.explain.names import numbered, printable
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Rule, format_rule
from rnnlogic.rules.ruleset import RuleSet
from rnnlogic.statistics.pairs import alike_rules

NO_BREAK = "\N{NO-BREAK SPACE}"
SAME = "the same in other words:"
AGAINST = "what speaks against:"
LEGEND = "A rule decides a first place if it adds most to the best answer of a validation query."


def same_rules(rules: Sequence[RuleInfo], graph: Graph, vocab: Vocab) -> dict[str, str]:
    """Text of each rule that says the same as an earlier one of the same sign, with the text of that one."""
    found: dict[str, str] = {}
    for is_against in (False, True):
        texts = [rule.text for rule in rules if (rule.weight < 0) == is_against]
        first = alike_rules(graph, RuleSet.from_rules(parse_rule(text, vocab) for text in texts))
        found |= {text: texts[i] for text, i in zip(texts, first, strict=True) if text != texts[i]}
    return found


def rule_lines(
    rules: Sequence[RuleInfo],
    same: Mapping[str, str],
    totals: Mapping[str, int],
    vocab: Vocab,
    width: int,
) -> Iterator[str]:
    """All rules, relation by relation; `totals` tells how many rules each relation has.

    Every rule has a line of its own, and its figures below it. Lines break between words only.
    """
    names = dict.fromkeys(rule.relation for rule in rules)
    for number, name in enumerate(names):
        own = [rule for rule in rules if rule.relation == name]
        shown = vocab.relation_label(vocab.relation_id(name))
        yield from ["", ""][: number > 0]
        yield from _wrap(f"{printable(shown)}: {_extent(len(own), totals[name])}", width)
        for is_against in (False, True):
            half = [rule for rule in own if (rule.weight < 0) == is_against]
            if half and is_against:
                yield from ["", f"  {AGAINST}"]
            for rule in half:
                if rule.text not in same:
                    alike = [other for other in half if same.get(other.text) == rule.text]
                    yield from _group(rule, alike, vocab, width)
    if any(rule.decided for rule in rules):
        yield ""
        yield from _wrap(LEGEND, width)


def figures_words(rule: RuleInfo) -> list[str]:
    """The figures of a rule in words: on the training facts, then what it decided on validation facts.

    Named evidence joins no pairs, so it has only a weight and a lift.
    """
    about = "" if rule.share == 1 else "about "
    words = [f"weight {rule.weight:.3g}"]
    if not rule.text.endswith("]"):
        words[0] += (
            f", confidence {about}{rule.confidence:.2f} ({about}{rule.support:,} of"
            f" {numbered(rule.predictions, 'pair')}){_lift(rule)}, PCA {about}{rule.pca_confidence:.2f},"
            f" coverage {about}{rule.head_coverage:.2f}"
        )
    else:
        words[0] += _lift(rule)
    if rule.decided:
        words.append(f"right in {rule.right:,} of {numbered(rule.decided, 'first place')} it decided")
    return words


def _lift(rule: RuleInfo) -> str:
    return "" if rule.lift is None else f", lift {rule.lift:.1f}"


def _extent(shown: int, total: int) -> str:
    return numbered(total, "rule") if shown == total else f"{shown:,} of {numbered(total, 'rule')}"


def _group(rule: RuleInfo, alike: Sequence[RuleInfo], vocab: Vocab, width: int) -> Iterator[str]:
    yield from _one(rule, vocab, width, "  ")
    if alike:
        yield f"    {SAME}"
    for other in alike:
        yield from _one(other, vocab, width, "      ")


def _one(rule: RuleInfo, vocab: Vocab, width: int, indent: str) -> Iterator[str]:
    chain: Rule = parse_rule(rule.text, vocab)
    shown, room = printable(format_rule(chain, vocab, labels=True)), width - len(indent) - len("       &")
    yield from (
        line.replace(NO_BREAK, " ") for line in _wrap(_whole_atoms(shown, room), width, indent, "      ")
    )
    room = width - len(indent) - len("  ,")
    for words in figures_words(rule):
        parts = [part.replace(" ", NO_BREAK) if len(part) <= room else part for part in words.split(", ")]
        yield from (line.replace(NO_BREAK, " ") for line in _wrap(", ".join(parts), width, indent + "  "))


def _whole_atoms(rule: str, room: int) -> str:
    """A rule that breaks between its atoms, though labels hold blanks; one too long for a line may break."""
    head, arrow, body = rule.partition(" <- ")
    atoms = [
        atom.replace(" ", NO_BREAK) if len(atom) <= room else atom for atom in (head, *body.split(" & "))
    ]
    return atoms[0] + arrow + " & ".join(atoms[1:])


def _wrap(text: str, width: int, indent: str = "", more: str = "") -> list[str]:
    """Lines that break between words only; a word that is longer than a line keeps one for itself."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
    )
