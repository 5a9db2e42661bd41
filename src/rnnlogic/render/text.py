"""Explanations for a terminal: one screen, or everything. Names get shorter until lines fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from rnnlogic.base.text import printable
from rnnlogic.calibrate.level import shown
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import comes_back
from rnnlogic.explain.reasons import Contribution, Idea, total
from rnnlogic.explain.sentences import (
    entity_words,
    fact_sentence,
    numbered,
    relation_words,
    rule_sentence,
    shortened,
    typed_words,
    walk_words,
    wrapped,
)
from rnnlogic.explain.summary import (
    ALONE,
    HIDDEN,
    SEE_ALL,
    ReasonTold,
    Summary,
    claim,
    reason_line,
    summary_of,
    verdict,
)
from rnnlogic.features.chains.paths import Path
from rnnlogic.rules.rule import format_rule

if TYPE_CHECKING:
    from rnnlogic.explain.explanation import Comparison, Explanation

NAME_LENGTHS = (40, 30, 24, 20, 17, 14, 12, 10, 8)  # names of a path get so short to fit
TYPED_LENGTH = 17  # where they would have to be shorter, their types are left out
AGAINST = 3  # what speaks against, after three ideas that speak for the answer
# The places that rules get on a screen, one after the other while there is room, by the idea they belong to.
PLACES = (0, 1, 2, 0, AGAINST, 1, 2)
LEFT_OUT = "Each number: the score minus the score without it; they need not sum to it."
FACTS = 4  # of those that it depends on
NAMES = (40, 30, 24, 20, 16, 12)  # columns of a name, as many as fit
SENTENCE_NAMES = NAMES[:5]  # of a name in a sentence that is no reason


class Story(NamedTuple):
    """What is told around and about ideas."""

    top: list[str]
    headings: tuple[str, str]  # for, against
    ideas: Sequence[Idea]
    bottom: list[str]
    vocab: Vocab

    def halves(self) -> tuple[list[Idea], list[Idea]]:
        """Ideas for and ideas against."""
        is_against = [idea.contribution < 0 for idea in self.ideas]
        pairs = list(zip(self.ideas, is_against, strict=True))
        return [idea for idea, against in pairs if not against], [idea for idea, against in pairs if against]


def explanation(told: Explanation, everything: bool, width: int, height: int) -> list[str]:
    """The lines of an explanation."""
    if not everything:
        return _explanation_screen(told, width, height)
    top, bottom = list(_verdict(told, width)), list(_dependence(told, True, width))
    return _all(Story(top, ("For it", "Against it"), told.ideas, bottom, told.vocab))


def comparison(told: Comparison, everything: bool, width: int, height: int) -> list[str]:
    """The lines of a comparison."""
    names = [printable(entity_words(e.tail, told.vocab)) for e in (told.answer, told.instead)]
    names = names if everything else [shortened(name, NAME_LENGTHS[0]) for name in names]
    top = [*_title(told.answer, everything, width), *wrapped(f"or {names[1]} instead?", width, "  ")]
    for name, one in zip(names, (told.answer, told.instead), strict=True):
        top += wrapped(f"{name}: {_figures(one, brief=True)}", width, "  ", "    ")
    if told.answer.is_known or told.instead.is_known:
        top += wrapped("Facts that are in the graph were hidden to compare them.", width, "  ")
    if told.answer.kind == "leave-one-out":
        top.append(f"  {LEFT_OUT}")
    headings = f"For {names[0]}", f"For {names[1]}"
    story = Story(top, headings, told.ideas, [], told.vocab)
    return _all(story) if everything else _screen(story, width, height)


def _title(told: Explanation, everything: bool, width: int) -> list[str]:
    vocab = told.vocab
    if everything:
        relation = vocab.relation_label(told.relation)
        head, tail = vocab.described(told.head), vocab.described(told.tail)
        return [printable(f"{relation}({head}, {tail})")]
    relation = relation_words(told.relation, vocab) + ("^-1" if told.relation >= vocab.num_relations else "")
    most = max((width - cell_len(relation) - 4) // 2, 10)
    ends = ", ".join(typed_words(end, vocab, most) for end in (told.head, told.tail))
    return wrapped(f"{shortened(printable(relation), width // 2)}({ends})", width)


def _verdict(told: Explanation, width: int) -> Iterator[str]:
    yield from _title(told, True, width)
    if told.is_known:
        yield from wrapped(HIDDEN, width, "  ")
    yield from wrapped(_figures(told), width, "  ")
    yield f"  rank {told.raw_rank.text()} with other known answers"
    if math.isfinite(told.score):
        yield f"  {_reach(told)}"
        if told.kind == "leave-one-out":
            yield f"  {LEFT_OUT}"
        yield ""
        yield from _because(told, len(told.reasons), width)


def _figures(told: Explanation, brief: bool = False) -> str:
    sure = "" if told.probability is None else f"probability {shown(told.probability)}, "
    start = f"{sure}rank {told.filtered_rank.text()}"
    if not math.isfinite(told.score):
        return f"{start}: no rule reaches it"
    is_bare = told.probability is None and not brief
    share = f", probability not calibrated (softmax {told.share:.4f})" if is_bare else ""
    return f"{start}, score {told.score:.4f}{share}"


def _reach(told: Explanation) -> str:
    against = sum(rule.contribution < 0 for rule in told.contributions)
    number = len(told.contributions)
    sides = f": {number - against:,} for it, {against:,} against it" if against else ""
    return f"{numbered(number, 'rule reaches it', 'rules reach it')}{sides}"


def _screen(story: Story, width: int, height: int) -> list[str]:
    """As many rules as fit, and empty lines if there is room for them."""
    for path_lines in (2, 1):
        numbers = [0] * (AGAINST + 1)
        blocks = _blocks(story, numbers, path_lines, width)
        for place in PLACES:
            more = [*numbers[:place], numbers[place] + 1, *numbers[place + 1 :]]
            tried = _blocks(story, more, path_lines, width)
            if sum(map(len, tried)) <= height:
                numbers, blocks = more, tried
        if any(numbers):
            break
    return _joined(blocks, height)


def _joined(blocks: Sequence[Sequence[str]], height: int) -> list[str]:
    """The lines of blocks, with empty lines between them if there is room, or as many as fit."""
    lines = [line for block in blocks for line in block]
    if len(lines) > height:
        return [*lines[: height - 1], "... --all shows everything."]
    airy = [line for block in blocks for line in ("", *block)][1:]
    return airy if len(airy) <= height else lines


def _blocks(story: Story, numbers: list[int], path_lines: int, width: int) -> list[list[str]]:
    """The verdict, both halves and the rest, with so many rules of each idea."""
    halves = list(_halves(story, numbers, path_lines, width))
    return [block for block in (story.top, *halves, [*story.bottom, *_more(story, numbers)]) if block]


def _halves(story: Story, numbers: list[int], path_lines: int, width: int) -> Iterator[list[str]]:
    """What speaks for the answer, then what speaks against it."""
    limits = numbers[:AGAINST], numbers[AGAINST:]
    for heading, half, limit in zip(story.headings, story.halves(), limits, strict=True):
        lines = wrapped(f"{heading} ({_sum(half):+.4g})", width) if half else []
        for idea, number in zip(half, limit, strict=False):
            lines += _fitted(f"{printable(idea.sentence)}.", width, f"{_percent(idea):>4}  ", 1)
            for group in idea.groups[:number]:
                lines += _group(group, story.vocab, path_lines, width)
        yield lines


def _group(group: tuple[Contribution, ...], vocab: Vocab, path_lines: int, width: int) -> Iterator[str]:
    """Rules that are alike: the strongest in words, and one path."""
    alike = f"; {numbered(len(group) - 1, 'more rule')} alike" if len(group) > 1 else ""
    words = printable(rule_sentence(group[0].chain, vocab)) + alike
    yield from _fitted(words, width, f"      {total(group):+.4f}  ", 2)
    for path in group[0].paths[:1]:
        yield from _short_path(path, vocab, path_lines, width)


def _short_path(path: Path, vocab: Vocab, most_lines: int, width: int) -> list[str]:
    """A path on few lines; names are shortened as far as that needs."""
    typed = [(length, True) for length in NAME_LENGTHS if length >= TYPED_LENGTH and vocab.types is not None]
    tries = (
        wrapped(_path(path, vocab, length, with_types), width, " " * 8)
        for length, with_types in (*typed, *((length, False) for length in NAME_LENGTHS))
    )
    return _fewest(tries, most_lines)


def _path(path: Path, vocab: Vocab, length: int, with_types: bool) -> str:
    """A path with short names; the ends have their types in the title."""
    ends = {path.entities[0], path.entities[-1]}

    def name(entity: int) -> str:
        if with_types and entity not in ends:
            return typed_words(entity, vocab, length)
        return shortened(printable(entity_words(entity, vocab)), length)

    relations = [
        (
            shortened(printable(relation_words(relation, vocab)), length)
            + vocab.told_of(head, relation, tail),
            relation >= vocab.num_relations,
        )
        for head, relation, tail in zip(path.entities, path.relations, path.entities[1:], strict=False)
    ]
    again = comes_back(path)
    mark = "" if again is None else f" (comes back to {name(again)})"
    return " ".join(walk_words([*map(name, path.entities)], relations)) + mark


def _more(story: Story, numbers: list[int]) -> Iterator[str]:
    """What the screen leaves out."""
    seen = [
        sum(map(len, idea.groups[:number]))
        for half, limit in zip(story.halves(), (numbers[:AGAINST], numbers[AGAINST:]), strict=True)
        for idea, number in zip(half, limit, strict=False)
    ]
    ideas, left = len(story.ideas) - len(seen), sum(len(idea.rules) for idea in story.ideas) - sum(seen)
    if left:
        others = f"{numbered(ideas, 'more idea')} and " if ideas else ""
        yield f"{others}{numbered(left, 'more rule')}; --all shows everything."


def _all(story: Story) -> list[str]:
    """Every idea with every rule and every path that was looked up; long lines stay whole."""
    lines = list(story.top)
    for heading, half in zip(story.headings, story.halves(), strict=True):
        if half:
            lines += ["", f"{heading} ({_sum(half):+.4f})"]
        for idea in half:
            lines += ["", f"{idea.contribution:+9.4f}  {printable(idea.sentence)} ({_percent(idea)})"]
            for group in idea.groups:
                lines += _rules(group, story.vocab)
    return lines + ([""] if story.bottom else []) + story.bottom


def _rules(group: tuple[Contribution, ...], vocab: Vocab) -> Iterator[str]:
    for place, rule in enumerate(group):
        yield f"  {rule.contribution:+9.4f}  {printable(format_rule(rule.chain, vocab, labels=True))}"
        yield f"             {rule.numbers}{', alike' if place else ''}"
        yield from (f"               {printable(line)}" for line in rule.because)
        for path in rule.paths:
            again = "" if comes_back(path) is None else " (comes back to where it was)"
            yield f"               {printable(path.text(vocab))}{again}"
        if isinstance(rule.count, int) and len(rule.paths) < rule.count and rule.paths:
            yield f"               ... {rule.count - len(rule.paths):,} more"


def _sum(ideas: Iterable[Idea]) -> float:
    return math.fsum(idea.contribution for idea in ideas)


def _percent(idea: Idea) -> str:
    return f"{idea.share:.0%}" if abs(idea.share) < 10 else ">999%" if idea.share > 0 else "<-999%"


def _explanation_screen(told: Explanation, width: int, height: int) -> list[str]:
    """As many reasons as fit, and empty lines if there is room for them."""
    for number in (*range(len(told.reasons), 1, -1), 1):
        blocks = _explanation_blocks(told, number, width)
        if sum(map(len, blocks)) <= height:
            break
    return _joined(blocks, height)


def _because(told: Explanation, number: int, width: int) -> list[str]:
    """The reasons, so many of them, and what speaks against the answer."""
    whole = summary_of(told, number)
    tries = [summary_of(told, number, length) for length in NAMES]
    lines = list[str]()
    for place in range(len(whole.reasons)):
        lines += _reason_lines([one.reasons[place] for one in tries], width)
    if not whole.reasons:
        strongest = [idea.sentence for idea in told.ideas if idea.contribution > 0][:1]
        lines += _fitted(printable((strongest or ["nothing"])[0]), width, _lead("because"), 2)
    return [*lines, *_remarks(whole, width)]


def _violation(told: Explanation, width: int) -> list[str]:
    """The constraint that an answer breaks, which is why it is left out of answers."""
    return _fitted(printable(told.broken), width, _lead("against"), 3) if told.broken else []


def _reason_lines(tries: list[ReasonTold], width: int) -> Iterator[str]:
    """A reason in words with its record, then the rule; of a rule with constants, the fact behind it too."""
    told = tries[0]
    yield from _fewest((wrapped(reason_line(one), width, _lead(one.lead)) for one in tries), 2)
    if told.facts:
        yield from _fewest((wrapped("; ".join(one.facts), width, _lead("  fact")) for one in tries), 1)
    yield from _fitted(told.rule, width, _lead("  rule"), 2)
    alone = f". {ALONE}" if told.is_enough and told.lead == "because" else ""
    yield from wrapped(f"{told.about}{alone}", width, _lead(""))


def _dependence(told: Explanation, everything: bool, width: int) -> Iterator[str]:
    """The facts without which it is no longer first."""
    found = told.hangs_on
    if found is None:
        return
    yield from wrapped(found.text(), width)
    facts = found.facts if everything else found.facts[:FACTS]
    words = [fact_line(*fact, told.vocab, None if everything else NAMES[2]) for fact in facts]
    more = len(found.facts) - len(facts)
    if words:
        yield from wrapped("; ".join(words) + (f"; and {more} more" if more else ""), width, "  ")


def _remarks(whole: Summary, width: int) -> Iterator[str]:
    """What speaks against it, and the base rate."""
    for place, text in enumerate(whole.against or ("nothing",)):
        yield from _fitted(text, width, _lead("" if place else "against"), 3)
    if whole.base_rate:
        yield from _fitted(whole.base_rate, width, _lead("base rate"), 1)


def _explanation_blocks(told: Explanation, number: int, width: int) -> list[list[str]]:
    top = _top(told, width)
    if told.is_known:
        top += wrapped(HIDDEN, width, "  ")
    if not math.isfinite(told.score):
        return [[*top, *_violation(told, width)]]
    top += [f"  {LEFT_OUT}"] if told.kind == "leave-one-out" else []
    more = summary_of(told, number).rest
    bottom = [*_dependence(told, False, width), *(wrapped(more + SEE_ALL, width) if more else [])]
    return [block for block in (top, _because(told, number, width), bottom) if block]


def _top(told: Explanation, width: int) -> list[str]:
    """The claim, and the verdict at the right of it, or below where there is no room."""
    left, right = claim(told), verdict(told)
    if cell_len(left) + 2 + cell_len(right) <= width:
        return [left + " " * (width - cell_len(left) - cell_len(right)) + right]
    lines = _fewest((wrapped(claim(told, most), width) for most in NAMES), 1)
    return [*lines, *wrapped(right, width, "  ")]


def _lead(word: str) -> str:
    return word.ljust(10)  # columns of "because" and the like


def _fitted(text: str, width: int, first: str, most_lines: int) -> list[str]:
    """A sentence on few lines if shorter names make that possible."""
    return _fewest(
        (
            wrapped(" ".join(shortened(word, length) for word in text.split()), width, first)
            for length in SENTENCE_NAMES
        ),
        most_lines,
    )


def _fewest(tries: Iterable[list[str]], most_lines: int) -> list[str]:
    """The first with at most so many lines; if there is none, the first of those with fewest."""
    found: list[list[str]] = []
    for lines in tries:
        if len(lines) <= most_lines:
            return lines
        found.append(lines)
    return min(found, key=len)


def fact_line(head: int, relation: int, tail: int, vocab: Vocab, length: int | None) -> str:
    """A fact in words, in the direction of the graph, its names in at most so many columns."""
    ends = [printable(entity_words(entity, vocab)) for entity in (head, tail)]
    if length is not None:
        ends = [shortened(end, length) for end in ends]
    return printable(fact_sentence(ends[0], relation, ends[1], vocab) + vocab.told_of(head, relation, tail))
