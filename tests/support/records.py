"""Stored records. The same number gives the same ones in every process."""

from __future__ import annotations

import random
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from alembic import command
from sqlalchemy import MetaData, insert, select

from core.store import DecisionSummary, TraceStore
from core.store.database import Database
from core.store.recorder import EpisodeRecorder
from core.store.schema import alembic_config
from core.types import (
    Decision,
    Difficulty,
    DroppedAction,
    EnvConfig,
    EpisodeSpec,
    Limits,
    ModelCall,
    Outcome,
    PolicySpec,
    QueuedEpisode,
    RewardBreakdown,
    RewardComponent,
    RewardConfig,
    Run,
    RunSource,
    Scene,
    SeedDescription,
    Sprite,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ACTIONS = ("noop", "move_left", "move_right", "do", "sleep")
ACHIEVEMENTS = ("collect_wood", "place_table", "collect_drink", "wake_up")
ITEMS = ("health", "food", "wood", "sapling")
SEED_DESCRIPTION = SeedDescription(
    seed=42,
    world_episode=1,
    env=EnvConfig(),
    engine_version="engine-1",
    radius=8,
    trees=12,
    cows=3,
    hostiles=0,
    difficulty=Difficulty.EASY,
    start=(32, 32),
    inventory={"health": 9},
    distances={"water": 4, "diamond": None},
    picture_png=b"\x89PNG\x00\xff",
)


def make_spec(seed: int = 42, **changes: Any) -> EpisodeSpec:
    """A specification with values that are not the defaults."""
    fields: dict[str, Any] = {
        "policy": PolicySpec("random", {"actions_per_call": 3}),
        "policy_seed": 7 + seed,
        "reward": RewardConfig(strategy="per_achievement", weights={"collect_wood": 2.5}, k_limits={"wake_up": 0}),
        "limits": Limits(max_steps=300),
        "engine_version": "engine-1",
    }
    return EpisodeSpec(seed, **{**fields, **changes})


def make_run(run_id: str, episode_ids: list[str], *, minutes: int = 0, **spec: Any) -> Run:
    """A run that was launched some minutes after START; the i-th episode has seed i unless one is given."""
    episodes = [
        QueuedEpisode(episode_id, make_spec(**{"seed": index, **spec}), group_index=index)
        for index, episode_id in enumerate(episode_ids)
    ]
    created_at = START + timedelta(minutes=minutes)
    return Run(
        run_id,
        created_at,
        tuple(episodes),
        name=f"Run {run_id}",
        config={"seeds": [*range(len(episodes))], "nested": [1, None]},
        source=RunSource.SERVICE,
        mode="rl",
        session_url="https://trainer.example",
        batch_id="batch-1",
    )


def make_state(step: int, draw: random.Random) -> StateRecord:
    """The state after `step` steps (0: after reset)."""
    facts = StateFacts(
        achievements={name: draw.random() < 0.05 * step for name in ACHIEVEMENTS},
        inventory={name: draw.randrange(10) for name in ITEMS},
        achievement_counts={name: step // (position + 2) for position, name in enumerate(ACHIEVEMENTS)},
        position=(draw.randrange(64), draw.randrange(64)),
    )
    scene = Scene(
        step=step,
        grid=(9, 7),
        materials=tuple(draw.randrange(13) for _ in range(63)),
        sprites=(Sprite("player-left", 4, 3), Sprite("zombie", draw.randrange(9), draw.randrange(7))),
        inventory=facts.inventory,
        sleeping=step % 7 == 3,
    )
    return StateRecord(facts, scene, state_digest=f"{draw.getrandbits(128):032x}", world_digest=f"w{step:031x}")


def make_decisions(count: int, *, seed: int = 1) -> tuple[StateRecord, list[Decision]]:
    """The state after reset and `count` decisions of 0 to 3 steps each that follow on each other."""
    draw = random.Random(seed)
    state = initial = make_state(0, draw)
    decisions: list[Decision] = []
    seen: set[str] = set()
    n_steps = 0
    for index in range(count):
        before = state.facts
        steps: list[Step] = []
        for _ in range(draw.choice((0, 1, 1, 2, 3))):
            state = make_state(n_steps + 1, draw)
            steps.append(Step(n_steps, draw.choice(ACTIONS), round(draw.uniform(-1, 1), 3), False, False, state))
            n_steps += 1
        unlocked = tuple(n for n in ACHIEVEMENTS if state.facts.achievements[n] and not before.achievements[n])
        decisions.append(
            Decision(
                index=index,
                observation=f"Step {n_steps} of 300. You carry wood {before.inventory['wood']}.",
                tool_calls=(_tool_call(index, [step.action for step in steps]),),
                steps=tuple(steps),
                not_executed=("noop",) if index % 5 == 4 else (),
                before=before,
                reward=_reward(before, state.facts, unlocked),
                unlocked=unlocked,
                unique_unlocked=tuple(name for name in unlocked if name not in seen),
                timing=_timing(index, len(steps)),
                model_call=_model_call(index) if index % 2 else None,
                warning="One action was not known." if index % 3 == 0 else None,
            )
        )
        seen.update(unlocked)
    return initial, decisions


def record_episode(
    store: TraceStore,
    episode_id: str,
    decisions: int = 5,
    *,
    seed: int = 1,
    stop_reason: StopReason = StopReason.MAX_STEPS,
) -> None:
    """Claim the next queued episode, which must be this one, and record it from start to end."""
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None and claimed[1].id == episode_id
    recorder = store.recorder(episode_id)
    initial, made = make_decisions(decisions, seed=seed)
    recorder.start(START, initial)
    for decision in made:
        recorder.record(decision)
    recorder.finish(Outcome(stop_reason, START + timedelta(seconds=9)))


def record_run(store: TraceStore, *episode_ids: str, decisions: int = 5) -> None:
    """A run, `run-1`, of these episodes, recorded from start to end."""
    store.runs.create(make_run("run-1", list(episode_ids)))
    for episode_id in episode_ids:
        record_episode(store, episode_id, decisions)


def start_recording(store: TraceStore, episode_id: str = "episode-1", *, worker: str = "test") -> EpisodeRecorder:
    """The recorder of an episode that runs, before its first decision."""
    store.runs.create(make_run(f"run-of-{episode_id}", [episode_id]))
    assert store.queue.claim_next(worker=worker) is not None
    recorder = store.recorder(episode_id)
    recorder.start(START, make_decisions(0)[0])
    return recorder


def change(store: TraceStore, *statements: str) -> None:
    """Change rows as no part of the program does."""
    with store._database.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def copy_as_of(revision: str, url: str, source: TraceStore) -> None:
    """Create the database at `url` as an earlier version left it: with its schema, and the rows of `source`."""
    config = alembic_config()
    with closing(Database(url)) as database, database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        older, newer = MetaData(), MetaData()
        older.reflect(connection)
        with source._database.reading() as reading:
            newer.reflect(reading)
            for table in older.sorted_tables:
                if table.name in ("alembic_version", "store_meta"):  # the migrations fill them
                    continue
                columns = [newer.tables[table.name].c[column.name] for column in table.columns]
                rows = [dict(row) for row in reading.execute(select(*columns)).mappings()]
                if rows:
                    connection.execute(insert(table), rows)


def _tool_call(index: int, actions: list[str]) -> ToolCall:
    dropped = (DroppedAction("fly", 'There is no action "fly".'),) if index % 3 == 0 else ()
    return ToolCall("interact", f'{{"actions": {actions}}}', f"call-{index}", tuple(actions), dropped, "To get wood.")


def _reward(before: StateFacts, after: StateFacts, unlocked: tuple[str, ...]) -> RewardBreakdown:
    rises = {name: after.inventory[name] - before.inventory[name] for name in ITEMS}
    components = [RewardComponent("achievement", name, 1.0, 2.5, 2.5, 0, 1) for name in unlocked]
    components += [RewardComponent("inventory", n, float(d), 0.1, 0.1 * d) for n, d in rises.items() if d > 0]
    return RewardBreakdown("per_achievement", 0.5, tuple(components), unlocked, unlocked)


def _timing(index: int, n_steps: int) -> Timing:
    asked_s = index * 0.1
    spans = tuple((asked_s + 0.02 + 0.001 * i, asked_s + 0.0205 + 0.001 * i) for i in range(n_steps))
    return Timing(asked_s, asked_s + 0.019, spans, asked_s + 0.031)


def _model_call(index: int) -> ModelCall:
    """A prompt that grows with each call, as a conversation does."""
    messages = [{"role": "system", "content": "Play well. " * 40}]
    messages += [{"role": "user", "content": f"What now, at {turn}? " * 20} for turn in range(index)]
    return ModelCall(
        provider="test",
        model="model-1",
        request={"model": "model-1", "temperature": 0.2, "messages": messages, "tools": [{"name": "interact"}]},
        response_text='{"choices": [1]}',
        tokens_in=120 + index,
        tokens_out=9,
        latency_ms=812.25,
        cost_usd=0.0012,
        retries=index % 2,
    )


def state_with(facts: StateFacts) -> StateRecord:
    """A state of those facts, in a world of one cell."""
    scene = Scene(step=0, grid=(1, 1), materials=(2,), sprites=(), inventory=dict(facts.inventory), sleeping=False)
    return StateRecord(facts, scene, "", "")


def decision_summary(index: int, start: int, end: int) -> DecisionSummary:
    return DecisionSummary(index, start, end, 0.0, 0.0, end > start, None, (), 1.0, 1.0, 0.0, None, ())


# three steps, one step, two steps, and one that failed without a step
DECISIONS = (decision_summary(0, 0, 3), decision_summary(1, 3, 4), decision_summary(2, 4, 6), decision_summary(3, 6, 6))
