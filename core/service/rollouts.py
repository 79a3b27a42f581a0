"""Routes that play rollouts in worker processes, the same that the dashboard starts."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal, cast

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from core.errors import InvalidInput, RolloutError
from core.jobs import launch, wait_until_over
from core.requests import ReadRequest, answer, plan_request, read_request, request_from
from core.service.state import ALWAYS, Service, problems, service_of
from core.types import EnvConfig, Run

router = APIRouter(tags=["rollouts"], responses=ALWAYS)

Shared = Annotated[Service, Depends(service_of)]


class Failure(BaseModel):
    """A rollout that failed. kind: `no_steps_executed`, or what ended it, such as `policy_error`."""

    detail: str
    kind: str


class OneRun(BaseModel):
    run_id: str


class Aborted(BaseModel):
    ok: bool
    run_id: str


class Status(BaseModel):
    run_id: str
    status: str
    started_at: datetime | None
    finished_at: datetime | None


def _schema(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


@router.post(
    "/rollout",
    responses={
        200: {"description": "What was played.", "content": _schema("RolloutResponse")},
        500: {"model": Failure},
        **problems(404, 409, 429),
    },
    response_class=Response,
    openapi_extra={"requestBody": {"required": True, "content": _schema("RolloutRequest")}},
)
async def rollout(
    request: Request, shared: Shared, on_error: Annotated[Literal["record", "raise"] | None, Query()] = None
) -> Response:
    """Play a rollout and wait for its end. A client that disconnects does not stop it; `/run/abort` does.

    on_error: whether a failure after the first step is answered with what was played (`record`, the default of mode
    eval) or is an error (`raise`, the default of mode rl).
    """
    read = _with_handles(read_request(await request.body()), shared)
    service = shared.service
    planned = plan_request(read, EnvConfig(service.area, length=service.length))
    if shared.shutting_down.is_set():
        return _refused("The service is shutting down.", 503)
    if len(shared.rollouts) >= service.max_rollouts:
        return _refused(f"There are {service.max_rollouts} rollouts in progress already. Try again later.", 429)
    run_id = planned.run.id
    if run_id in shared.rollouts:
        return JSONResponse({"detail": f"The rollout {run_id!r} is in progress. Give another run_id."}, 409)
    shared.rollouts.add(run_id)
    try:
        await asyncio.get_running_loop().run_in_executor(shared.pool, _play, shared, planned.run)
    finally:
        shared.rollouts.discard(run_id)
    raises = on_error == "raise" if on_error else read.request.mode == "rl"
    try:
        found = await asyncio.to_thread(answer, shared.store, planned, read.request, raise_failures=raises)
    except RolloutError as error:
        return JSONResponse({"detail": error.detail, "kind": error.kind}, 500)
    return Response(msgspec.json.encode(found), media_type="application/json")


def _play(shared: Service, run: Run) -> None:
    launch(shared.store, shared.settings, run)
    wait_until_over(shared.store, shared.settings, run.id, gives_up=shared.gives_up)


def _with_handles(read: ReadRequest, shared: Service) -> ReadRequest:
    """The request with the policy and the world of the live objects that it names."""
    given, request = dict(read.given), read.request
    if request.policy.policy_id is not None:
        live = shared.policies.get(request.policy.policy_id)
        own = cast(dict[str, Any], given.get("policy", {}))
        given["policy"] = {**live.given, **{name: value for name, value in own.items() if name != "policy_id"}}
    if request.env.env_id is not None:
        bound = shared.environments.get(request.env.env_id)
        if bound.steps:
            raise InvalidInput(
                f"env.env_id: this environment has been stepped {bound.steps:,} times; a rollout starts with its "
                "world. Reset it first, or give a seed instead."
            )
        own = cast(dict[str, Any], given.get("env", {}))
        given["env"] = {"seed": bound.seed} | {name: value for name, value in own.items() if name != "env_id"}
    if given == read.given:
        return read
    again = request_from(given)
    return msgspec.structs.replace(again, given=read.given, warnings=read.warnings)


def _refused(detail: str, status: int) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers={"Retry-After": "5"})


@router.post("/run/abort", responses=problems(404))
def abort(body: OneRun, shared: Shared) -> Aborted:
    """Stop a rollout: what is queued at once, what runs after its current step."""
    shared.store.queue.request_stop(run_id=body.run_id)
    return Aborted(ok=True, run_id=body.run_id)


@router.get("/run/status/{run_id:path}", responses=problems(404))
def status(run_id: str, shared: Shared) -> Status:
    run = shared.store.runs.get(run_id)
    return Status(run_id=run.id, status=run.status, started_at=run.started_at, finished_at=run.finished_at)
