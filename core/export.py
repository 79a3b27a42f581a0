"""An episode as one JSON document: `python -m core.export EPISODE_ID [--out FILE]`.

The document is versioned and complete: everything that is stored of the episode is in it, scenes too. Its JSON Schema
is printed by `python -m core.export --schema`; in words:

| field       | what it holds                                                                                          |
|-------------|--------------------------------------------------------------------------------------------------------|
| `format`    | always `craftscope.episode`                                                                            |
| `version`   | 1; raised when a field changes its meaning or goes away, not when one is added                         |
| `run`       | the launch: id, name, time, configuration as it was given, what joins it to a trainer's traces         |
| `episode`   | id, `spec` (seed, policy, environment, reward configuration, limits, engine), how it ended, sums       |
| `summary`   | the step rewards summed up for trainers: sums, unlocks, and the configuration that made them           |
| `initial`   | the world after reset: `facts`, `scene`, digests; null where the reset failed                          |
| `decisions` | in order: observation, tool calls as they came and as they were read, model call, `before` (facts),    |
|             | `steps` (each with the state after it), `reward` in parts, unlocks, timing, error, warning             |

Decisions and steps count from 0. Times called `*_at` are UTC; `*_s` are seconds on the episode's clock, `*_ms` are
durations. `env_reward` is what Crafter pays, `reward` what the shaping pays.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from core.errors import CraftscopeError, InvalidInput
from core.rewards.summary import RewardSummary, reward_summary
from core.settings import load_settings
from core.store import EpisodeSummary, RunSummary, TraceStore
from core.store.blobs import to_json
from core.types import (
    Decision,
    EpisodeError,
    EpisodeSpec,
    EpisodeStatus,
    ModelCall,
    RewardBreakdown,
    RewardComponent,
    Scene,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)

FORMAT: Final = "craftscope.episode"
VERSION: Final = 1


class ExportedRun(msgspec.Struct, frozen=True):
    """The launch that the episode belongs to."""

    id: str
    name: str
    created_at: datetime
    config: dict[str, Any]
    training_session_id: str | None
    trace_correlation_id: str


class ExportedEpisode(msgspec.Struct, frozen=True):
    """The episode without its decisions. unlock_steps: each achievement with the step that unlocked it."""

    id: str
    group_index: int
    spec: EpisodeSpec
    reward_config_hash: str
    status: EpisodeStatus
    stop_reason: StopReason | None
    error: EpisodeError | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    n_steps: int
    n_decisions: int
    env_return: float
    shaped_return: float
    unlock_steps: dict[str, int]


class ExportedState(msgspec.Struct, frozen=True):
    """The world after reset or after a step."""

    facts: StateFacts
    scene: Scene
    state_digest: str
    world_digest: str


class ExportedStep(msgspec.Struct, frozen=True):
    """One environment step; `state` is the one after it."""

    index: int
    action: str
    env_reward: float
    terminated: bool
    truncated: bool
    state: ExportedState


class ExportedReward(msgspec.Struct, frozen=True):
    """`base` is the sum of the components' values, `total` is `effective_lambda` times that."""

    strategy: str
    effective_lambda: float
    components: tuple[RewardComponent, ...]
    new_achievements: tuple[str, ...]
    credited_achievements: tuple[str, ...]
    base: float
    total: float


class ExportedTiming(msgspec.Struct, frozen=True):
    """When things happened, and the durations that follow from it."""

    agent_request_start_s: float
    agent_response_s: float
    env_steps_s: tuple[tuple[float, float], ...]
    decision_ready_s: float
    inference_ms: float
    env_step_ms: float
    decision_ms: float
    overhead_ms: float
    store_ms: float | None


class ExportedDecision(msgspec.Struct, frozen=True):
    """One policy call and all that followed from it."""

    index: int
    observation: str
    tool_calls: tuple[ToolCall, ...]
    model_call: ModelCall | None
    before: StateFacts
    steps: tuple[ExportedStep, ...]
    not_executed: tuple[str, ...]
    env_reward: float
    reward: ExportedReward
    unlocked: tuple[str, ...]
    unique_unlocked: tuple[str, ...]
    timing: ExportedTiming
    error: EpisodeError | None
    warning: str | None


class EpisodeDocument(msgspec.Struct, frozen=True):
    """The whole document."""

    format: str
    version: int
    run: ExportedRun
    episode: ExportedEpisode
    summary: RewardSummary
    initial: ExportedState | None
    decisions: tuple[ExportedDecision, ...]


def episode_json(store: TraceStore, episode_id: str) -> bytes:
    """The document of an episode, as UTF-8 JSON; the same bytes each time for an episode that is over.

    Raises UnknownEpisode, StoreCorrupt, StoreUnavailable.
    """
    summary = store.episode(episode_id)
    episode = store.load_episode(summary.id)
    document = EpisodeDocument(
        format=FORMAT,
        version=VERSION,
        run=_run(store.run(summary.run_id)),
        episode=_episode(summary, episode.unlock_steps),
        summary=reward_summary(episode.spec.reward, episode.decisions),
        initial=None if episode.initial is None else _state(episode.initial),
        decisions=tuple(map(_decision, episode.decisions)),
    )
    return to_json(document)


def read_document(text: bytes) -> EpisodeDocument:
    """The document that `episode_json` wrote. Raises InvalidInput for another one or one of a newer version."""
    try:
        document = msgspec.json.decode(text, type=EpisodeDocument)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"This is not an exported episode: {error}.") from error
    if document.format != FORMAT or document.version > VERSION:
        raise InvalidInput(
            f"This is {document.format!r} of version {document.version}; "
            f"{FORMAT!r} up to version {VERSION} can be read. Update Craftscope if it is newer."
        )
    return document


def document_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return msgspec.json.decode(to_json(msgspec.json.schema(EpisodeDocument)))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that it is never seen half written. Raises InvalidInput.

    A link's target is written, and what is there and is no plain file (a pipe, a device) is written to as it is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        _write_through(path, content)
        return
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({error.strerror}). Name another file.") from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.replace(path)
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written ({error.strerror}). Free some space or name another file."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_through(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written ({error.strerror}). Name another file.") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives back the exit code."""
    parser = argparse.ArgumentParser(prog="python -m core.export", description="Write an episode as one JSON document.")
    parser.add_argument("episode_id", nargs="?", help="its id, or the first six characters or more")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write; without it, to standard output")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of such documents instead")
    given = parser.parse_args(arguments)
    if given.schema == (given.episode_id is not None):
        parser.error("give an episode id, or --schema")
    try:
        _put(given.out, to_json(document_schema()) if given.schema else _export(given.episode_id))
    except CraftscopeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _export(episode_id: str) -> bytes:
    with TraceStore.from_settings(load_settings()) as store:
        return episode_json(store, episode_id)


def _put(path: Path | None, content: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(content + b"\n")
        sys.stdout.flush()
    else:
        write_whole(path, content)


def _run(run: RunSummary) -> ExportedRun:
    return ExportedRun(
        id=run.id,
        name=run.name,
        created_at=run.created_at,
        config=run.config,
        training_session_id=run.training_session_id,
        trace_correlation_id=run.correlation_id,
    )


def _episode(summary: EpisodeSummary, unlock_steps: dict[str, int]) -> ExportedEpisode:
    return ExportedEpisode(
        id=summary.id,
        group_index=summary.group_index,
        spec=summary.spec,
        reward_config_hash=summary.config_hash,
        status=summary.status,
        stop_reason=summary.stop_reason,
        error=summary.error,
        created_at=summary.created_at,
        started_at=summary.started_at,
        ended_at=summary.ended_at,
        n_steps=summary.n_steps,
        n_decisions=summary.n_decisions,
        env_return=summary.env_return,
        shaped_return=summary.shaped_return,
        unlock_steps=unlock_steps,
    )


def _decision(decision: Decision) -> ExportedDecision:
    return ExportedDecision(
        index=decision.index,
        observation=decision.observation,
        tool_calls=decision.tool_calls,
        model_call=decision.model_call,
        before=decision.before,
        steps=tuple(map(_step, decision.steps)),
        not_executed=decision.not_executed,
        env_reward=decision.env_reward,
        reward=_reward(decision.reward),
        unlocked=decision.unlocked,
        unique_unlocked=decision.unique_unlocked,
        timing=_timing(decision.timing),
        error=decision.error,
        warning=decision.warning,
    )


def _step(step: Step) -> ExportedStep:
    return ExportedStep(
        index=step.index,
        action=step.action,
        env_reward=step.env_reward,
        terminated=step.terminated,
        truncated=step.truncated,
        state=_state(step.state),
    )


def _state(state: StateRecord) -> ExportedState:
    return ExportedState(state.facts, state.scene, state.state_digest, state.world_digest)


def _reward(reward: RewardBreakdown) -> ExportedReward:
    return ExportedReward(
        strategy=reward.strategy,
        effective_lambda=reward.effective_lambda,
        components=reward.components,
        new_achievements=reward.new_achievements,
        credited_achievements=reward.credited_achievements,
        base=reward.base,
        total=reward.total,
    )


def _timing(timing: Timing) -> ExportedTiming:
    return ExportedTiming(
        **asdict(timing),
        inference_ms=timing.inference_ms,
        env_step_ms=timing.env_step_ms,
        decision_ms=timing.decision_ms,
        overhead_ms=timing.overhead_ms,
    )


if __name__ == "__main__":
    sys.exit(main())
