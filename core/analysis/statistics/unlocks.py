"""When achievements are unlocked: quartiles of the step, and the share of episodes that have one by each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.types import Floats


@dataclass(frozen=True, slots=True)
class UnlockTime:
    """Quartiles of the step of the first unlock, counted from 1, over the episodes that reached it."""

    n_episodes: int
    n_reached: int
    q1: float | None
    median: float | None
    q3: float | None

    @property
    def share(self) -> float:
        """The share of the episodes that reached it, 0 to 1."""
        return self.n_reached / self.n_episodes if self.n_episodes else 0.0


@dataclass(frozen=True, slots=True)
class UnlockCurve:
    """The estimated share of episodes that have unlocked it by each step: a step function that starts at (0, 0).

    steps: int64 (P,), rising. shares: float64 (P,), 0 to 1, never falling. The last step is the longest episode's.
    """

    steps: NDArray[np.int64]
    shares: Floats


def unlock_table(
    ids: Sequence[str], unlock_steps: Mapping[str, Mapping[str, int]], achievements: Sequence[str]
) -> Floats:
    """The step of each first unlock, counted from 1: float64 (E, A), NaN without one.

    unlock_steps: episode id -> achievement -> index of the step, which counts from 0.
    """
    places = {name: place for place, name in enumerate(achievements)}
    table = np.full((len(ids), len(places)), np.nan)
    for row, episode_id in enumerate(ids):
        for name, step in unlock_steps.get(episode_id, {}).items():
            if name in places:
                table[row, places[name]] = step + 1
    return table


def unlock_times(table: Floats) -> tuple[UnlockTime, ...]:
    """For each achievement of an `unlock_table`."""
    return tuple(map(_unlock_time, table.T))


def unlock_curve(steps: Floats, n_steps: NDArray[np.int64], has_died: NDArray[np.bool_]) -> UnlockCurve:
    """The curve of one achievement. steps: float64 (E,), a column of an `unlock_table`.

    The cumulative incidence with death as the competing event (O. Aalen, S. Johansen, Scandinavian Journal of
    Statistics 5, 1978): a dead character never unlocks it, but an episode that a limit or a person stopped might have,
    so it is censored there. If all episodes end by death or at the same limit, this is the plain share; without deaths,
    it is one minus the Kaplan-Meier survival.
    """
    reached = ~np.isnan(steps)
    exits = np.where(reached, steps, n_steps).astype(np.int64)
    moments, moment_of = np.unique(exits, return_inverse=True)
    n_moments = len(moments)
    unlocks = np.bincount(moment_of[reached], minlength=n_moments)
    deaths = np.bincount(moment_of[~reached & has_died], minlength=n_moments)
    leaving = np.bincount(moment_of, minlength=n_moments)
    at_risk = leaving[::-1].cumsum()[::-1]
    staying = np.cumprod(1 - (unlocks + deaths) / at_risk)
    before = np.concatenate([[1.0], staying[:-1]])
    shares = np.cumsum(before * unlocks / at_risk)
    rises = np.flatnonzero(unlocks)
    last = max(int(n_steps.max(initial=0)), int(moments[-1]) if n_moments else 0)
    end = float(shares[-1]) if n_moments else 0.0
    return UnlockCurve(
        np.concatenate([[0], moments[rises], [last]]).astype(np.int64), np.concatenate([[0.0], shares[rises], [end]])
    )


def _unlock_time(steps: Floats) -> UnlockTime:
    reached = steps[~np.isnan(steps)]
    if not len(reached):
        return UnlockTime(len(steps), 0, None, None, None)
    return UnlockTime(len(steps), len(reached), *np.quantile(reached, (0.25, 0.5, 0.75)).tolist())
