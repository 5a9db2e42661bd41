"""The explorer: pages for people, rendered here; a little script in static/ makes them handier."""

from __future__ import annotations

from functools import partial
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from rnnlogic.calibrate.level import shown
from rnnlogic.complete.complete import NewFact
from rnnlogic.explain.explain import Comparison
from rnnlogic.explain.names import shortened
from rnnlogic.render.card import run_card
from rnnlogic.render.html import bdi
from rnnlogic.review.decision import UNDO, VERDICTS, Fact, checked
from rnnlogic.review.log import SUFFIX
from rnnlogic.rules.parse import parse_rule
from rnnlogic.rules.rule import format_rule
from rnnlogic.serve import views
from rnnlogic.serve.api import (
    SHOWN,
    KnownFacts,
    MaybeName,
    NameQuery,
    Work,
    about,
    entity_facts,
    relation_info,
    served,
)
from rnnlogic.serve.limits import Desk
from rnnlogic.serve.problems import ProblemError
from rnnlogic.serve.review import accepted_facts, is_open, queue
from rnnlogic.serve.runs import Served

LONG, SHORT = 300, 60  # letters of a name in a heading, and in a list
COMMENT = 2000  # letters of a comment
RULES = 50  # on a page
PROPOSALS, LEAST = 200, 0.01  # in a review, and how probable they are at least
ANSWERS = 50  # to a question
SUGGESTED = 8

router = APIRouter()


def _name(text: str, most: int = SHORT) -> Markup:
    """A name: escaped, in its own direction of writing, shortened with the whole as a tooltip."""
    if len(text) <= most:
        return Markup(bdi(text))
    return Markup('<span title="{}">{}</span>').format(text, Markup(bdi(shortened(text, most))))


def _link(run: Served, view: str = "", **query: Any) -> str:
    """The address of a page."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    path = f"/runs/{quote(run.name, safe='')}" + (f"/{view}" if view else "")
    return path + (f"?{urlencode(given)}" if given else "")


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {"name": _name, "probability": shown, "thousands": lambda number: f"{number:,}"}
ENVIRONMENT.globals |= {"link": _link, "LONG": LONG}


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
    return _page(request, "error.html", None, problem.status, problem=problem)


def _page(request: Request, template: str, run: Served | None, status: int = 200, **values: Any) -> Response:
    runs = list(request.app.state.runs.values())
    shared = {"runs": runs, "run": run or (runs[0] if len(runs) == 1 else None), "request": request}
    shared["may_write"] = request.app.state.access.may_write
    return HTMLResponse(ENVIRONMENT.get_template(template).render(**shared, **values), status)


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
async def start(request: Request, desk: Work, run: PageRun) -> Response:
    """The graph in figures, its relations, and questions to begin with."""
    examples = await desk.run(lambda: views.example_questions(run))
    relations = [(i, relation_info(run, i)) for i in range(run.vocab.num_relations)]
    relations.sort(key=lambda one: -one[1]["facts"])
    values: dict[str, Any] = {"about": about(run), "relations": relations, "examples": examples}
    return _page(request, "start.html", run, **values, is_measured=run.answered is not None)


@router.get("/runs/{run}/card")
async def card(desk: Work, run: PageRun) -> Response:
    """The run on one page, as a file: its styles are its own, which pages of this server may not have."""
    content = await desk.run(lambda: run_card(run.model, run.folder).page())
    return _download(content.encode(), f"{run.name}-card.html", "text/html; charset=utf-8")


@router.get("/runs/{run}/search")
async def search(desk: Work, run: PageRun, query: NameQuery) -> Response:
    """What the search box suggests."""
    found = await desk.run(lambda: views.suggestions(run, query, SUGGESTED))
    for one in found:
        view = "entity" if one["kind"] == "entity" else "rules"
        one["link"] = _link(run, view, **{"name" if view == "entity" else "relation": one["name"]})
    return JSONResponse(found)


@router.get("/runs/{run}/entity")
async def entity(
    request: Request,
    desk: Work,
    run: PageRun,
    name: NameQuery,
    most: Annotated[int, Query(alias="all", ge=0, le=1)] = 0,
) -> Response:
    """An entity: its facts, and what is probably missing."""
    one = run.entity(name)
    facts = entity_facts(run, one, 100_000 if most else SHOWN // 2)
    missing = await desk.run(lambda: views.missing_facts(run, one))
    return _page(request, "entity.html", run, entity=facts, missing=missing)


@router.get("/runs/{run}/question")
async def question(
    request: Request,
    desk: Work,
    run: PageRun,
    facts: KnownFacts,
    head: MaybeName = None,
    relation: MaybeName = None,
    least: Annotated[float, Query(alias="min", ge=0, le=1)] = 0.0,
) -> Response:
    """(head, relation, ?): the form, and the ranked answers."""
    values: dict[str, Any] = {"head": head, "relation": None, "answers": None, "min": least, "left_out": 0}
    if head and relation:
        asked = run.question(head, relation, None)
        answers = await desk.run(lambda: run.predict([asked], ANSWERS, facts, "keep")[0])
        values |= {
            "head": asked[0],
            "relation": run.relation(relation),
            "answers": [(i, answer) for i, answer in enumerate(answers, 1)],
            "left_out": sum(answers.left_out.values()),
            "decided": views.decided_answers(run, asked, answers),
            "meaning": run.model.level(facts).sentence(),
        }
    return _page(request, "question.html", run, **values, known_facts=facts)


@router.get("/runs/{run}/why")
async def why(
    request: Request,
    desk: Work,
    run: PageRun,
    head: NameQuery,
    relation: NameQuery,
    tail: NameQuery,
    facts: KnownFacts,
    instead: MaybeName = None,
    rule: MaybeName = None,
) -> Response:
    """Ideas, rules and facts behind an answer, or behind the choice between two."""

    def work() -> dict[str, Any]:
        told = run.explain(head, relation, tail, instead or None, 3, facts)
        one = told.answer if isinstance(told, Comparison) else told
        asked = run.question(head, relation, None)
        others = [a for a in run.predict([asked], 6, facts, "drop")[0] if a.entity != tail][:5]
        return views.explained(told, rule or None) | {
            "told": one,
            "fact": partial(views.said_fact, run),
            "decision": run.model.decision(head, relation, tail),
            "other": told.instead if isinstance(told, Comparison) else None,
            "hangs_on": None if isinstance(told, Comparison) else told.hangs_on,
            "others": others,
        }

    found = await desk.run(work)
    return _page(request, "why.html", run, **found, focus=rule or None, known_facts=facts)


@router.get("/runs/{run}/rules")
async def rules(
    request: Request,
    desk: Work,
    run: PageRun,
    relation: MaybeName = None,
    sort: Literal["use", "weight", "confidence", "support"] = "use",
    page: Annotated[int, Query(ge=1, le=1 << 30)] = 1,
) -> Response:
    """The relations that have rules, or the rules of one."""
    heads = run.model.learned.rules
    relations = [(r, len(heads.by_head(r))) for r in heads.head_relations().tolist()]
    relations.sort(key=lambda one: -one[1])
    values: dict[str, Any] = {"relations": relations, "relation": None}
    if relation:
        found = await desk.run(lambda: run.rules(relation, sort))
        part = found[(page - 1) * RULES : page * RULES]
        values |= {
            "relation": run.relation(relation),
            "rules": [views.listed_rule(one, run.vocab) for one in part],
            "total": len(found),
            "pages": max(ceil(len(found) / RULES), 1),
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

    return _page(request, "rule.html", run, **await desk.run(work), relation=chain.head)


@router.post("/runs/{run}/rules/edited")
async def edited(run: PageRun, form: Annotated[Body, Depends(form_of)]) -> Response:
    """The rules without those that are banned, and with those that are pinned, as a file."""
    text = views.edited_rules(run, form.get("ban", []), form.get("pin", []))
    return _download(text.encode(), f"{run.name}-edited.rules", "text/plain; charset=utf-8")


@router.get("/runs/{run}/review")
async def review(request: Request, desk: Work, run: PageRun, relation: MaybeName = None) -> Response:
    """Proposals that wait for a decision, and what was decided."""
    proposals = await _proposals(request, desk, run, relation or None)
    decisions = run.model.decisions
    verdicts = [one.is_true for one in decisions.current().values()]
    kinds = {"accept": True, "reject": False, "unsure": None}
    values: dict[str, Any] = {
        "rows": queue(proposals, decisions, run.vocab),
        "relation": relation or None,
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
    if not request.app.state.access.may_write:
        raise ProblemError(403, "decisions are not taken from the public: start the server with --token")
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


def _after(run: Served, fact: Fact | None, given: dict[str, str]) -> str:
    """The page to go on with, for those who decide without a script."""
    if fact is not None and given.get("view") == "why":
        return _link(run, "why", head=fact[0], relation=fact[1], tail=fact[2])
    if fact is not None and given.get("view") == "question":
        return _link(run, "question", head=fact[0], relation=fact[1])
    return _link(run, "review", relation=given.get("of"))


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


async def _proposals(request: Request, desk: Desk, run: Served, relation: str | None) -> list[NewFact]:
    """What `complete` proposes; found once and kept until all of it is decided."""
    kept: dict[tuple[str, str | None], list[NewFact]] = request.app.state.proposals
    if not is_open(kept.get((run.name, relation), []), run.model.decisions):
        found: list[NewFact] = []
        async for part in desk.stream(
            lambda deadline: run.complete(relation, LEAST, PROPOSALS, "all", progress=deadline)
        ):
            found += part
        kept[run.name, relation] = found
    return kept[run.name, relation]


def _download(content: bytes, name: str, kind: str) -> Response:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in name)
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'}
    )
