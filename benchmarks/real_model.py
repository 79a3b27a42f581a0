"""What a real small model does with the game, and how fast: `python -m benchmarks.real_model [SEEDS]`.

SEEDS is a range such as `100-109`; 42-46 by default. Each seed's first world is played for 10 decisions with the
policy's default settings, but a call that cannot be used costs a step and the episode goes on, so that all 10 are asked
for, and the server's draws are given a seed. Beside it the random player takes as many steps in that world.

Not one of `python -m benchmarks`, as the model has to be installed first (`make real-model`).
"""

from __future__ import annotations

import argparse
import statistics
import sys

from core.evidence import ModelTotals, model_totals
from core.rollout import NoRecorder, run_rollout
from core.types import Episode, EpisodeSpec, Limits, PolicySpec
from tests.policies.llm.real_server import MODEL, NotInstalled, RealServer

DECISIONS = 10
DRAWS = '{"seed": 1}'


def play(seed: int, policy: PolicySpec, limits: Limits) -> Episode:
    """Plays one episode without recording it."""
    spec = EpisodeSpec(seed, policy, policy_seed=seed, limits=limits)
    (episode,) = run_rollout(spec, episode_id="", run_id="", recorder_for=lambda queued: NoRecorder())
    return episode


def totals_of(*episodes: Episode) -> ModelTotals:
    """What the calls of these episodes come to."""
    totals = model_totals(decision for episode in episodes for decision in episode.decisions)
    assert totals is not None
    return totals


def usable(totals: ModelTotals) -> int:
    """How many calls were executed."""
    return totals.calls - sum(totals.errors.values())


def in_words(errors: dict[str, int]) -> str:
    """`2 truncated, 1 no_tool_call`, or a dash."""
    return ", ".join(f"{count} {kind}" for kind, count in errors.items()) or "-"


def main() -> None:
    """Prints a line for each seed, the means, and what the calls took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default="42-46")
    parser.add_argument("--temperature", type=float, default=0.2)
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    episodes: list[Episode] = []
    by_chance: list[Episode] = []
    print("seed  achievements  by chance  return  steps  usable calls  p50 s  errors, unlocked", flush=True)
    try:
        with RealServer.started() as server:
            params = {"base_url": server.url, "model": MODEL, "on_bad_call": "noop", "extra": DRAWS}
            policy = PolicySpec("llm", {**params, "temperature": arguments.temperature})
            for seed in range(int(first), int(last or first) + 1):
                episode = play(seed, policy, Limits(max_decisions=DECISIONS))
                chance = play(seed, PolicySpec("random"), Limits(max_steps=max(1, episode.length)))
                totals = totals_of(episode)
                print(
                    f"{seed:4}  {len(episode.unlock_steps):12}  {len(chance.unlock_steps):9}  {episode.env_return:6.2f}"
                    f"  {episode.length:5}  {usable(totals):6} of {totals.calls:2}  {(totals.p50_ms or 0) / 1000:5.1f}"
                    f"  {in_words(totals.errors)}; {', '.join(episode.unlock_steps) or '-'}",
                    flush=True,
                )
                episodes.append(episode)
                by_chance.append(chance)
    except NotInstalled as missing:
        sys.exit(str(missing))
    totals = totals_of(*episodes)
    waited_s = sum(decision.timing.inference_ms for episode in episodes for decision in episode.decisions) / 1000
    print(f"mean achievements: {statistics.fmean(len(e.unlock_steps) for e in episodes):.2f}")
    print(f"mean achievements by chance: {statistics.fmean(len(e.unlock_steps) for e in by_chance):.2f}")
    print(f"mean return: {statistics.fmean(e.env_return for e in episodes):.2f}")
    print(f"usable calls: {usable(totals)} of {totals.calls} ({usable(totals) / totals.calls:.0%})")
    print(f"errors: {in_words(totals.errors)}")
    print(f"tokens read: {totals.tokens_in or 0:,}, {totals.tokens_cached or 0:,} of them cached")
    print(f"tokens written: {totals.tokens_out or 0:,}, {(totals.tokens_out or 0) / waited_s:.1f} a second of waiting")
    print(f"a call: p50 {(totals.p50_ms or 0) / 1000:.1f} s, p90 {(totals.p90_ms or 0) / 1000:.1f} s")


if __name__ == "__main__":
    main()
