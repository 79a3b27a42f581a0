"""Routes of live environments."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from core.env.checks import checked_seed
from core.errors import InvalidInput
from core.service.handles import TooManyHandles
from core.service.live import LiveEnvironment, observation_fields, read_actions, step_info
from core.service.state import ALWAYS, Done, Service, problems, service_of
from core.text import quoted
from core.types import EnvConfig

router = APIRouter(prefix="/env", tags=["environments"], responses=ALWAYS)
branching = APIRouter(tags=["environments"], responses=ALWAYS)

Shared = Annotated[Service, Depends(service_of)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
_NAMES = ("crafter", "crafterclassic", "crafter-classic")
_MAX_CHILDREN = 64


class Create(BaseModel):
    """parent_env_id: a live environment from whose state this one continues."""

    env_name: str = "crafter"
    config: dict[str, Any] = {}
    seed: Seed | None = None
    parent_env_id: str | None = None
    rl_run_id: str | None = None


class OneEnvironment(BaseModel):
    env_id: str


class Reset(OneEnvironment):
    """seed: missing for the next world of the current seed."""

    seed: Seed | None = None


class Step(OneEnvironment):
    """tool_calls: also accepted within `action`, as the client of task apps sends them."""

    tool_calls: list[Any] | None = None
    action: dict[str, Any] | None = None


class OneSnapshot(BaseModel):
    snapshot_id: str


class Started(BaseModel):
    env_id: str
    observation: dict[str, Any]
    info: dict[str, Any]
    step_idx: int


class Stepped(BaseModel):
    """reward: the environment's, over all actions of the calls."""

    observation: dict[str, Any]
    reward: float
    done: bool
    truncated: bool
    info: dict[str, Any]
    step_idx: int


class Snapshot(BaseModel):
    """size: bytes."""

    snapshot_id: str
    size: int


class Restored(BaseModel):
    env_id: str


class Branch(BaseModel):
    """max_branches: of all environments together."""

    env_ids: Annotated[list[str], Field(min_length=1, max_length=256)]
    num_children: Annotated[int, Field(ge=1, le=_MAX_CHILDREN)] = 1
    max_branches: Annotated[int, Field(ge=1)] | None = None


class Branches(BaseModel):
    env_branches: dict[str, list[str]]


@router.post("/create", responses=problems(404, 429))
def create(body: Create, shared: Shared) -> Started:
    if body.env_name.strip().casefold() not in _NAMES:
        raise InvalidInput(f"env_name: is {quoted(body.env_name)}; the environment here is crafter.")
    if body.parent_env_id is not None:
        parent = shared.environments.get(body.parent_env_id)
        with parent.lock:
            live = parent.branched()
    else:
        service = shared.service
        seed = checked_seed(service.default_seed if body.seed is None else body.seed)
        live = LiveEnvironment.create(EnvConfig(service.area, length=service.length), seed, body.config)
    return _started(shared.environments.add(live), live)


@router.post("/reset", responses=problems(404))
def reset(body: Reset, shared: Shared) -> Started:
    live = shared.environments.get(body.env_id)
    with live.lock:
        live.reset(body.seed)
        return _started(body.env_id, live)


@router.post("/step", responses=problems(404, 409))
def step(body: Step, shared: Shared) -> Stepped:
    calls: Any = body.tool_calls if body.tool_calls is not None else (body.action or {}).get("tool_calls")
    if not isinstance(calls, list):
        raise InvalidInput(
            "tool_calls: is missing; give a list such as [{'tool': 'interact', 'args': {'actions': [5]}}]."
        )
    actions, dropped = read_actions(cast(list[object], calls))
    live = shared.environments.get(body.env_id)
    with live.lock:
        before = live.steps
        earned, reward = live.play(actions)
        return Stepped(
            observation=observation_fields(live.observed()),
            reward=earned,
            done=live.terminated or live.truncated,
            truncated=live.truncated,
            info=step_info(live, reward, actions[: live.steps - before], dropped),
            step_idx=live.steps,
        )


@router.post("/snapshot", responses=problems(404, 429))
def snapshot(body: OneEnvironment, shared: Shared) -> Snapshot:
    live = shared.environments.get(body.env_id)
    with live.lock:
        kept = live.branched()
    return Snapshot(snapshot_id=shared.snapshots.add(kept), size=len(kept.env.snapshot()))


@router.post("/restore", responses=problems(404, 429))
def restore(body: OneSnapshot, shared: Shared) -> Restored:
    kept = shared.snapshots.get(body.snapshot_id)
    with kept.lock:
        return Restored(env_id=shared.environments.add(kept.branched()))


@router.post("/terminate", responses=problems(404))
def terminate(body: OneEnvironment, shared: Shared) -> Done:
    shared.environments.remove(body.env_id)
    return Done()


# The same under the names that older clients use.
EnvName = Literal["crafter", "CrafterClassic"]


@router.post("/{env_name}/initialize", responses=problems(404, 429))
def initialize(env_name: EnvName, body: Create, shared: Shared) -> Started:
    return create(body.model_copy(update={"env_name": env_name}), shared)


@router.post("/{env_name}/step", responses=problems(404, 409))
def step_by_name(env_name: EnvName, body: Step, shared: Shared) -> Stepped:
    return step(body, shared)


@router.post("/{env_name}/terminate", responses=problems(404))
def terminate_by_name(env_name: EnvName, body: OneEnvironment, shared: Shared) -> Done:
    return terminate(body, shared)


@branching.post("/branch", responses=problems(404, 429))
def branch(body: Branch, shared: Shared) -> Branches:
    """Children of live environments, which continue exactly from their state."""
    parents = {env_id: shared.environments.get(env_id) for env_id in body.env_ids}
    total = len(parents) * body.num_children
    if body.max_branches is not None and total > body.max_branches:
        raise InvalidInput(f"num_children: {total} branches in all are more than max_branches, {body.max_branches}.")
    children: dict[str, list[str]] = {}
    try:
        for env_id, parent in parents.items():
            children[env_id] = []
            for _ in range(body.num_children):
                with parent.lock:
                    child = parent.branched()
                children[env_id].append(shared.environments.add(child))
    except TooManyHandles:
        for child_id in chain.from_iterable(children.values()):
            shared.environments.remove(child_id)
        raise
    return Branches(env_branches=children)


def _started(env_id: str, live: LiveEnvironment) -> Started:
    info = {"seed": live.seed, "warnings": list(live.warnings)}
    return Started(env_id=env_id, observation=observation_fields(live.observed()), info=info, step_idx=live.steps)
