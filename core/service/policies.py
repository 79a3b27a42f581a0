"""Routes of live policies, each of which plays one live environment."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel

from core.errors import InvalidInput
from core.policies import make_policy
from core.policies.tools import TOOL_NAME
from core.requests import RequestedPolicy, policy_by_name, policy_spec
from core.service.live_policy import LivePolicy
from core.service.state import ALWAYS, Done, Service, problems, service_of
from core.types import ToolCall

router = APIRouter(prefix="/policy", tags=["policies"], responses=ALWAYS)

Shared = Annotated[Service, Depends(service_of)]
_MAX_ACTIONS = 5


class Create(BaseModel):
    """bound_env_id: the live environment that it plays."""

    policy_name: str | None = None
    config: dict[str, Any] = {}
    rl_run_id: str | None = None
    bound_env_id: str | None = None
    mode: Literal["rl", "eval"] = "eval"


class Created(BaseModel):
    policy_id: str


class OnePolicy(BaseModel):
    policy_id: str


class Step(OnePolicy):
    """observation: may be left out, because the policy looks at its environment itself."""

    observation: dict[str, Any] | None = None


class Decided(BaseModel):
    tool_calls: list[dict[str, Any]]
    meta: dict[str, Any]


@router.post("/create", responses=problems(404, 429))
def create(body: Create, shared: Shared) -> Created:
    given = {"policy_name": body.policy_name, "config": body.config}
    try:
        requested = msgspec.convert(given, RequestedPolicy)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{error}.") from error
    if body.bound_env_id is not None:
        shared.environments.get(body.bound_env_id)
    name = policy_by_name(body.policy_name)
    spec = policy_spec(name, requested.config, (requested.config.inference_url or "").strip())
    policy = make_policy(spec, seed=shared.service.default_seed, max_actions=_MAX_ACTIONS)
    policy.reset(shared.service.default_seed)
    return Created(policy_id=shared.policies.add(LivePolicy(policy, name, given, body.bound_env_id)))


@router.post("/step", responses=problems(404, 409))
async def step(body: Step, shared: Shared) -> Decided:
    return await asyncio.get_running_loop().run_in_executor(shared.calls, _decided, body, shared)


def _decided(body: Step, shared: Service) -> Decided:
    live = shared.policies.get(body.policy_id)
    if live.bound_env_id is None:
        raise InvalidInput("policy_id: this policy plays no environment; give bound_env_id to /policy/create.")
    bound = shared.environments.get(live.bound_env_id)
    with live.lock:
        reply, took_ms = live.decide(bound, shared.shutting_down.is_set)
    meta: dict[str, Any] = {"policy": live.name, "inference_ms": took_ms}
    if reply.model_call is not None:
        call = reply.model_call
        meta |= {"model": call.model, "tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
    meta |= {"warning": reply.warning, "error_kind": reply.error_kind, "error_detail": reply.error_detail}
    return Decided(tool_calls=[_as_sent(call) for call in reply.tool_calls], meta=meta)


@router.post("/terminate", responses=problems(404))
def terminate(body: OnePolicy, shared: Shared) -> Done:
    live = shared.policies.remove(body.policy_id)
    with live.lock:
        live.policy.close()
    return Done()


def _as_sent(call: ToolCall) -> dict[str, Any]:
    return {"tool": call.name or TOOL_NAME, "args": {"actions": list(call.actions), "reasoning": call.reasoning}}
