"""Routes that say what is served: health, tasks, dataset, rubrics, limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from core import __version__
from core.dataset import describe_seeds
from core.env.rules import ACTIONS
from core.errors import InvalidInput
from core.policies.tools import TOOL_NAME
from core.requests import SafetyOptions
from core.rubrics import load_rubrics
from core.service.state import ALWAYS, Done, Service, service_of
from core.settings import ServiceSettings
from core.types import EnvConfig, SeedDescription

SERVICE_NAME: Final = "grpo-crafter-task-app"
"""What clients look for."""

_MAX_SEEDS: Final = 100

public = APIRouter(tags=["information"])
router = APIRouter(tags=["information"], responses=ALWAYS)

Shared = Annotated[Service, Depends(service_of)]


class Alive(BaseModel):
    status: str = "ok"
    service: str = SERVICE_NAME


class Health(BaseModel):
    healthy: bool = True


@public.head("/", include_in_schema=False)
@public.get("/")
async def root() -> Alive:
    return Alive()


@router.get("/health")
async def health() -> Health:
    return Health()


@router.post("/done")
async def done() -> Done:
    """For clients that say when they are done; nothing is kept for them."""
    return Done()


@router.get("/info")
def info(shared: Shared) -> dict[str, Any]:
    service = shared.service
    return {
        "service": {"task": _task(), "version": __version__},
        "dataset": _dataset(service),
        "rubrics": _rubrics(),
        "inference": _inference(),
        "limits": _limits(),
    }


@router.get("/task_info", response_model=None)
def task_info(
    shared: Shared,
    seed: Annotated[list[int] | None, Query()] = None,
    seeds: Annotated[list[int] | None, Query()] = None,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Without a seed the taskset, with one its task, with several a list of tasks."""
    service, asked = shared.service, [*(seed or ()), *(seeds or ())]
    if not asked:
        return {"taskset": {"task": _task(), **_dataset(service)}}
    if len(asked) > _MAX_SEEDS:
        raise InvalidInput(f"seed: {len(asked):,} seeds; ask for at most {_MAX_SEEDS}.")
    for each in asked:
        if not 0 <= each <= service.max_seed:
            raise InvalidInput(f"seed: is {each}; give 0 to {service.max_seed}.")
    config = EnvConfig(service.area, length=service.length)
    known = {each.seed: each for each in describe_seeds(shared.store, dict.fromkeys(asked), env=config)}
    tasks = [_task_info(service, known[each]) for each in asked]
    return tasks[0] if len(tasks) == 1 else tasks


def _task() -> dict[str, Any]:
    return {"id": "crafter", "name": "Crafter", "version": __version__}


def _dataset(service: ServiceSettings) -> dict[str, Any]:
    return {
        "id": "crafter-seeds",
        "name": "Worlds of Crafter by seed",
        "version": "1",
        "splits": ["train"],
        "default_split": "train",
        "seed_range": [0, service.max_seed],
        "default_seed": service.default_seed,
    }


def _task_info(service: ServiceSettings, seed: SeedDescription) -> dict[str, Any]:
    traits = {"trees": seed.trees, "cows": seed.cows, "hostiles": seed.hostiles}
    return {
        "task": _task(),
        "environment": "crafter",
        "action_space": {"type": "discrete", "size": len(ACTIONS), "names": list(ACTIONS)},
        "observation": {
            "keys": ["text", "inventory", "achievements_status", "player_position", "semantic_map"],
            "image_shape": [64, 64, 3],
            "traits": traits,
            "inventory": seed.inventory,
            "player_position": list(seed.start),
        },
        "dataset": _dataset(service)
        | {
            "seed": seed.seed,
            "difficulty": seed.difficulty.value,
            "config": {"area": list(service.area), "length": service.length},
        },
        "rubric": _rubrics(),
        "inference": _inference(),
        "limits": _limits(),
    }


def _rubrics() -> dict[str, Any]:
    """Outcome and events, with the names that clients expect."""
    return {name: {"name": name, **msgspec.to_builtins(rubric)} for name, rubric in load_rubrics().items()}


def _inference() -> dict[str, Any]:
    endpoints: Sequence[str] = ("/proxy/v1/chat/completions", "/proxy/groq/v1/chat/completions")
    return {"endpoints": list(endpoints), "tool": TOOL_NAME}


def _limits() -> dict[str, Any]:
    limits = SafetyOptions()
    return {"max_ops": limits.max_ops, "max_time_s": limits.max_time_s}
