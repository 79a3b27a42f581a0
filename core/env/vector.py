"""`CrafterVectorEnv`: many worlds in one process, for libraries that train on batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from core.env.checks import checked_count
from core.env.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.env.simulation import AGENT_SIZE

_COUNTS = (ITEMS, ACHIEVEMENTS)


class CrafterVectorEnv(SyncVectorEnv):
    """`num_envs` environments, each as a `CrafterEnv` of its own, in gymnasium's vector API.

    The other arguments are `CrafterEnv`'s; copy and autoreset_mode are gymnasium's. reset(seed=s) starts the first
    worlds of the seeds s, s + 1, ...; a list gives each its own. A world that has ended is followed by the next of its
    seed, with the step after it unless autoreset_mode says otherwise.

    Observations: uint8 (num_envs, height, width, 3). Actions: (num_envs,) whole numbers. Rewards: float64 (num_envs,).
    terminated, truncated: bool (num_envs,). Infos: those of the single ones, batched as gymnasium does.
    Raises InvalidConfig where an argument cannot be used.
    """

    def __init__(
        self,
        num_envs: int,
        area: tuple[int, int] = (64, 64),
        view: tuple[int, int] = (9, 9),
        size: tuple[int, int] = AGENT_SIZE,
        length: int = 10_000,
        observe: bool = True,
        *,
        copy: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        def make() -> CrafterEnv:
            return CrafterEnv(area, view, size, length, observe, render_mode="rgb_array")

        envs = [make] * checked_count(num_envs)
        super().__init__(envs, copy=copy, autoreset_mode=autoreset_mode)  # pyright: ignore[reportUnknownMemberType]

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        """Gymnasium's own form. Counts are filled in a column at once: one by one takes longer than the step itself."""
        if tuple(env_info) not in _COUNTS:
            return super()._add_info(vector_infos, env_info, env_num)
        if not vector_infos:
            table, mask = np.zeros((len(env_info), self.num_envs), np.int64), np.zeros(self.num_envs, np.bool_)
            for name, row in zip(env_info, table, strict=True):
                vector_infos[name], vector_infos[f"_{name}"] = row, mask
        first = next(iter(env_info))
        vector_infos[first].base[:, env_num] = list(env_info.values())
        vector_infos[f"_{first}"][env_num] = True
        return vector_infos
