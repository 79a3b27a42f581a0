"""Crafter as a tool environment for TRL's `GRPOTrainer(environment_factory=CrafterToolEnv)`. Does not import TRL."""

from __future__ import annotations

from typing import Any

from core.env import CrafterEnv
from core.env.observation import observation_text
from core.env.rules import ACTION_INDEX, ACTIONS
from core.policies.tools import call_interact
from core.rewards import RewardConfig, RewardShaper
from core.types import EnvConfig

_OVER = "The episode is over."


class CrafterToolEnv:
    """One episode for one completion. Its public methods but `reset` and `get_reward` are the tools of the model.

    To change the world or the rewards, give a factory: `lambda: CrafterToolEnv(reward=RewardConfig(...))`.
    """

    def __init__(self, env: EnvConfig | None = None, reward: RewardConfig | None = None) -> None:
        self._config = env or EnvConfig()
        self._env = CrafterEnv.from_config(self._config, observe=False)
        self._reward_config = reward or RewardConfig("per_achievement")
        self._begin()

    def _begin(self) -> None:
        self._shaper = RewardShaper(self._reward_config)
        self._return = 0.0
        self._last_env_reward = self._env_return = 0.0
        self._terminated = self._truncated = False

    def reset(self, **kwargs: Any) -> str:
        """Start the world of a row's `seed`, or the next world where it has none; returns the first observation.

        Other columns of the row are ignored. Raises InvalidSeeds.
        """
        self._env.reset(seed=kwargs.get("seed"))
        self._begin()
        return self._text()

    def interact(self, actions: list[str], reasoning: str = "") -> str:
        """
        Act in the Crafter world. The actions are executed in the order given, one step each.

        Args:
            actions: Names of actions, such as "move_left", "do" or "place_table".
            reasoning: Why these actions, in a sentence or two.

        Returns:
            The observation after the last action, and what was not executed.
        """
        if self._terminated or self._truncated:
            return _OVER
        reply = call_interact(list(actions), reasoning, max_actions=None)
        before, earned = self._env.facts(), 0.0
        for name in reply.actions:
            _, reward, self._terminated, self._truncated, _ = self._env.step(ACTION_INDEX[name])
            earned += reward
            if self._terminated or self._truncated:
                break
        if reply.actions:
            self._last_env_reward = earned
            self._env_return += earned
            is_end = self._terminated or self._truncated
            self._return += self._shaper.score(before, self._env.facts(), env_reward=earned, is_end=is_end).total
        dropped = [each.name for call in reply.tool_calls for each in call.dropped]
        unknown = f"\nUnknown actions: {', '.join(dropped)}. Known: {', '.join(ACTIONS)}." if dropped else ""
        return self._text() + unknown

    def get_reward(self) -> float:
        """The shaped return of the episode so far."""
        return self._return

    def _text(self) -> str:
        return observation_text(
            self._env.observation(
                step_limit=self._config.length,
                last_env_reward=self._last_env_reward,
                env_return=self._env_return,
                terminated=self._terminated,
                truncated=self._truncated,
            )
        )
