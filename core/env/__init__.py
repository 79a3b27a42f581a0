"""The Crafter engine: `CrafterEnv`, a deterministic gymnasium environment, and `CrafterVectorEnv`, many of them."""

from core.env.env import CrafterEnv
from core.env.vector import CrafterVectorEnv

__all__ = ["CrafterEnv", "CrafterVectorEnv"]
