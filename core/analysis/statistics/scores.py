"""What a policy achieves over episodes: success rates, Crafter score, progress and returns, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.statistics.bootstrap import Estimate, SeedBootstrap
from core.analysis.statistics.sample import Sample
from core.types import Floats


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy's episodes. Intervals: 95 %, bootstrap over seeds; none with fewer than `MIN_SEEDS` seeds.

    success, n_successes: the share (0 to 1) and the number of episodes that unlocked each achievement, in the sample's
    order. score: the Crafter score in percent. achievements, env_return, shaped_return, steps: means over episodes.
    """

    n_episodes: int
    n_seeds: int
    success: tuple[Estimate, ...]
    n_successes: tuple[int, ...]
    score: Estimate
    achievements: Estimate
    env_return: Estimate
    shaped_return: Estimate
    steps: Estimate

    @property
    def progress(self) -> Estimate:
        """Mean share (0 to 1) of all achievements that an episode unlocks."""
        return self.achievements.times(1 / len(self.success))


@dataclass(frozen=True, slots=True)
class Distribution:
    """n values: mean, standard deviation (of the population) and quartiles."""

    n: int
    mean: float
    deviation: float
    q1: float
    median: float
    q3: float


def distribution(values: Floats) -> Distribution:
    """Of at least one value. Quartiles are interpolated linearly."""
    quantiles = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return Distribution(len(values), float(values.mean()), float(values.std()), *quantiles)


def crafter_score(success: Floats) -> Floats:
    """The score in percent from success rates (0 to 1) along the last axis: exp(mean(ln(1 + rate in %))) - 1.

    D. Hafner, "Benchmarking the Spectrum of Agent Capabilities", ICLR 2022: a geometric mean, so that a rare
    achievement counts as much as a common one. With few episodes the score is too low on average, because an
    achievement that none of them happened to unlock counts 0.
    """
    return np.asarray(np.expm1(np.log1p(100 * success).mean(axis=-1)), np.float64)


def summarise(sample: Sample) -> Summary:
    """The summary of at least one episode. The same input always gives the same output."""
    n_achievements = len(sample.achievements)
    columns = np.column_stack(
        [sample.unlocked, sample.n_unlocked, sample.env_returns, sample.shaped_returns, sample.n_steps]
    ).astype(np.float64)

    def with_score(means: Floats) -> Floats:
        score = crafter_score(means[..., :n_achievements])
        return np.concatenate([means, score[..., None]], axis=-1)

    bootstrap = SeedBootstrap(sample.seeds)
    estimates = bootstrap.of_means(columns, with_score)
    achievements, env_return, shaped_return, steps, score = estimates[n_achievements:]
    return Summary(
        n_episodes=sample.n_episodes,
        n_seeds=bootstrap.n_seeds,
        success=estimates[:n_achievements],
        n_successes=tuple(int(count) for count in sample.unlocked.sum(axis=0)),
        score=score,
        achievements=achievements,
        env_return=env_return,
        shaped_return=shaped_return,
        steps=steps,
    )
