"""Explanations, answers and rules as HTML: a fragment for notebooks, a page that needs nothing else.

All names come from data, so every one is escaped and stands in its own direction of writing (`bdi`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from rnnlogic.base.text import printable
from rnnlogic.calibrate.level import shown
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.question import comes_back
from rnnlogic.explain.reasons import Contribution, Idea, Reason
from rnnlogic.explain.sentences import entity_words, numbered, relation_words, typed_words
from rnnlogic.explain.summary import ALONE, HIDDEN, ReasonTold, claim, reason_line
from rnnlogic.features.chains.paths import Path
from rnnlogic.render.svg import AGAINST, COLOURS, Strand, picture
from rnnlogic.render.text import fact_line
from rnnlogic.rules.rule import Rule, format_rule

if TYPE_CHECKING:
    from rnnlogic.explain.explanation import Comparison, Explanation

IDEAS, COUNTER_IDEAS, RULES = 3, 1, 2  # in the picture
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
NO_MARKS: Mapping[Rule, str] = {}
LISTED = 20  # rules of an idea that are listed
# Notebooks have colours of their own, pages follow the reader's choice of light or dark.
STYLE = """
.rnnlogic{--paper:var(--jp-layout-color0,var(--vscode-editor-background,Canvas));
--ink:var(--jp-ui-font-color1,var(--vscode-editor-foreground,CanvasText));
color:var(--ink);background:var(--paper);font:14px/1.45 system-ui,sans-serif;max-width:72rem}
.rnnlogic h1{font-size:1.3em;margin:.2em 0}.rnnlogic h2{font-size:1.05em;margin:1em 0 .3em}
.rnnlogic p{margin:.25em 0}.rnnlogic .figures{opacity:.8}
.rnnlogic .scroll{overflow-x:auto;margin:.8em 0}
.rnnlogic svg{max-width:max(100%,48rem);height:auto;display:block}
.rnnlogic svg text{font:12px system-ui,sans-serif}
.rnnlogic svg rect{fill:var(--paper);stroke:currentColor;stroke-opacity:.35}
.rnnlogic svg .end rect{stroke-opacity:1;stroke-width:1.6}
.rnnlogic svg g text{fill:currentColor}.rnnlogic svg .end text{font-weight:600}
.rnnlogic svg .step{font-size:11px;stroke:var(--paper);stroke-width:4px;paint-order:stroke;
stroke-linejoin:round}
.rnnlogic details{margin:.3em 0;border-left:4px solid var(--shade,#888);padding-left:.7em}
.rnnlogic summary{cursor:pointer}.rnnlogic .share{display:inline-block;min-width:3.2em;font-weight:600}
.rnnlogic .value{display:inline-block;min-width:4.6em;margin-right:.4em;text-indent:0;
font-variant-numeric:tabular-nums}
.rnnlogic .path{text-indent:0;opacity:.85;overflow-wrap:anywhere}
.rnnlogic .arrow{opacity:.75;font-size:.92em}
.rnnlogic li{margin:.2em 0}.rnnlogic details li{padding-left:5em;text-indent:-5em}
.rnnlogic ul{list-style:none;padding:0;margin:.3em 0}
.rnnlogic table{border-collapse:collapse}.rnnlogic th,.rnnlogic td{padding:.15em .8em .15em 0;text-align:left}
.rnnlogic td.number,.rnnlogic th.number{text-align:right;font-variant-numeric:tabular-nums}
"""


def page(title: str, body: str) -> str:
    """A whole page around a fragment; it may load nothing from anywhere."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(printable(title))}</title>"
        "<style>:root{color-scheme:light dark}body{margin:1.5rem}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def explanation(told: Explanation) -> str:
    """The fragment of an explanation."""
    vocab = told.vocab
    parts = [
        f"<h1>{bdi(claim(told))}</h1>",
        f'<p class="figures">{_figures(told)}</p>',
        _notes(told),
        *_because(told),
        reasons_picture(told.reasons, vocab),
        _dependence(told),
        *_halves(told.ideas, ("All for it", "All against it"), vocab),
    ]
    return _fragment(parts)


def comparison(told: Comparison) -> str:
    """The fragment of a comparison."""
    vocab, both = told.vocab, (told.answer, told.instead)
    names = [bdi(entity_words(one.tail, vocab)) for one in both]
    parts = [
        f"<h1>{_title(told.answer)} or {names[1]} instead?</h1>",
        *(f'<p class="figures">{name}: {_figures(one)}</p>' for name, one in zip(names, both, strict=True)),
        _notes(told.answer),
        _picture(told.ideas, vocab),
        *_halves(told.ideas, (f"For {names[0]}", f"For {names[1]}"), vocab),
    ]
    return _fragment(parts)


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The fragment of a table; numbers stand on the right."""
    listed = [list(row) for row in rows]
    numeric = [
        all(isinstance(row[i], int | float | None) and not isinstance(row[i], bool) for row in listed)
        for i in range(len(headers))
    ]
    cells = [_row("th", headers, numeric), *(_row("td", row, numeric) for row in listed)]
    return _fragment([f"<table>{''.join(cells)}</table>"])


def bdi(name: str) -> str:
    """A name, escaped, in its own direction of writing."""
    return f"<bdi>{escape(printable(name))}</bdi>"


def _fragment(parts: Iterable[str]) -> str:
    return f'<div class="rnnlogic"><style>{STYLE}</style>{"".join(parts)}</div>'


def _row(tag: str, values: Sequence[object], numeric: Sequence[bool]) -> str:
    cells = zip(values, numeric, strict=True)
    return f"<tr>{''.join(_cell(tag, value, right) for value, right in cells)}</tr>"


def _cell(tag: str, value: object, right: bool) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    kind = ' class="number"' if right else ""
    return f"<{tag}{kind}>{bdi(text)}</{tag}>"


def _title(told: Explanation) -> str:
    vocab = told.vocab
    relation = relation_words(told.relation, vocab) + ("^-1" if told.relation >= vocab.num_relations else "")
    return f"{bdi(relation)}({bdi(typed_words(told.head, vocab))}, {bdi(typed_words(told.tail, vocab))})"


def _figures(told: Explanation) -> str:
    rank = f"rank {told.filtered_rank.text()}"
    if not math.isfinite(told.score):
        return f"No rule reaches this answer; {rank}"
    sure = (
        f"probability not calibrated (softmax {told.share:.4f})"
        if told.probability is None
        else f"probability {shown(told.probability)}"
    )
    reach = numbered(len(told.contributions), "rule reaches it", "rules reach it")
    return f"{sure} · {rank} · score {told.score:.4f} · {reach}"


def _notes(told: Explanation) -> str:
    notes = []
    if told.is_known:
        notes.append(f"<p>{HIDDEN}</p>")
    if told.kind == "leave-one-out":
        notes.append(
            "<p>Each number is the score minus the score without the rule; they need not sum to it.</p>"
        )
    return "".join(notes)


def _picture(ideas: Sequence[Idea], vocab: Vocab) -> str:
    """The first paths of the strongest ideas, in the colours of the list below."""
    shown = [idea for idea in ideas if idea.contribution > 0][:IDEAS]
    shown += [idea for idea in ideas if idea.contribution < 0][:COUNTER_IDEAS]
    strands = [
        Strand(group[0].paths[0], shade, idea.contribution < 0)
        for idea, shade in zip(shown, shades(shown), strict=True)
        for group in idea.groups[:RULES]
        if group[0].paths and group[0].paths[0].relations
    ]
    return f'<div class="scroll">{picture(strands, vocab)}</div>' if strands else ""


def _because(told: Explanation) -> Iterable[str]:
    """The reasons in words, each with its rule and facts, and what speaks against."""
    whole = told.summary
    if whole.reasons or told.broken:
        items = (
            f'<li style="--shade:{shade}">{bdi(reason_line(one))}'
            f'<div class="path"><code>{bdi(one.rule)}</code> '
            f'<span class="figures">({bdi(one.about)})</span></div>'
            f"{_path(reason, told.vocab)}{_alone(one)}</li>"
            for reason, one, shade in zip(told.reasons, whole.reasons, COLOURS, strict=False)
        )
        if whole.reasons:
            yield f"<h2>Because</h2><ul>{''.join(items)}</ul>"
        against = "".join(f"<li>{bdi(text)}</li>" for text in whole.against or ("nothing",))
        yield f"<h2>Against</h2><ul>{against}</ul>"
        lines = [f"Base rate: {whole.base_rate}"] if whole.base_rate else []
        lines += [whole.rest] if whole.rest else []
        yield "".join(f'<p class="figures">{bdi(line)}.</p>' for line in lines)


def _alone(told: ReasonTold) -> str:
    return f"<div>{ALONE}</div>" if told.is_enough and told.lead == "because" else ""


def _path(reason: Reason, vocab: Vocab) -> str:
    if reason.path is None or not reason.path.relations:
        return ""
    return f'<div class="path">{path_html(reason.path, vocab)}</div>'


def reasons_picture(reasons: Sequence[Reason], vocab: Vocab) -> str:
    """The paths of the named reasons."""
    strands = reason_strands(reasons)
    return f'<div class="scroll">{picture(strands, vocab)}</div>' if strands else ""


def reason_strands(reasons: Sequence[Reason], marks: Mapping[Rule, str] = NO_MARKS) -> list[Strand]:
    """What the picture of the named reasons shows; by its mark a rule is found in it."""
    return [
        Strand(reason.path, shade, False, marks.get(reason.rule.chain, ""))
        for reason, shade in zip(reasons, COLOURS, strict=False)
        if reason.path is not None and reason.path.relations
    ]


def _halves(ideas: Sequence[Idea], headings: tuple[str, str], vocab: Vocab) -> Iterable[str]:
    for is_against, heading in enumerate(headings):
        half = [idea for idea in ideas if (idea.contribution < 0) == bool(is_against)]
        if half:
            yield f"<h2>{heading} ({math.fsum(idea.contribution for idea in half):+.4g})</h2>"
        for place, (idea, shade) in enumerate(zip(half, shades(half), strict=True)):
            yield _idea(idea, shade, place == 0 and not is_against, vocab)


def shades(ideas: Sequence[Idea]) -> list[str]:
    """Colours of ideas, those for in their order, one for all that speaks against."""
    return [AGAINST if idea.contribution < 0 else COLOURS[i % len(COLOURS)] for i, idea in enumerate(ideas)]


def _idea(idea: Idea, shade: str, is_open: bool, vocab: Vocab) -> str:
    rules = [(rule, place > 0) for group in idea.groups for place, rule in enumerate(group)]
    items = [_rule(rule, is_alike, vocab) for rule, is_alike in rules[:LISTED]]
    if len(rules) > LISTED:
        left = math.fsum(rule.contribution for rule, _ in rules[LISTED:])
        items.append(
            f'<li><span class="value">{left:+.4f}</span>{numbered(len(rules) - LISTED, "more rule")}</li>'
        )
    count = f" ({numbered(len(rules), 'rule')})" if rules else ""
    return (
        f'<details style="--shade:{shade}"{" open" if is_open else ""}><summary>'
        f'<span class="share">{idea.share:.0%}</span><span class="value">{idea.contribution:+.4f}</span>'
        f"{bdi(idea.sentence + '.')}{count}</summary><ul>{''.join(items)}</ul></details>"
    )


def _rule(rule: Contribution, is_alike: bool, vocab: Vocab) -> str:
    numbers = rule.numbers + (", alike" if is_alike else "")
    words = format_rule(rule.chain, vocab, labels=True)
    paths = "".join(f'<div class="path">{bdi(line)}</div>' for line in rule.because)
    paths += "".join(f'<div class="path">{path_html(path, vocab)}</div>' for path in rule.paths)
    return (
        f'<li><span class="value">{rule.contribution:+.4f}</span><code>{bdi(words)}</code> '
        f'<span class="figures">({numbers})</span>{paths}</li>'
    )


def path_html(path: Path, vocab: Vocab) -> str:
    """A path as one line: entities with arrows between them."""
    steps = [bdi(typed_words(path.entities[0], vocab))]
    if not path.relations:
        return " and ".join(bdi(typed_words(entity, vocab)) for entity in path.entities)
    for before, relation, entity in zip(path.entities, path.relations, path.entities[1:], strict=False):
        words = bdi(relation_words(relation, vocab) + vocab.told_of(before, relation, entity))
        arrow = f"←{words}—" if relation >= vocab.num_relations else f"—{words}→"
        steps.append(f'<span class="arrow">{arrow}</span> {bdi(typed_words(entity, vocab))}')
    again = comes_back(path)
    mark = "" if again is None else f" <em>(comes back to {bdi(entity_words(again, vocab))})</em>"
    return " ".join(steps) + mark


def _dependence(told: Explanation) -> str:
    found, vocab = told.hangs_on, told.vocab
    if found is None:
        return ""
    if not found.facts:
        return f"<p>{found.text()}</p>"
    facts = "".join(f"<li>{bdi(fact_line(h, r, t, vocab, None))}</li>" for h, r, t in found.facts)
    return f"<h2>{found.text()}</h2><ul>{facts}</ul>"
