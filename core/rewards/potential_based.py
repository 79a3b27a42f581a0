"""The environment's reward plus the difference of a potential, which does not change the best policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.facts import Change
from core.params import choice, number
from core.rewards.base import Strategy
from core.rewards.potentials import POTENTIALS
from core.types import Floats, RewardComponent

if TYPE_CHECKING:
    from core.facts.columns import FactColumns


@dataclass(frozen=True, slots=True)
class PotentialParams:
    potential: str = choice(
        "achievements",
        label="Potential",
        description="How good a state is, as a number.",
        names=tuple(POTENTIALS),
    )
    gamma: float = number(0.99, label="Gamma", description="The trainer's discount.", low=0.0, high=1.0)
    scale: float = number(1.0, label="Scale", description="Multiplies the potential.", low=-1e6, high=1e6)
    env_weight: float = number(
        1.0,
        label="Environment weight",
        description="Multiplies the environment's reward; 0 pays the shaping alone.",
        low=-1e6,
        high=1e6,
    )


class PotentialBased(Strategy[PotentialParams]):
    """Pays the environment's reward plus scale x (gamma x phi(after) - phi(before)), with phi = 0 after the end.

    Such shaping does not change which policies are optimal: A. Y. Ng, D. Harada, S. Russell, "Policy invariance under
    reward transformations", ICML 1999. phi has to be 0 at the end of an episode, whatever ended it: M. Grzes, "Reward
    shaping in episodic reinforcement learning", AAMAS 2017. A decision counts as one step of the process.
    """

    name = "potential_based"
    version = 1
    aliases = ("potential", "pbrs")
    label = "Potential-based"
    description = (
        "The environment's reward plus the change of a potential: gamma times the potential after the decision minus "
        "the potential before it, 0 after the end. Such shaping cannot be farmed (Ng, Harada, Russell 1999)."
    )
    is_potential_based = True
    params_type = PotentialParams

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        params = self.params
        if change.env_reward and params.env_weight:
            value = params.env_weight * change.env_reward
            yield RewardComponent("environment", "env_reward", change.env_reward, params.env_weight, value)
        phi = POTENTIALS[params.potential].of
        difference = params.gamma * (0.0 if change.is_end else phi(change.after)) - phi(change.before)
        if difference and params.scale:
            value = params.scale * difference
            yield RewardComponent("potential", params.potential, difference, params.scale, value)

    def values(self, columns: FactColumns) -> Floats:
        before, after = POTENTIALS[self.params.potential].around(columns)
        difference = self.params.gamma * np.where(columns.is_end, 0.0, after) - before
        return self.params.env_weight * columns.env_rewards + self.params.scale * difference
