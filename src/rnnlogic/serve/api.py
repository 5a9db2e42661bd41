"""The service for programs: version 1 of the routes. Nothing is computed here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.text import valid_json
from rnnlogic.complete.complete import NewFact
from rnnlogic.explain.answers import Answer
from rnnlogic.explain.asking import Question
from rnnlogic.render.tables import Listed
from rnnlogic.serve import schemas
from rnnlogic.serve.limits import Desk
from rnnlogic.serve.metrics import MEDIA_TYPE as METRICS_TYPE
from rnnlogic.serve.problems import ProblemError, responses
from rnnlogic.serve.runs import Served
from rnnlogic.serve.schemas import LIMITS

SHOWN = 50  # facts of one relation that an entity is shown with
JSON_LINES = "application/x-ndjson"

router = APIRouter()
v1 = APIRouter(prefix="/v1", tags=["v1"], responses=responses(404))

RunName = Annotated[
    str | None, Query(max_length=LIMITS.name, description="Which run; without, the first that is served.")
]
NameQuery = Annotated[str, Query(max_length=LIMITS.name)]
MaybeName = Annotated[str | None, Query(max_length=LIMITS.name)]


def served(request: Request, run: str | None = None) -> Served:
    """The run that a request is about."""
    runs: dict[str, Served] = request.app.state.runs
    name = next(iter(runs)) if run is None else run
    if name not in runs:
        raise ProblemError(404, f"no run is called {name[:100]!r}", nearest=list(runs)[:10])
    return runs[name]


async def of_query(request: Request, run: RunName = None) -> Served:
    """The run that the query names."""
    return served(request, run)


async def desk_of(request: Request) -> Desk:
    """Where work is done."""
    desk: Desk = request.app.state.desk
    return desk


OneRun = Annotated[Served, Depends(of_query)]
Work = Annotated[Desk, Depends(desk_of)]


@router.get("/healthz", tags=["operation"], responses=responses())
async def healthz() -> dict[str, str]:
    """Whether the process is alive."""
    return {"status": "ok"}


@router.get("/readyz", tags=["operation"], responses=responses())
async def readyz(request: Request) -> dict[str, str]:
    """Whether it is ready: all runs are loaded and warm."""
    if not request.app.state.is_ready:
        raise ProblemError(503, "the runs are being loaded; retry in a moment", {"Retry-After": "1"})
    return {"status": "ready"}


@router.get("/metrics", tags=["operation"], response_class=PlainTextResponse, responses=responses())
async def metrics(request: Request) -> PlainTextResponse:
    """Figures for Prometheus."""
    return PlainTextResponse(request.app.state.metrics.text(), media_type=METRICS_TYPE)


@v1.get("/runs")
async def runs(request: Request) -> list[schemas.RunInfo]:
    """The runs that are served."""
    return [schemas.RunInfo(**about(run)) for run in request.app.state.runs.values()]


@v1.get("/entities", response_model=list[schemas.EntityInfo])
async def entities(
    run: OneRun,
    desk: Work,
    query: NameQuery,
    limit: Annotated[int, Query(ge=1, le=LIMITS.listed)] = 10,
) -> Any:
    """Entities by name or label: equal, beginning so, containing it, similar."""
    found = await desk.run(lambda: run.entities.find(query, limit))
    return JSONResponse([entity_info(run, one.id) for one in found])


@v1.get("/entities/{name:path}", response_model=schemas.EntityFacts)
async def entity(run: OneRun, desk: Work, name: str) -> Any:
    """An entity with its facts, by relation; the first of each."""
    return JSONResponse(await desk.run(lambda: entity_facts(run, run.entity(name))))


@v1.get("/relations", response_model=list[schemas.RelationInfo])
async def relations(run: OneRun, query: MaybeName = None) -> Any:
    """All relations, or those that a text finds."""
    number = run.vocab.num_relations
    ids = range(number) if query is None else [one.id for one in run.relations.find(query, LIMITS.listed)]
    return JSONResponse([relation_info(run, i) for i in ids])


@v1.get("/rules", response_model=schemas.RulePage)
async def rules(run: OneRun, desk: Work, asked: Annotated[schemas.RulesQuery, Query()]) -> Any:
    """Rules by relation, best first, a page at a time."""
    found = await desk.run(lambda: run.rules(asked.relation, asked.choice))
    shown = found[(asked.page - 1) * asked.size : asked.page * asked.size]
    listed = [rule.as_dict() for rule in shown]
    return JSONResponse({"total": len(found), "page": asked.page, "size": asked.size, "rules": listed})


@v1.get("/predict", response_model=schemas.Predicted)
async def predict_one(run: OneRun, desk: Work, asked: Annotated[schemas.PredictQuery, Query()]) -> Any:
    """The best answers of (head, relation, ?) or (?, relation, tail)."""
    return await _predicted(run, desk, [asked.question(asked)])


@v1.post("/predict", response_model=schemas.Predicted)
async def predict(request: Request, desk: Work, body: schemas.PredictBody) -> Any:
    """The best answers of many questions; one with an unknown name is marked by `problem`."""
    asked = [body.question(ends) for ends in body.questions]
    return await _predicted(served(request, body.run), desk, asked, is_batch=True)


@v1.get("/explain", response_model=schemas.Explained)
async def explain_one(run: OneRun, desk: Work, asked: Annotated[schemas.ExplainQuery, Query()]) -> Any:
    """Why an answer has its score: ideas, rules, facts; with `instead`, why it is preferred to another."""
    return JSONResponse(await desk.run(lambda: run.explain(asked.question, asked.paths).as_dict()))


@v1.post("/explain", response_model=schemas.Explained)
async def explain(request: Request, desk: Work, body: schemas.ExplainBody) -> Any:
    """The same, asked by a body."""
    return await explain_one(served(request, body.run), desk, body)


@v1.get(
    "/complete",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One fact a line, the most probable first.",
            "content": {JSON_LINES: {"schema": {"type": "string"}}},
        }
    },
)
async def complete(
    run: OneRun, desk: Work, asked: Annotated[schemas.CompleteQuery, Query()]
) -> StreamingResponse:
    """The most probable facts that are not known, as JSON lines."""
    facts = desk.stream(lambda deadline: run.complete(asked.question, deadline))
    first: list[NewFact] = await anext(facts, [])  # errors must come before the first byte
    return StreamingResponse(_lines(first, facts), media_type=JSON_LINES)


async def _lines(first: list[NewFact], rest: AsyncGenerator[list[NewFact], None]) -> AsyncIterator[str]:
    async with aclosing(rest):  # also if the client goes away
        yield _text(first)
        async for part in rest:
            yield _text(part)


def _text(facts: list[NewFact]) -> str:
    return "".join(valid_json(fact.as_dict()) + "\n" for fact in facts)


async def _predicted(
    run: Served, desk: Desk, questions: Sequence[Question], is_batch: bool = False
) -> JSONResponse:
    """Answers of all questions; in a batch, one that cannot be asked is marked and the others answered."""

    def work() -> dict[str, Any]:
        rows = [_asked(run, one, is_batch) for one in questions]
        found = iter(run.predict([row for row in rows if isinstance(row, Question)]))
        results = [_answered(run, row, next(found)) if isinstance(row, Question) else row for row in rows]
        facts = questions[0].facts
        return {"run": run.name, "facts": facts, "evidence": facts, "results": results}

    return JSONResponse(await desk.run(work))


def _asked(run: Served, question: Question, is_batch: bool) -> Question | dict[str, Any]:
    """The question by known names; in a batch, if it cannot be asked, the row that says why."""
    try:
        known = run.named(question)
        known.forward(run.vocab)
    except RNNLogicError as error:
        if not is_batch:
            raise
        names = {"head": question.head or question.tail or "", "relation": question.relation}
        if question.head is None and question.tail is not None:
            names["relation"] = f"{question.relation}^-1"
        return names | {"answers": [], "left_out": {}, "problem": str(error)}
    return known


def _answered(run: Served, question: Question, answers: Listed[Answer]) -> dict[str, Any]:
    head, relation = question.forward(run.vocab)
    rows = [answer.as_dict() for answer in answers]
    return {"head": head, "relation": relation, "answers": rows, "left_out": dict(answers.left_out)}


def about(run: Served) -> dict[str, Any]:
    """What a run is, in figures."""
    dataset, model = run.model.dataset, run.model
    return {
        "name": run.name,
        "dataset": dataset.name,
        "variant": model.config.variant,
        "entities": dataset.vocab.num_entities,
        "relations": dataset.vocab.num_relations,
        "facts": {split: len(dataset.facts(split)) for split in ("train", "valid", "test")},
        "rules": len(model.learned.rules),
    }


def entity_info(run: Served, one: int) -> dict[str, Any]:
    """An entity in a list."""
    label = run.vocab.entity_label(one)
    return {"name": run.vocab.entities[one], "label": label, "facts": int(run.degree[one])}


def relation_info(run: Served, one: int) -> dict[str, Any]:
    """A relation in a list."""
    rules, name = run.model.learned.rules, run.vocab.relation_name(one)
    measured = (run.answered or {}).get(name)
    return {
        "name": name,
        "label": run.vocab.relation_label(one),
        "facts": int(run.relation_sizes[one]),
        "rules": len(rules.by_head(one)),
        "inverse_rules": len(rules.by_head(run.vocab.inverse(one))),
        "validation": measured,
    }


def entity_facts(run: Served, one: int, most: int = SHOWN) -> dict[str, Any]:
    """An entity and the first facts of each relation, the relations with most facts first."""
    groups: list[dict[str, Any]] = []
    for relation in range(2 * run.vocab.num_relations):
        others = run.graph.neighbours(one, relation)
        if len(others):
            groups.append(
                {
                    "relation": run.vocab.relation_name(relation),
                    "label": run.vocab.relation_label(relation),
                    "total": len(others),
                    "others": [entity_info(run, other) for other in others[:most].tolist()],
                }
            )
    groups.sort(key=lambda group: -group["total"])
    return entity_info(run, one) | {"groups": groups}
