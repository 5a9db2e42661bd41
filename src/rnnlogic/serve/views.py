"""What the pages show, as plain values for templates. Words and pictures come from the rooms below."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.vocab import Vocab
from rnnlogic.explain.answers import Answer
from rnnlogic.explain.asking import Question
from rnnlogic.explain.explanation import Comparison, Explanation
from rnnlogic.explain.listing import RuleInfo
from rnnlogic.explain.question import facts_of
from rnnlogic.explain.reasons import Contribution, Idea, Reason
from rnnlogic.explain.sentences import pattern_of, rule_sentence, whole_rule
from rnnlogic.explain.summary import ALONE, ReasonTold, reason_line
from rnnlogic.features.chains.paths import Fact, Path
from rnnlogic.render.html import LISTED, path_html, reason_strands, shades
from rnnlogic.render.svg import Strand, picture
from rnnlogic.rules.conditions import Condition
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import Constant, Rule, format_rule
from rnnlogic.serve.api import entity_info
from rnnlogic.serve.problems import ProblemError
from rnnlogic.serve.runs import Served
from rnnlogic.serve.search import BEGINNING_TIER
from rnnlogic.statistics.pairs import rule_examples

ASKED = 24  # relations, inverses included, that an entity is asked about
MISSING = (3, 15)  # answers of each, and in all
EXAMPLES = 6  # questions on the first page
NOWHERE: Mapping[str, int] = {}
PATHS, OTHERS = 3, 5  # of each rule of an explanation; other answers that are named


class Missing(NamedTuple):
    """A fact that is probably missing: the question, and its answer."""

    head: str
    relation: int
    answer: Answer
    rule: str = ""  # the first reason
    facts: tuple[Fact, ...] = ()  # that make it apply, each in the direction of the graph


class MissingFacts(NamedTuple):
    """What is probably missing about an entity, and the best chance of what is left out as improbable."""

    found: list[Missing]
    best_other: float | None = None


def missing_facts(run: Served, entity: int, least: float) -> MissingFacts:
    """What is missing with some probability: relations that the entity has most facts of are asked first."""
    sizes = {r: len(run.graph.neighbours(entity, r)) for r in range(2 * run.vocab.num_relations)}
    rules, name = run.model.learned.rules, run.vocab.entities[entity]
    usual = run.relation_sizes
    order = sorted(sizes, key=lambda r: (-sizes[r], -usual[r]))
    wanted = [r for r in order if len(rules.by_head(r))][:ASKED]
    questions, steps = [], 0.0
    for relation in wanted:  # as many as may be asked
        question = Question(head=name, relation=run.vocab.relation_name(relation), most=MISSING[0])
        steps += run.cost_of_answers(question)
        if steps > run.limits.steps:
            break
        questions.append((relation, question))
    answers = run.predict([question for _, question in questions])
    found = [
        Missing(name, relation, answer)
        for (relation, _), own in zip(questions, answers, strict=True)
        for answer in own
    ]
    found.sort(key=lambda one: -one.answer.probability)
    probable = [one for one in found if one.answer.probability >= least][: MISSING[1]]
    others = [one.answer.probability for one in found[len(probable) :]]
    return MissingFacts([_with_reason(run, one) for one in probable], max(others, default=None))


def _with_reason(run: Served, missing: Missing) -> Missing:
    """The same with the rule that `complete` names for it, and its facts."""
    vocab, ends = run.vocab, (run.vocab.entity_id(missing.head), run.vocab.entity_id(missing.answer.entity))
    is_inverse = missing.relation >= vocab.num_relations
    head, tail = ends[::-1] if is_inverse else ends
    relation = vocab.inverse(missing.relation) if is_inverse else missing.relation
    rule, path = run.reasons.of((head, relation, tail))
    text = "" if rule is None else format_rule(rule, vocab)
    return missing._replace(rule=text, facts=() if path is None else tuple(facts_of(path, vocab)))


def decided_answers(run: Served, question: Question, answers: Sequence[Answer]) -> dict[str, str]:
    """The verdicts on those answers of a question that somebody decided about."""
    if not run.model.decisions.every:
        return {}
    asked = question.forward(run.vocab)
    found = {one.entity: run.model.decision(*asked, one.entity) for one in answers}
    return {entity: decision.verdict for entity, decision in found.items() if decision is not None}


def example_questions(run: Served) -> list[tuple[str, int]]:
    """Questions (head, relation) to begin with: of relations answered well, from validation facts."""
    dataset, measured = run.model.dataset, run.answered or {}
    facts = dataset.valid if len(dataset.valid) else dataset.train
    first: dict[int, int] = {}
    for head, relation, _ in facts.tolist():
        first.setdefault(relation, head)

    def merit(relation: int) -> float:
        figures = measured.get(run.vocab.relations[relation], {})
        mrr = figures.get("both", {}).get("mrr", 0.5)
        return float(-mrr * min(int(run.relation_sizes[relation]), 50))

    chosen = sorted(first, key=lambda relation: (merit(relation), relation))[:EXAMPLES]
    return [(run.vocab.entities[first[relation]], relation) for relation in chosen]


class Ranked(NamedTuple):
    """The answers that a run gives to a question, each with its place; or why it gives none."""

    run: Served
    answers: list[tuple[int, Answer]]
    left_out: int = 0
    problem: str = ""
    elsewhere: Mapping[str, int] = NOWHERE  # by entity, the place that the other run gives it


def lists_of(run: Served, question: Question, other: Served | None) -> list[Ranked]:
    """The answers of a run, and beside them those of another one, each with its place in the other list."""
    own = _ranked(run, question)
    if other is None:
        return [own]
    try:
        second = _ranked(other, other.named(question))
    except (ProblemError, RNNLogicError) as error:
        return [own, Ranked(other, [], problem=str(error))]
    places = [{answer.entity: place for place, answer in one.answers} for one in (own, second)]
    return [own._replace(elsewhere=places[1]), second._replace(elsewhere=places[0])]


def _ranked(run: Served, question: Question) -> Ranked:
    answers = run.predict([question])[0]
    return Ranked(run, list(enumerate(answers, 1)), sum(answers.left_out.values()))


def why_page(run: Served, fact: Question, rule: str | None) -> dict[str, Any]:
    """What the page of an answer shows: its reasons, and beside them those of the best other answer."""
    told = run.explain(fact, PATHS)
    asked = replace(fact, tail=None, instead=None, most=OTHERS + 1, known="drop")
    others = [answer for answer in run.predict([asked])[0] if answer.entity != fact.tail]
    values: dict[str, Any] = {"others": others[:OTHERS], "other": None, "rival": None}
    if isinstance(told, Comparison):
        values |= {"told": told.answer, "other": told.instead, "rival": told.instead, "hangs_on": None}
    else:
        values |= {"told": told, "hangs_on": told.hangs_on}
        if others and rule is None:
            values["rival"] = run.explain(replace(fact, tail=others[0].entity), PATHS)
    return values | explained(told, rule, values["rival"])


def explained(
    told: Explanation | Comparison, focus: str | None, rival: Explanation | None = None
) -> dict[str, Any]:
    """The reasons, ideas with colours and rules, and pictures: its facts, and those of a rival beside it.

    With a rule in focus, the picture has all its paths.
    """
    vocab, ideas, marks = told.vocab, told.ideas, dict[Rule, str]()
    for idea in ideas:
        for rule in idea.rules:
            marks.setdefault(rule.chain, f"r{len(marks)}")
    only = None if isinstance(told, Comparison) else told
    both = [told.answer if isinstance(told, Comparison) else told, *([rival] if rival else [])]
    drawn = [reason_strands(one.reasons, marks) for one in both] if focus is None else [_paths(ideas, focus)]
    marked = {strand.mark for strands in drawn for strand in strands}
    colours = shades(ideas)
    return {
        "halves": [
            [
                _idea(idea, colour, marks, marked, vocab)
                for idea, colour in zip(ideas, colours, strict=True)
                if (idea.contribution < 0) == is_against
            ]
            for is_against in (False, True)
        ],
        "pictures": [Markup(picture(strands, vocab)) for strands in drawn],
        "summary": None if only is None else only.summary,
        "reasons": [] if only is None else list(map(_reason, only.reasons, only.summary.reasons)),
    }


def _paths(ideas: Sequence[Idea], text: str) -> list[Strand]:
    """All paths of one rule."""
    return [
        Strand(path, colour, idea.contribution < 0)
        for idea, colour in zip(ideas, shades(ideas), strict=True)
        for rule in idea.rules
        if rule.rule == text
        for path in rule.paths
    ]


def _reason(reason: Reason, said: ReasonTold) -> dict[str, Any]:
    """A named reason: in words with its record, the rule, and its facts."""
    return {
        "words": reason_line(said),
        "text": reason.rule.rule,
        "shown": said.rule,
        "about": said.about,
        "facts": said.facts,
        "alone": ALONE if said.is_enough and said.lead == "because" else "",
    }


def _idea(idea: Idea, colour: str, marks: dict[Rule, str], drawn: set[str], vocab: Vocab) -> dict[str, Any]:
    rules = [(rule, place > 0) for group in idea.groups for place, rule in enumerate(group)]
    return {
        "sentence": idea.sentence,
        "share": idea.share,
        "contribution": idea.contribution,
        "colour": colour,
        "number": len(rules),
        "more": max(len(rules) - LISTED, 0),
        "rules": [
            _rule(rule, is_alike, marks[rule.chain], drawn, vocab) for rule, is_alike in rules[:LISTED]
        ],
    }


def _rule(rule: Contribution, is_alike: bool, mark: str, drawn: set[str], vocab: Vocab) -> dict[str, Any]:
    return {
        "mark": mark,
        "is_drawn": mark in drawn,
        "is_alike": is_alike,
        "text": rule.rule,
        "shown": format_rule(rule.chain, vocab, labels=True),
        "words": rule_sentence(rule.chain, vocab),
        "contribution": rule.contribution,
        "weight": rule.weight,
        "count": rule.paths_in_words,
        "record": None if rule.record is None else rule.record.text(),
        "paths": [Markup(path_html(path, vocab)) for path in rule.paths],
    }


def listed_rule(rule: RuleInfo, vocab: Vocab) -> dict[str, Any]:
    """A rule in a table."""
    return rule.as_dict() | {
        "shown": format_rule(rule.rule, vocab, labels=True),
        "words": rule_sentence(rule.rule, vocab),
        "sentence": whole_rule(rule.rule, vocab),
        "pattern": str(pattern_of(rule.rule, vocab.num_relations)),
    }


def _ends(rule: Rule, path: Path, vocab: Vocab) -> list[str]:
    """The entities that a rule joins; the walk of a rule with constants leads to one of them only."""
    ends = [path.entities[0], path.entities[-1]]
    if isinstance(rule, Constant) or (isinstance(rule, Condition) and not rule.compares):
        ends[0 if rule.at_head else 1] = rule.constant
    return [vocab.entities[end] for end in ends]


def rule_page(run: Served, rule: Rule) -> dict[str, Any]:
    """A rule with right and wrong examples, as walks."""
    learned = run.model.learned.rules
    found = rule_examples(run.model.dataset.graph("train"), run.graph, rule, among=learned)
    tried = run.model.records.of_held_out(rule)
    verdicts = _verdicts(run, rule.head)
    examples = {
        kind: [
            {
                **(ends := dict(zip(("head", "tail"), _ends(rule, path, run.vocab), strict=True))),
                "decision": verdicts.get((ends["head"], ends["tail"]), ""),
                "path": Markup(path_html(path, run.vocab)) if path.relations else "",
            }
            for path in paths
        ]
        for kind, paths in found._asdict().items()
    }
    return examples | {"held_out": None if tried is None else tried.text()}


def _verdicts(run: Served, relation: int) -> dict[tuple[str, str], str]:
    """What was decided about facts of a relation, by head and tail as the relation has them."""
    is_inverse = relation >= run.vocab.num_relations
    name = run.vocab.relations[run.vocab.inverse(relation) if is_inverse else relation]
    current = run.model.decisions.current().values()
    found = {(one.head, one.tail): str(one.verdict) for one in current if one.relation == name}
    return {(tail, head): verdict for (head, tail), verdict in found.items()} if is_inverse else found


def edited_rules(run: Served, banned: Sequence[str], pinned: Sequence[str]) -> str:
    """The rules of a run without some and with others, as a rule file for `rnnlogic fit --rules`."""
    vocab = run.vocab
    ban, pin = ([parse_rule(text, vocab) for text in texts] for texts in (banned, pinned))
    kept = [rule for rule in run.model.learned.rules if rule not in set(ban) and rule not in set(pin)]
    options = "".join(f" --ban {shlex.quote(format_rule(rule, vocab))}" for rule in ban)
    lines = [
        f"# Rules of the run {run.name!r}, edited. Fit again with exactly these:",
        f"# rnnlogic fit DATA -o NEW_RUN --rules THIS_FILE --no-generate{options}",
        *(f"# banned: {format_rule(rule, vocab)}" for rule in ban),
        *(["# pinned:"] if pin else []),
        *(format_rule(rule, vocab) for rule in pin),
        *(["# the others:"] if pin else []),
        *(format_rule(rule, vocab) for rule in kept),
    ]
    return "\n".join(lines) + "\n"


def suggestions(run: Served, query: str, limit: int) -> list[dict[str, Any]]:
    """Entities and relations that a text finds, the closest first."""
    entities = [(one.tier, 0, "entity", entity_info(run, one.id)) for one in run.entities.find(query, limit)]
    relations = [
        (one.tier, 1, "relation", {"name": run.vocab.relations[one.id]} | _relation(run, one.id))
        for one in run.relations.find(query, limit)
    ]
    both = sorted([*entities, *relations], key=lambda one: one[:2])
    found = [(tier <= BEGINNING_TIER, kind, info) for tier, _, kind, info in both[:limit]]
    return [{"kind": kind, "is_close": is_close, **info} for is_close, kind, info in found]


def _relation(run: Served, one: int) -> dict[str, Any]:
    return {"label": run.vocab.relation_label(one), "facts": int(run.relation_sizes[one])}
