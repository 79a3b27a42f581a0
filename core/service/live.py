"""An environment that lives in the service's memory, and what tool calls mean to it."""

from __future__ import annotations

import copy
import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

import numpy as np

from core.env import CrafterEnv
from core.env.observation import Observation, observation_text
from core.env.rules import ACTION_INDEX, ACTIONS
from core.errors import InvalidInput
from core.policies.tools import TOOL_NAME, RawCall, read_tool_calls
from core.requests import read_reward
from core.rewards import RewardConfig, RewardShaper
from core.text import quoted
from core.types import DroppedAction, EnvConfig, RewardBreakdown, Step

_MAX_CALLS: Final = 64
_MAX_RECENT: Final = 100  # steps
_OPTIONS: Final = ("area", "length", "step_rewards", "env_params", "difficulty")


class EpisodeOver(InvalidInput):
    """A step after the end of an episode."""


@dataclass
class LiveEnvironment:
    """An environment and what it has earned. For one thread at a time: hold `lock`.

    world: how often it was reset. recent: the newest steps of this world, for the policy that plays it.
    """

    env: CrafterEnv
    config: EnvConfig
    reward: RewardConfig
    seed: int
    warnings: tuple[str, ...] = ()
    shaper: RewardShaper = field(init=False)
    steps: int = 0
    last_reward: float = 0.0
    env_return: float = 0.0
    terminated: bool = False
    truncated: bool = False
    world: int = 0
    recent: deque[Step] = field(default_factory=lambda: deque[Step](maxlen=_MAX_RECENT))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.shaper = RewardShaper(self.reward)

    @classmethod
    def create(cls, config: EnvConfig, seed: int, options: Mapping[str, Any]) -> LiveEnvironment:
        """The first world of a seed. options: `config` of a request. Raises InvalidInput."""
        if "area" in options or "length" in options:
            area, length = options.get("area", config.area), options.get("length", config.length)
            config = EnvConfig(tuple(cast(list[Any], area)) if isinstance(area, list) else area, config.view, length)
        warnings = [f"Unknown option config.{name}: without effect." for name in options if name not in _OPTIONS]
        reward = RewardConfig(enabled=False)
        given = options.get("step_rewards")
        if given is not None:
            if not isinstance(given, dict):
                raise InvalidInput(f"config.step_rewards: is {quoted(given)}; give an object.")
            reward = read_reward("config.step_rewards", cast(dict[str, Any], given), warnings)
        live = cls(CrafterEnv.from_config(config, observe=False), config, reward, seed, tuple(warnings))
        live.reset(seed)
        return live

    def reset(self, seed: int | None) -> None:
        """The first world of `seed`, or the next one of the current seed."""
        self.env.reset(seed=seed)
        self.seed = self.seed if seed is None else seed
        self.shaper = RewardShaper(self.reward)
        self.steps, self.last_reward, self.env_return = 0, 0.0, 0.0
        self.terminated = self.truncated = False
        self.world += 1
        self.recent.clear()

    def branched(self) -> LiveEnvironment:
        """Another one that continues exactly from this state."""
        child = LiveEnvironment(
            CrafterEnv.from_config(self.config, observe=False), self.config, self.reward, self.seed, self.warnings
        )
        child.env.restore(self.env.snapshot())
        child.shaper = copy.deepcopy(self.shaper)
        child.steps, child.last_reward, child.env_return = self.steps, self.last_reward, self.env_return
        child.terminated, child.truncated = self.terminated, self.truncated
        return child

    def play(self, actions: Sequence[str]) -> tuple[float, RewardBreakdown]:
        """Execute actions until the episode ends: (environment reward, shaped reward). Raises EpisodeOver."""
        if self.terminated or self.truncated:
            raise EpisodeOver("The episode is over. Reset the environment, or terminate it.")
        before, earned = self.env.facts(), 0.0
        for action in actions:
            _, reward, self.terminated, self.truncated, _ = self.env.step(ACTION_INDEX[action])
            step = Step(self.steps, action, float(reward), self.terminated, self.truncated, self.env.state())
            self.recent.append(step)
            self.steps += 1
            self.last_reward = reward
            earned += reward
            if self.terminated or self.truncated:
                break
        self.env_return += earned
        is_end = self.terminated or self.truncated
        return earned, self.shaper.score(before, self.env.facts(), env_reward=earned, is_end=is_end)

    def observed(self, picture_px: int = 0) -> Observation:
        """picture_px: width and height of a picture; 0 for none."""
        return self.env.observation(
            step_limit=self.config.length,
            last_env_reward=self.last_reward,
            env_return=self.env_return,
            terminated=self.terminated,
            truncated=self.truncated,
            picture_px=picture_px,
        )


def observation_fields(observation: Observation) -> dict[str, Any]:
    """An observation as JSON: the text that policies read, and the same as data.

    local_patch: rows of names, the player in the middle. semantic_map: ids, indexed [x][y].
    """
    return {
        "text": observation_text(observation),
        "inventory": observation.inventory,
        "achievements_status": observation.achievements,
        "achievement_counts": observation.achievement_counts,
        "player_position": observation.position,
        "player_direction": observation.facing,
        "local_patch": observation.local,
        "semantic_map": np.asarray(observation.semantic).tolist(),
        "num_steps_taken": observation.step,
        "reward_last_step": observation.last_env_reward,
        "total_reward_episode": observation.env_return,
        "terminated": observation.terminated,
        "truncated": observation.truncated,
    }


def step_info(
    live: LiveEnvironment, reward: RewardBreakdown, played: Sequence[str], dropped: Sequence[DroppedAction]
) -> dict[str, Any]:
    """What is known of a step beside its observation."""
    info: dict[str, Any] = {"actions": list(played), "dropped": [asdict(each) for each in dropped]}
    if live.reward.is_active:
        info["stepwise"] = {
            "reward": reward.total,
            "base_reward": reward.base,
            "indicator": reward.indicator,
            "strategy": reward.strategy,
            "new_achievements": list(reward.new_achievements),
            "components": [asdict(component) for component in reward.components],
        }
    return info


def read_actions(tool_calls: Sequence[object]) -> tuple[tuple[str, ...], tuple[DroppedAction, ...]]:
    """The valid actions of tool calls, by name or number, and those that were dropped.

    A call is ``{"tool" or "name": "interact", "args" or "arguments": {...}}``, or has OpenAI's form.
    Raises InvalidInput if no valid action is left.
    """
    if not 0 < len(tool_calls) <= _MAX_CALLS:
        raise InvalidInput(f"tool_calls: has {len(tool_calls):,} calls; give 1 to {_MAX_CALLS}.")
    reply = read_tool_calls([_raw_call(call, at) for at, call in enumerate(tool_calls)], max_actions=None)
    dropped = tuple(each for call in reply.tool_calls for each in call.dropped)
    if not reply.actions:
        raise InvalidInput(f"tool_calls: {reply.error_detail or 'no action'} Actions are: {', '.join(ACTIONS)}.")
    return reply.actions, dropped


def _raw_call(given: object, at: int) -> RawCall:
    if not isinstance(given, dict):
        raise InvalidInput(f"tool_calls.{at}: is {quoted(given)}; give an object.")
    call = cast(dict[str, Any], given)
    inner = cast(dict[str, Any], call["function"]) if isinstance(call.get("function"), dict) else call
    name = inner.get("tool") or inner.get("name") or TOOL_NAME
    arguments = inner["args"] if "args" in inner else inner.get("arguments", {})
    if isinstance(arguments, str):  # OpenAI's own form
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if isinstance(arguments, dict):
        arguments = {key: _names(value) for key, value in cast(dict[str, Any], arguments).items()}
    return RawCall(str(name), arguments, f"call_{at}")


def _names(value: Any) -> Any:
    """Actions that are given as numbers, by their names."""
    if isinstance(value, list):
        return [_names(each) for each in cast(list[Any], value)]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return ACTIONS[value] if is_number and 0 <= value < len(ACTIONS) else value
