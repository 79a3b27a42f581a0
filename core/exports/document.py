"""An episode as one JSON document: `python -m core.exports EPISODE_ID [--out FILE]`.

The document is versioned and complete: everything that is stored of the episode is in it, scenes too. Its JSON Schema
is printed by `python -m core.exports --schema`; in words:

| field       | what it holds                                                                                          |
|-------------|--------------------------------------------------------------------------------------------------------|
| `format`    | always `craftscope.episode`                                                                            |
| `version`   | 1; raised when a field changes its meaning or goes away, not when one is added                         |
| `run`       | the run: id, name, time, configuration as given, what links it to a trainer's traces                   |
| `episode`   | id, `spec` (seed, policy, environment, reward configuration, limits, engine), how it ended, sums       |
| `summary`   | the step rewards summed up for trainers: sums, unlocks, and the reward configuration                   |
| `initial`   | the world after reset: `facts`, `scene`, digests; null where the reset failed                          |
| `decisions` | in order: observation, tool calls as they came and as they were read, model call, `before` (facts),    |
|             | `steps` (each with the state after it), `reward` in parts, unlocks, timing, error, warning             |

Decisions and steps count from 0. Times called `*_at` are UTC; `*_s` are seconds on the episode's clock, `*_ms` are
durations. `env_reward` is what Crafter pays, `reward` what the shaping pays.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from core.errors import InvalidInput
from core.rewards.summary import RewardSummary, reward_summary
from core.store import TraceStore
from core.store.blobs import to_json
from core.types import (
    EpisodeError,
    EpisodeSpec,
    EpisodeStatus,
    ModelCall,
    RewardComponent,
    RunSource,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    ToolCall,
)

FORMAT: Final = "craftscope.episode"
VERSION: Final = 1

Exported = TypeVar("Exported", bound=msgspec.Struct)


class ExportedRun(msgspec.Struct, frozen=True):
    """The run that the episode belongs to."""

    id: str
    name: str
    created_at: datetime
    config: dict[str, Any]
    training_session_id: str | None
    trace_correlation_id: str
    source: RunSource = RunSource.LAUNCH
    mode: str | None = None
    session_url: str | None = None
    batch_id: str | None = None


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
    steps: tuple[Step, ...]
    not_executed: tuple[str, ...]
    env_reward: float
    reward: ExportedReward
    unlocked: tuple[str, ...]
    unique_unlocked: tuple[str, ...]
    timing: ExportedTiming
    error: EpisodeError | None
    warning: str | None
    value: float | None = None
    logprob: float | None = None
    numbers: dict[str, float] = {}


class EpisodeDocument(msgspec.Struct, frozen=True):
    """The whole document."""

    format: str
    version: int
    run: ExportedRun
    episode: ExportedEpisode
    summary: RewardSummary
    initial: StateRecord | None
    decisions: tuple[ExportedDecision, ...]


def episode_json(store: TraceStore, episode_id: str) -> bytes:
    """The document of an episode, as UTF-8 JSON; the same bytes each time for an episode that is over.

    Raises UnknownEpisode, StoreCorrupt, StoreUnavailable.
    """
    summary = store.episodes.get(episode_id)
    episode = store.episodes.load(summary.id)
    run = store.runs.get(summary.run_id)
    document = EpisodeDocument(
        format=FORMAT,
        version=VERSION,
        run=_exported(run, ExportedRun, trace_correlation_id=run.correlation_id),
        episode=_exported(
            summary, ExportedEpisode, reward_config_hash=summary.config_hash, unlock_steps=episode.unlock_steps
        ),
        summary=reward_summary(episode.spec.reward, episode.decisions),
        initial=episode.initial,
        decisions=tuple(_exported(decision, ExportedDecision) for decision in episode.decisions),
    )
    return to_json(document)


def _exported(record: object, kind: type[Exported], **renamed: Any) -> Exported:
    """What `kind` has of a record's fields and derived values, all the way down. renamed: those of another name."""
    names = {name for name in kind.__struct_fields__ if name not in renamed}
    return msgspec.convert({name: getattr(record, name) for name in names} | renamed, kind, from_attributes=True)


def read_document(text: bytes) -> EpisodeDocument:
    """The document that `episode_json` wrote. Raises InvalidInput for another one or one of a newer version."""
    try:
        document = msgspec.json.decode(text, type=EpisodeDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
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
