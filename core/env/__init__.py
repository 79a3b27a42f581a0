"""The Crafter engine: `CrafterEnv`, a deterministic gymnasium environment."""

from core.env.env import CrafterEnv

__all__ = ["CrafterEnv"]
