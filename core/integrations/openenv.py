"""Crafter for the clients of OpenEnv (`openenv.core` 0.10)."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core import Action, Environment, Observation, State  # pyright: ignore[reportMissingTypeStubs]
from openenv.core import create_fastapi_app as _create_app  # pyright: ignore[reportUnknownVariableType, reportMissingTypeStubs]
from openenv.core.env_server.types import EnvironmentMetadata  # pyright: ignore[reportMissingTypeStubs]
from pydantic import Field

from core import __version__
from core.env import CrafterEnv
from core.env.observation import observation_text
from core.env.rules import ACTION_INDEX
from core.errors import CraftscopeError, InvalidInput
from core.policies.tools import call_interact
from core.rewards import RewardConfig, RewardShaper
from core.types import EnvConfig


class CrafterAction(Action):
    """One decision. actions: names, executed in order until the episode ends."""

    actions: list[str] = Field(min_length=1, max_length=64)
    reasoning: str = ""


class CrafterObservation(Observation):
    """reward: of the step rewards if they are on, else the environment's. components: its parts by kind and name."""

    text: str = ""
    inventory: dict[str, int] = {}
    achievements: dict[str, bool] = {}
    new_achievements: list[str] = []
    env_reward: float = 0.0
    shaped_reward: float = 0.0
    components: list[dict[str, Any]] = []
    dropped: list[str] = []
    terminated: bool = False
    truncated: bool = False


class CrafterState(State):
    """seed: of the world. env_return: what the environment has paid in this episode."""

    seed: int = 0
    env_return: float = 0.0


class CrafterOpenEnv(Environment[CrafterAction, CrafterObservation, CrafterState]):
    """One session. `reset(seed=...)` starts the first world of a seed, `reset()` the next one.

    A step without a reset begins the default seed's world: OpenEnv's POST routes have no session.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, config: EnvConfig | None = None, reward: RewardConfig | None = None, default_seed: int = 42):
        super().__init__()
        self._config = config or EnvConfig()
        self._reward = reward or RewardConfig("per_achievement")
        self._env = CrafterEnv.from_config(self._config, observe=False)
        self._seed: int | None = None
        self._default_seed = default_seed
        self._begin("")

    def _begin(self, episode_id: str) -> None:
        self._shaper = RewardShaper(self._reward)
        self._state = CrafterState(episode_id=episode_id or uuid.uuid4().hex, step_count=0, seed=self._seed or 0)
        self._is_over = False

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> CrafterObservation:
        """Raises InvalidInput for a seed outside 0 .. 2**31 - 1."""
        if seed is None and self._seed is None:
            seed = self._default_seed
        self._env.reset(seed=seed)
        self._seed = self._seed if seed is None else seed
        self._begin(episode_id or "")
        return self._observed()

    def step(self, action: CrafterAction, timeout_s: float | None = None, **kwargs: Any) -> CrafterObservation:
        """Raises InvalidInput after the end, and if no action is valid."""
        if self._seed is None:
            self.reset()
        if self._is_over:
            raise InvalidInput("The episode is over; reset.")
        reply = call_interact(action.actions, action.reasoning, max_actions=None)
        if not reply.actions:
            raise InvalidInput(reply.error_detail)
        before, earned = self._env.facts(), 0.0
        terminated = truncated = False
        for name in reply.actions:
            _, reward, terminated, truncated, _ = self._env.step(ACTION_INDEX[name])
            self._state.step_count += 1
            earned += reward
            if terminated or truncated:
                self._is_over = True
                break
        self._state.env_return += earned
        paid = self._shaper.score(before, self._env.facts(), env_reward=earned, is_end=self._is_over)
        return self._observed(
            reward=paid.total,
            done=self._is_over,
            env_reward=earned,
            shaped_reward=paid.total,
            new_achievements=list(paid.new_achievements),
            components=[
                {"kind": part.kind, "name": part.name, "value": part.value * paid.effective_lambda}
                for part in paid.components
            ],
            dropped=[f"{each.name}: {each.reason}" for call in reply.tool_calls for each in call.dropped],
            terminated=terminated,
            truncated=truncated,
        )

    @property
    def state(self) -> CrafterState:
        return copy.copy(self._state)

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name="crafter", description="Crafter with step rewards, deterministic by seed.", version=__version__
        )

    def _observed(self, **more: Any) -> CrafterObservation:
        terminated, truncated = more.get("terminated", False), more.get("truncated", False)
        observation = self._env.observation(
            step_limit=self._config.length,
            last_env_reward=more.get("env_reward", 0.0),
            env_return=self._state.env_return,
            terminated=terminated,
            truncated=truncated,
        )
        return CrafterObservation(
            text=observation_text(observation),
            inventory=observation.inventory,
            achievements=observation.achievements,
            **more,
        )


def openenv_app(config: EnvConfig, *, default_seed: int, max_sessions: int) -> FastAPI:
    """The application that serves it: `/reset`, `/step`, `/state`, `/schema`, `/metadata`, `/health` and `/ws`."""

    def new() -> CrafterOpenEnv:
        return CrafterOpenEnv(config, default_seed=default_seed)

    app = _create_app(new, CrafterAction, CrafterObservation, max_concurrent_envs=max_sessions, state_cls=CrafterState)
    app.add_exception_handler(CraftscopeError, _refused)
    # Its pages load scripts from another host.
    app.router.routes = [route for route in app.router.routes if getattr(route, "path", "") not in ("/docs", "/redoc")]
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 422)
