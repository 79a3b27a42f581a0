"""`CrafterVectorEnv`: many worlds in one process, for libraries that train on batches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from core.env.checks import MAX_LENGTH, checked_action, checked_length, checked_number, checked_seed, sequence_in
from core.env.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.env.simulation import AGENT_SIZE
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds
from core.text import quoted

_COUNTS = (ITEMS, ACHIEVEMENTS)


class CrafterVectorEnv(SyncVectorEnv):
    """`num_envs` environments in gymnasium's vector API; each behaves as a `CrafterEnv` of its own.

    The other arguments are `CrafterEnv`'s; max_episode_steps, copy and autoreset_mode are gymnasium's. An episode is
    truncated after `length` or `max_episode_steps` steps, whichever is less; None or -1 leaves it to `length`.
    reset(seed=s) starts the first worlds of the seeds s, s + 1, ...; a list gives each its own. When a world has
    ended, the next step resets it to the next world of its seed, unless autoreset_mode says otherwise.

    Observations: uint8 (num_envs, height, width, 3). Actions: (num_envs,) whole numbers, bools refused. Rewards:
    float64 (num_envs,). terminated, truncated: bool (num_envs,). Infos: those of the single ones, batched as gymnasium
    does. Raises InvalidConfig for an invalid argument.
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
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        copy: bool = True,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if max_episode_steps not in (None, -1):
            length = min(checked_length(length), checked_length(max_episode_steps, "max_episode_steps"))
        # Not a local function: gymnasium keeps it, and pickle must find it by name.
        make = functools.partial(CrafterEnv, area, view, size, length, observe, render_mode=render_mode)
        envs = [make] * checked_number(num_envs, "number of environments", MAX_LENGTH)
        mode = _checked_mode(autoreset_mode)
        super().__init__(envs, copy=copy, autoreset_mode=mode)  # pyright: ignore[reportUnknownMemberType]

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start worlds. seed: a whole number, or a list with one (or None) for each environment.

        options: those of `CrafterEnv.reset`, and gymnasium's `reset_mask`. Raises InvalidSeeds and InvalidConfig; no
        environment has been reset then.
        """
        seeds = self._checked_seeds(seed)
        options = None if options is None else dict(options)  # gymnasium removes the mask from the dict it is given
        if options is not None and "reset_mask" in options:
            options["reset_mask"] = self._checked_mask(options["reset_mask"])
        return super().reset(seed=seeds, options=options)

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of each. Raises InvalidInput for an invalid action or a wrong number of them; no environment has
        moved then."""
        given = sequence_in(actions)
        if given is None or len(given) != self.num_envs:
            raise InvalidInput(f"The actions are {quoted(actions)}; give {self.num_envs}, one an environment.")
        return super().step(np.array([checked_action(action) for action in given]))

    def _checked_seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        seeds = sequence_in(seed)
        if seeds is None:
            first = checked_seed(seed)
            return [checked_seed(first + at) for at in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise InvalidSeeds(f"There are {len(seeds)} seeds for {self.num_envs} environments; give one for each.")
        return [None if one is None else checked_seed(one) for one in seeds]

    def _checked_mask(self, mask: Any) -> NDArray[np.bool_]:
        checked = np.asarray(mask)
        if checked.shape != (self.num_envs,) or checked.dtype != np.bool_ or not checked.any():
            raise InvalidConfig(
                f"The reset mask is {quoted(mask)}; give {self.num_envs} bools, at least one of them true."
            )
        return checked

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        """Gymnasium's own form. Counts are filled in a column at once: one by one takes longer than the step itself."""
        if tuple(env_info) not in _COUNTS:
            return super()._add_info(vector_infos, env_info, env_num)
        if not vector_infos:
            shape = len(env_info), self.num_envs
            for name, row, mask in zip(env_info, np.zeros(shape, np.int64), np.zeros(shape, np.bool_), strict=True):
                vector_infos[name], vector_infos[f"_{name}"] = row, mask
        first = next(iter(env_info))
        vector_infos[first].base[:, env_num] = list(env_info.values())
        vector_infos[f"_{first}"].base[:, env_num] = True
        return vector_infos


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        accepted = ", ".join(f'"{one.value}"' for one in AutoresetMode)
        raise InvalidConfig(f"The autoreset mode is {mode!r}; give one of {accepted}.") from error
