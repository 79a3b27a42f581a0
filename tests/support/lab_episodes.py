"""Hand-written episodes for the Lab: an honest and a farmed one of one world, with rewards of the real shaper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from core.rewards import RewardShaper
from core.settings import Settings
from core.store import TraceStore
from core.types import Decision, Outcome, PolicySpec, RewardConfig, StateFacts, Step, StopReason, Timing
from tests.support.records import START, make_run, state_with

NAMES = ("collect_wood", "place_table", "collect_drink", "eat_cow", "wake_up")
DEFAULTS = RewardConfig(strategy="per_achievement")

Change = tuple[str, int]
"""An achievement, and how often it is reached in a decision."""

# Under the default rewards the first earns +5.29 and the second +7.12: each drink pays 0.06 for ever.
HONEST: tuple[Change, ...] = tuple((name, 1) for name in NAMES)
FARMED: tuple[Change, ...] = (("collect_drink", 1), *[("collect_drink", 5)] * 20, ("collect_drink", 1))


def record_changes(
    store: TraceStore,
    episode_id: str,
    changes: Sequence[Change],
    *,
    run_id: str = "",
    policy: str = "scripted",
    seed: int = 13,
    group_index: int = 0,
    reward: RewardConfig = DEFAULTS,
    minutes: int = 0,
) -> None:
    """Launch a run of one episode and record it: a decision of one step for each change."""
    run = make_run(
        run_id or f"run-of-{episode_id}",
        [episode_id],
        minutes=minutes,
        seed=seed,
        policy=PolicySpec(policy),
        reward=reward,
    )
    store.runs.create(replace(run, episodes=(replace(run.episodes[0], group_index=group_index),)))
    record_claimed(store, changes, reward)


def record_pair(folder: Path) -> None:
    """An honest and a farmed episode of one world, `honest01` and `farmed01`, into a data folder."""
    with TraceStore.from_settings(Settings(folder, None, 2)) as store:
        record_changes(store, "honest01", HONEST)
        record_changes(store, "farmed01", FARMED, policy="farmer", minutes=1)


def record_group(
    store: TraceStore, run_id: str, episodes: dict[str, Sequence[Change]], *, policy: str = "scripted", seed: int = 13
) -> None:
    """Launch a run of several episodes of one seed, and record them."""
    run = make_run(run_id, list(episodes), seed=seed, policy=PolicySpec(policy), reward=DEFAULTS)
    store.runs.create(run)
    for changes in episodes.values():
        record_claimed(store, changes, DEFAULTS)


def record_claimed(store: TraceStore, changes: Sequence[Change], reward: RewardConfig) -> None:
    """Record the episode that is next in the queue."""
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None
    recorder = store.recorder(claimed[1].id)
    facts = StateFacts(dict.fromkeys(NAMES, False), {"health": 9, "drink": 9}, dict.fromkeys(NAMES, 0))
    recorder.start(START, state_with(facts))
    shaper = RewardShaper(reward)
    for index, (name, times) in enumerate(changes):
        after = StateFacts(
            facts.achievements | {name: True},
            facts.inventory,
            facts.achievement_counts | {name: facts.achievement_counts[name] + times},
        )
        scored = shaper.score(facts, after, env_reward=0.0)
        unlocked = () if facts.achievements[name] else (name,)
        recorder.record(
            Decision(
                index=index,
                observation="",
                tool_calls=(),
                steps=(Step(index, "do", 0.0, False, False, state_with(after)),),
                not_executed=(),
                before=facts,
                reward=scored,
                unlocked=unlocked,
                unique_unlocked=unlocked,
                timing=Timing(
                    index * 0.1, index * 0.1 + 0.01, ((index * 0.1 + 0.02, index * 0.1 + 0.03),), index * 0.1 + 0.04
                ),
            )
        )
        facts = after
    recorder.finish(Outcome(StopReason.MAX_STEPS, START + timedelta(seconds=9)))
