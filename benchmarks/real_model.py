"""What a real small model does with the game, and how fast: `python -m benchmarks.real_model [SEEDS]`.

SEEDS is a range such as `100-109`; 42-46 by default. Each seed's first world is played for 10 decisions with the
policy's default settings, but a call that cannot be used costs a step and the episode goes on, so that all 10 are asked
for, and the server's draws are given a seed. Beside it the random player takes as many steps in that world.

Not one of `python -m benchmarks`, as the model has to be installed first (`make real-model`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.evidence import ModelTotals, model_totals
from core.rollout import NoRecorder, run_rollout
from core.types import Episode, EpisodeSpec, Limits, PolicySpec
from tests.support.model.real_server import MODEL, NotInstalled, RealServer

DECISIONS = 10
DRAWS = '{"seed": 1}'


@dataclass(frozen=True, slots=True)
class Played:
    """The model's episode of a seed, and the random player's with as many steps."""

    seed: int
    model: Episode
    chance: Episode


def play(server: RealServer, seed: int, temperature: float = 0.2) -> Played:
    """Plays one world, without recording it."""
    params = {"base_url": server.url, "model": MODEL, "on_bad_call": "noop", "extra": DRAWS, "temperature": temperature}
    model = _episode(seed, PolicySpec("llm", params), Limits(max_decisions=DECISIONS))
    return Played(seed, model, _episode(seed, PolicySpec("random"), Limits(max_steps=max(1, model.length))))


def report(worlds: Sequence[Played]) -> Iterator[str]:
    """A line for each seed, the means, and what the calls took."""
    yield "seed  achievements  by chance  return  steps  usable calls  p50 s  errors; unlocked"
    for played in worlds:
        episode, totals = played.model, _totals(played.model)
        yield (
            f"{played.seed:4}  {len(episode.unlock_steps):12}  {len(played.chance.unlock_steps):9}"
            f"  {episode.env_return:6.2f}  {episode.length:5}  {_usable(totals):6} of {totals.calls:2}"
            f"  {(totals.p50_ms or 0) / 1000:5.1f}  {_listed(totals.errors)}; {', '.join(episode.unlock_steps) or '-'}"
        )
    episodes = [played.model for played in worlds]
    totals, speeds = _totals(*episodes), _tokens_a_second(episodes)
    yield f"mean achievements: {statistics.fmean(len(episode.unlock_steps) for episode in episodes):.2f}"
    yield f"mean achievements by chance: {statistics.fmean(len(played.chance.unlock_steps) for played in worlds):.2f}"
    yield f"mean return: {statistics.fmean(episode.env_return for episode in episodes):.2f}"
    yield f"usable calls: {_usable(totals)} of {totals.calls} ({_usable(totals) / totals.calls:.0%})"
    yield f"errors: {_listed(totals.errors)}"
    yield f"tokens read: {totals.tokens_in or 0:,}, {totals.tokens_cached or 0:,} of them cached"
    yield f"tokens written: {totals.tokens_out or 0:,}"
    if speeds:
        yield f"tokens written a second, as the server counts: median {statistics.median(speeds):.1f}"
    yield f"a call: p50 {(totals.p50_ms or 0) / 1000:.1f} s, p90 {(totals.p90_ms or 0) / 1000:.1f} s"


def _episode(seed: int, policy: PolicySpec, limits: Limits) -> Episode:
    spec = EpisodeSpec(seed, policy, policy_seed=seed, limits=limits)
    (episode,) = run_rollout(spec, episode_id="", run_id="", recorder_for=lambda queued: NoRecorder())
    return episode


def _totals(*episodes: Episode) -> ModelTotals:
    totals = model_totals(decision for episode in episodes for decision in episode.decisions)
    assert totals is not None
    return totals


def _usable(totals: ModelTotals) -> int:
    return totals.calls - sum(totals.errors.values())


def _listed(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in errors.items()) or "-"


def _tokens_a_second(episodes: Sequence[Episode]) -> list[float]:
    """Of each answer, without the time that its prompt took."""
    calls = (decision.model_call for episode in episodes for decision in episode.decisions)
    answers = [json.loads(call.response_text) for call in calls if call is not None and call.status == 200]
    return [answer["timings"]["predicted_per_second"] for answer in answers]


def main() -> None:
    """Plays and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default="42-46")
    parser.add_argument("--temperature", type=float, default=0.2)
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    try:
        with RealServer.started() as server:
            worlds = [play(server, seed, arguments.temperature) for seed in seeds]
    except NotInstalled as missing:
        sys.exit(str(missing))
    print("\n".join(report(worlds)))


if __name__ == "__main__":
    main()
