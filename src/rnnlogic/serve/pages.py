"""The explorer: pages for people, rendered here; a little script in static/ makes them handier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.calibrate.level import shown
from rnnlogic.complete.teaching import most_teaching
from rnnlogic.data.dataset import Evidence
from rnnlogic.explain.asking import Question
from rnnlogic.explain.listing import Choice, Sort
from rnnlogic.explain.sentences import template_of
from rnnlogic.render.card import run_card
from rnnlogic.review.decision import UNDO, VERDICTS, Fact, checked
from rnnlogic.review.log import SUFFIX
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import format_rule
from rnnlogic.serve import views, words
from rnnlogic.serve.api import (
    SHOWN,
    MaybeName,
    NameQuery,
    Work,
    about,
    entity_facts,
    relation_info,
    served,
)
from rnnlogic.serve.around import MIDDLE, picture_around
from rnnlogic.serve.later import SOON, Later, is_browser, patience
from rnnlogic.serve.limits import Desk
from rnnlogic.serve.problems import ProblemError, problem_of
from rnnlogic.serve.proposals import Searches
from rnnlogic.serve.review import accepted_facts, queue
from rnnlogic.serve.runs import Served
from rnnlogic.serve.words import LONG, link

COMMENT = 2000  # letters of a comment
RULES = 50  # on a page
ANSWERS = 50  # to a question
SUGGESTED = 8
# Facts below it are not called missing: of those at it one in ten is true, so a list of ten holds about one.
SEEMS_MISSING = 0.1

Result = TypeVar("Result")
router = APIRouter()


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {"name": words.name, "probability": shown, "thousands": lambda number: f"{number:,}"}
ENVIRONMENT.globals |= {"link": link, "LONG": LONG, "fact": words.linked_fact, "said": words.fact_words}
ENVIRONMENT.globals |= {"heading": words.facts_heading}


async def of_path(request: Request, run: str) -> Served:
    """The run that the path names."""
    return served(request, run)


PageRun = Annotated[Served, Depends(of_path)]
Body = dict[str, list[str]]


async def form_of(request: Request) -> Body:
    """The fields of a form that was sent."""
    try:
        text = (await request.body()).decode("utf-8")
        return parse_qs(text, keep_blank_values=True, max_num_fields=2000)
    except ValueError:
        raise ProblemError(422, "the form cannot be read") from None


def is_page(request: Request) -> bool:
    """Whether a person asked, by a browser, for a page."""
    path = request.url.path
    return not path.startswith("/v1/") and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, problem: ProblemError) -> Response:
    """A problem as a page."""
    values: dict[str, Any] = {"problem": problem, "meant": _meant(request, problem)}
    return _page(request, "error.html", _run_of(request), problem.status, **values)


def _run_of(request: Request) -> Served | None:
    """The run that the address names, if there is one."""
    found: Served | None = request.app.state.runs.get(request.path_params.get("run", ""))
    return found


def _meant(request: Request, problem: ProblemError) -> list[tuple[str, str]]:
    """Names that may have been meant, each with the same address for it; those of a search lead anywhere."""
    run = _run_of(request)
    if run is not None and request.url.path == link(run, "entity"):
        found = views.suggestions(run, request.query_params.get("name", "")[:LONG], SUGGESTED)
        return [(one["label"], _found_link(run, one)) for one in found]
    query = request.query_params.multi_items()
    wrong = [key for key, value in query if value and repr(value[:100]) in problem.detail]
    if len(wrong) != 1:
        return []

    def corrected(name: str) -> str:
        return urlencode([(key, name if key == wrong[0] else value) for key, value in query])

    return [(name, f"{request.url.path}?{corrected(name)}") for name in problem.nearest]


def _page(request: Request, template: str, run: Served | None, status: int = 200, **values: Any) -> Response:
    runs = list(request.app.state.runs.values())
    shared = {"runs": runs, "run": run or (runs[0] if len(runs) == 1 else None), "request": request}
    shared["may_write"] = request.app.state.access.may_write
    return HTMLResponse(ENVIRONMENT.get_template(template).render(**shared, **values), status)


async def _later(
    request: Request, desk: Desk, run: Served, key: tuple[Any, ...], work: Callable[[], Result]
) -> Result | None:
    """The result of some work; None if it is not there soon: the page then says so, and is filled in."""
    later: Later = request.app.state.later
    state = run.name, run.edition, len(run.model.decisions.every)
    return await later.get((*state, *key), lambda: desk.run(work), patience(request))


@router.get("/")
async def root(request: Request, desk: Work) -> Response:
    """The only run, or a list of all."""
    runs = list(request.app.state.runs.values())
    if len(runs) == 1:
        return await start(request, desk, runs[0])
    return _page(request, "runs.html", None, abouts=[about(run) for run in runs])


@router.get("/api")
async def api_page(request: Request) -> Response:
    """The OpenAPI document as a page."""
    return _page(request, "api.html", None, document=request.app.openapi())


@router.get("/runs/{run}")
async def start(request: Request, desk: Work, run: PageRun, beside: MaybeName = None) -> Response:
    """The graph in figures, its relations, and questions to begin with; beside it, metrics of another run."""
    examples = await desk.run(lambda: views.example_questions(run))
    other = served(request, beside) if beside else None
    relations = [(i, relation_info(run, i)) for i in range(run.vocab.num_relations)]
    relations.sort(key=lambda one: -one[1]["facts"])
    values: dict[str, Any] = {"about": about(run), "relations": relations, "examples": examples}
    shown = [run, *([other] if other else [])]
    values |= {"other": other, "is_measured": all(one.answered is not None for one in shown)}
    values["metrics"] = [(one.answered or {}) for one in shown]
    return _page(request, "start.html", run, **values)


@router.get("/runs/{run}/card")
async def card(desk: Work, run: PageRun) -> Response:
    """The run on one page, as a file: its styles are its own, which pages of this server may not have."""
    content = await desk.run(lambda: run_card(run.model, run.folder).page())
    return _download(content.encode(), f"{run.name}-card.html", "text/html; charset=utf-8")


@router.get("/runs/{run}/search")
async def search(desk: Work, run: PageRun, query: NameQuery) -> Response:
    """What the search box suggests."""
    found = await desk.run(lambda: views.suggestions(run, query, SUGGESTED))
    return JSONResponse([one | {"link": _found_link(run, one)} for one in found])


def _found_link(run: Served, found: dict[str, Any]) -> str:
    """Where a suggestion leads: to an entity, or to the rules of a relation."""
    is_entity = found["kind"] == "entity"
    return (
        link(run, "entity", name=found["name"]) if is_entity else link(run, "rules", relation=found["name"])
    )


@router.get("/runs/{run}/entity")
async def entity(
    request: Request,
    desk: Work,
    run: PageRun,
    name: NameQuery,
    most: Annotated[int, Query(alias="all", ge=0, le=1)] = 0,
    least: Annotated[float, Query(alias="min", ge=0, le=1)] = SEEMS_MISSING,
    opened: Annotated[list[str] | None, Query(alias="open", max_length=100)] = None,
) -> Response:
    """An entity: what is probably missing, the graph around it, and its facts."""
    if run.entities.is_unknown(name) and name in run.vocab.relations:
        return RedirectResponse(link(run, "rules", relation=name), 303)
    one = run.entity(name)
    facts = entity_facts(run, one, 100_000 if most else SHOWN // 2)
    key = "missing", one, least
    missing = await _later(request, desk, run, key, lambda: views.missing_facts(run, one, least))
    values: dict[str, Any] = {
        "entity": facts,
        "missing": missing,
        "least": least,
        "picture": picture_around(run, one, missing.found if missing else (), opened or ()),
        "drawn": MIDDLE,
        "said_fact": partial(words.said_fact, run),
        "label": run.vocab.entity_labels.get(run.vocab.entities[one], ""),
    }
    return _page(request, "entity.html", run, **values)


def _working(request: Request, run: Served, title: str, doing: str) -> Response:
    """A sign of life in place of a page, until that is there."""
    return _page(request, "working.html", run, title=title, doing=doing, is_filling=True)


async def asked_of(
    head: MaybeName = None,
    relation: MaybeName = None,
    tail: MaybeName = None,
    instead: MaybeName = None,
    facts: Evidence | None = None,
    evidence: Evidence | None = None,
) -> Question:
    """What is asked, as the address or the form has it; `evidence` is an old name of `facts`."""
    ends = [text or None for text in (head, relation, tail, instead)]
    how = Question(most=ANSWERS, facts=facts or evidence or "all", known="keep")
    return replace(how, head=ends[0], relation=ends[1], tail=ends[2], instead=ends[3])


AskedQuestion = Annotated[Question, Depends(asked_of)]


@router.get("/runs/{run}/question")
async def question(
    request: Request,
    desk: Work,
    run: PageRun,
    asked: AskedQuestion,
    beside: MaybeName = None,
    least: Annotated[float, Query(alias="min", ge=0, le=1)] = 0.0,
) -> Response:
    """(head, relation, ?) or (?, relation, tail): the form, and the ranked answers."""
    values: dict[str, Any] = {"asked": asked, "min": least, "known_facts": asked.facts, "relation": None}
    values["beside"] = beside
    if not (asked.relation and (asked.head or asked.tail)):
        return _page(request, "question.html", run, **values)
    try:
        head, relation = run.named(asked).forward(run.vocab)
        other = served(request, beside) if beside else None
    except (ProblemError, RNNLogicError) as error:
        if not is_page(request):
            raise
        problem = problem_of(error)
        values |= {"problem": problem, "meant": _meant(request, problem)}
        return _page(request, "question.html", run, problem.status, **values)
    values |= {"head": head, "relation": run.relation(relation), "other": other}
    state = None if other is None else (other.name, other.edition, len(other.model.decisions.every))
    forward = replace(asked, head=head, relation=relation, tail=None)
    work = partial(views.lists_of, run, forward, other)
    lists = await _later(request, desk, run, ("question", forward, state), work)
    if lists is not None:
        answers = [answer for _, answer in lists[0].answers]
        values["decided"] = views.decided_answers(run, forward, answers)
        values["meaning"] = run.model.level(asked.facts).sentence()
    return _page(request, "question.html", run, lists=lists, is_filling=lists is None, **values)


@router.get("/runs/{run}/why")
async def why(
    request: Request, desk: Work, run: PageRun, asked: AskedQuestion, rule: MaybeName = None
) -> Response:
    """Ideas, rules and facts behind an answer, or behind the choice between two."""
    fact = run.named(asked)
    if fact.head is None or fact.relation is None or fact.tail is None:
        raise ProblemError(422, "give head, relation and tail")
    work = partial(views.why_page, run, fact, rule or None)
    found = await _later(request, desk, run, ("why", fact, rule), work)
    if found is None:
        title = words.fact_words(run.relation(fact.relation), run.vocab, fact.head, fact.tail)
        return _working(request, run, title, "Looking for reasons")
    decision = run.model.decision(fact.head, fact.relation, fact.tail)
    more: dict[str, Any] = {"focus": rule or None, "known_facts": asked.facts, "decision": decision}
    return _page(request, "why.html", run, **found, **more, said_fact=partial(words.said_fact, run))


@router.get("/runs/{run}/rules")
async def rules(
    request: Request,
    desk: Work,
    run: PageRun,
    relation: MaybeName = None,
    sort: Sort = "use",
    page: Annotated[int, Query(ge=1, le=1 << 30)] = 1,
) -> Response:
    """The relations that have rules, or the rules of one."""
    heads = run.model.learned.rules
    relations = [(r, len(heads.by_head(r))) for r in heads.head_relations().tolist()]
    relations.sort(key=lambda one: -one[1])
    values: dict[str, Any] = {"relations": relations, "relation": None}
    if relation:
        key, work = ("rules", relation, sort), partial(run.rules, relation, Choice(sort=sort))
        found = await _later(request, desk, run, key, work)
        if found is None:
            title = words.fact_words(run.relation(relation), run.vocab, "X", "Y")
            return _working(request, run, title, "Counting how often rules are right")
        part = found[(page - 1) * RULES : page * RULES]
        values |= {
            "relation": run.relation(relation),
            "rules": [views.listed_rule(one, run.vocab) for one in part],
            "total": len(found),
            "pages": max(ceil(len(found) / RULES), 1),
            "how_said": template_of(run.relation(relation), run.vocab),
        }
    return _page(request, "rules.html", run, **values, sort=sort, page=page)


@router.get("/runs/{run}/rule")
async def rule(request: Request, desk: Work, run: PageRun, text: NameQuery) -> Response:
    """One rule: figures, right and wrong examples."""
    chain = parse_rule(text, run.vocab)
    full = format_rule(chain, run.vocab)

    def work() -> dict[str, Any]:
        name = run.vocab.relation_name(chain.head)
        found = [one for one in run.rules(name) if one.text == full]
        if not found:
            raise ProblemError(404, f"the model has no such rule: {full}")
        return {"rule": views.listed_rule(found[0], run.vocab)} | views.rule_page(run, chain)

    told = await _later(request, desk, run, ("rule", full), work)
    if told is None:
        return _working(request, run, full, "Looking for examples")
    return _page(request, "rule.html", run, **told, relation=chain.head)


@router.post("/runs/{run}/rules/edited")
async def edited(run: PageRun, form: Annotated[Body, Depends(form_of)]) -> Response:
    """The rules without those that are banned, and with those that are pinned, as a file."""
    text = views.edited_rules(run, form.get("ban", []), form.get("pin", []))
    return _download(text.encode(), f"{run.name}-edited.rules", "text/plain; charset=utf-8")


@router.get("/runs/{run}/review")
async def review(
    request: Request,
    desk: Work,
    run: PageRun,
    relation: MaybeName = None,
    order: Literal["probability", "teaching"] = "probability",
) -> Response:
    """Proposals that wait for a decision, and what was decided."""
    wanted = None if not relation else run.vocab.relations[run.proposable(relation)]
    searches: Searches = request.app.state.searches
    search = searches.of(run, wanted, desk)
    await search.wait(SOON if is_browser(request) else None)
    proposals = most_teaching(search.facts) if order == "teaching" else search.facts
    decisions = run.model.decisions
    verdicts = [one.is_true for one in decisions.current().values()]
    kinds = {"accept": True, "reject": False, "unsure": None}
    values: dict[str, Any] = {
        "rows": queue(proposals, decisions, run.vocab),
        "search": search,
        "is_filling": not search.is_done,
        "relation": wanted,
        "order": order,
        "numbers": {kind: verdicts.count(value) for kind, value in kinds.items()},
        "warnings": decisions.warnings(),
        "file": run.folder.name + SUFFIX,
    }
    return _page(request, "review.html", run, **values)


@router.post("/runs/{run}/review")
async def decide(
    request: Request, desk: Work, run: PageRun, form: Annotated[Body, Depends(form_of)]
) -> Response:
    """Keep a decision; it is on disk before the answer goes out."""
    _check_may_write(request, "decisions are not taken")
    given = {name: values[0] for name, values in form.items()}
    verdict, by = given.get("decision", ""), given.get("by", "")[:LONG]
    if verdict not in (*VERDICTS, UNDO):
        raise ProblemError(422, f"decision must be {', '.join(VERDICTS)} or {UNDO}")
    model, fact = run.model, None
    if "head" in given or verdict != UNDO:
        ends = [run.vocab.entities[run.entity(given.get(end, ""))] for end in ("head", "tail")]
        fact = ends[0], run.vocab.relation_name(run.relation(given.get("relation", ""))), ends[1]
    if fact is None:
        await desk.run(model.undo_review)
    elif verdict == UNDO:
        await desk.run(lambda: model.undo_review(*fact, by=by))
    else:
        saw = _probability(given.get("probability", "")), given.get("rule", "")
        comment = given.get("comment", "")[:COMMENT]
        await desk.run(lambda: model.review(*fact, checked(verdict), comment, by, *saw))
    if is_page(request):
        return RedirectResponse(_after(run, fact, given), 303)
    return JSONResponse({"decision": verdict})


@router.post("/runs/{run}/words")
async def rename(
    request: Request, desk: Work, run: PageRun, form: Annotated[Body, Depends(form_of)]
) -> Response:
    """Keep a label of an entity, or the template of a relation, in the run folder."""
    _check_may_write(request, "names are not changed")
    given = {key: " ".join(values[0].split()) for key, values in form.items()}
    name = given.get("name", "")
    if "label" in given:
        if not 0 < len(given["label"]) <= LONG:
            raise ProblemError(422, f"a label has 1 to {LONG} letters")
        await desk.run(lambda: run.name_entity(name, given["label"]))
        return RedirectResponse(link(run, "entity", name=name), 303)
    texts = given.get("text", "")[:LONG], given.get("turned", "")[:LONG]
    await desk.run(lambda: run.say_relation(name, *texts))
    return RedirectResponse(link(run, "rules", relation=name), 303)


def _check_may_write(request: Request, told: str) -> None:
    if not request.app.state.access.may_write:
        raise ProblemError(403, f"{told} from the public: start the server with --token")


def _after(run: Served, fact: Fact | None, given: dict[str, str]) -> str:
    """The page to go on with, for those who decide without a script."""
    if fact is not None and given.get("view") == "why":
        return link(run, "why", head=fact[0], relation=fact[1], tail=fact[2])
    if fact is not None and given.get("view") == "question":
        return link(run, "question", head=fact[0], relation=fact[1])
    if given.get("view") == "entity":
        return link(run, "entity", name=given.get("of"))
    if given.get("view") == "rule":
        return link(run, "rule", text=given.get("of"))
    return link(run, "review", relation=given.get("of"))


@router.get("/runs/{run}/review/decisions.csv")
async def decisions(run: PageRun) -> Response:
    """The decisions that count as a table, safe for spreadsheets."""
    content = run.model.decisions.as_csv(excel_safe=True).encode()
    return _download(content, f"{run.name}-decisions.csv", "text/csv; charset=utf-8")


@router.get("/runs/{run}/review/accepted.{kind}")
async def export(run: PageRun, kind: Literal["tsv", "nt"]) -> Response:
    """The accepted facts as a file."""
    types = {"tsv": "text/tab-separated-values; charset=utf-8", "nt": "application/n-triples"}
    content = accepted_facts(run.model.decisions, ".tsv" if kind == "tsv" else ".nt")
    return _download(content, f"{run.name}-accepted.{kind}", types[kind])


def _probability(text: str) -> float | None:
    """The probability that the person saw, if any."""
    if not text:
        return None
    try:
        if 0 <= float(text[:20]) <= 1:
            return float(text[:20])
    except ValueError:
        pass
    raise ProblemError(422, "probability must be a number from 0 to 1")


def _download(content: bytes, name: str, kind: str) -> Response:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in name)
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'}
    )
