"""The Crafter engine: `CrafterEnv`, a deterministic gymnasium environment, and `CrafterVectorEnv`, many of them.

Importing this package registers both with gymnasium, as "Craftscope/Crafter-v1".
"""

import gymnasium

from core.env.env import CrafterEnv
from core.env.vector import CrafterVectorEnv

__all__ = ["CrafterEnv", "CrafterVectorEnv"]

# Entry points as text: a spec with classes in it could not be written as JSON.
gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
    "Craftscope/Crafter-v1",
    entry_point="core.env:CrafterEnv",
    vector_entry_point="core.env:CrafterVectorEnv",
    max_episode_steps=10_000,
)
