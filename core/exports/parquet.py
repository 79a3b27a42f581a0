"""Episodes, decisions and reward components as three Parquet files."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from core.exports.files import new_folder
from core.store import EpisodeSummary, TraceStore
from core.types import Decision

_EPISODES_AT_ONCE: Final = 20  # a row group of each file

_TIME: Final = pa.timestamp("us", tz="UTC")
_SCHEMAS: Final[Mapping[str, Any]] = {
    "episodes": pa.schema(
        [
            ("episode_id", pa.string()),
            ("run_id", pa.string()),
            ("source", pa.string()),
            ("mode", pa.string()),
            ("training_session_id", pa.string()),
            ("trace_correlation_id", pa.string()),
            ("batch_id", pa.string()),
            ("policy", pa.string()),
            ("seed", pa.int64()),
            ("world_episode", pa.int64()),
            ("group_index", pa.int64()),
            ("status", pa.string()),
            ("stop_reason", pa.string()),
            ("created_at", _TIME),
            ("started_at", _TIME),
            ("ended_at", _TIME),
            ("n_steps", pa.int64()),
            ("n_decisions", pa.int64()),
            ("env_return", pa.float64()),
            ("shaped_return", pa.float64()),
            ("achievements", pa.list_(pa.string())),
            ("reward_config_hash", pa.string()),
            ("reward_config", pa.string()),
        ]
    ),
    "decisions": pa.schema(
        [
            ("episode_id", pa.string()),
            ("decision", pa.int64()),
            ("step_start", pa.int64()),
            ("step_end", pa.int64()),
            ("env_reward", pa.float64()),
            ("reward", pa.float64()),
            ("actions", pa.list_(pa.string())),
            ("unlocked", pa.list_(pa.string())),
            ("error_kind", pa.string()),
            ("inference_ms", pa.float64()),
            ("env_step_ms", pa.float64()),
            ("overhead_ms", pa.float64()),
            ("store_ms", pa.float64()),
            ("value", pa.float64()),
            ("logprob", pa.float64()),
            ("numbers", pa.map_(pa.string(), pa.float64())),
        ]
    ),
    "components": pa.schema(
        [
            ("episode_id", pa.string()),
            ("decision", pa.int64()),
            ("kind", pa.string()),
            ("name", pa.string()),
            ("delta", pa.float64()),
            ("weight", pa.float64()),
            ("value", pa.float64()),
            ("effective_lambda", pa.float64()),
        ]
    ),
}


def write_parquet(store: TraceStore, episodes: Iterable[EpisodeSummary], folder: Path) -> int:
    """Write episodes.parquet, decisions.parquet and components.parquet into a new folder; how many episodes.

    A decision's `reward` is the sum of `effective_lambda * value` over its components. Raises InvalidInput for a folder
    that exists or cannot be made, and what the store raises; no folder is left then. Without an episode none is made.
    """
    left = iter(episodes)
    some = list(islice(left, _EPISODES_AT_ONCE))
    if not some:
        return 0
    count = 0
    with new_folder(folder) as unfinished, ExitStack() as files:
        writers = {
            name: files.enter_context(pq.ParquetWriter(unfinished / f"{name}.parquet", schema))
            for name, schema in _SCHEMAS.items()
        }
        while some:
            for name, rows in _rows(store, some).items():
                if rows:
                    writers[name].write_table(pa.Table.from_pylist(rows, schema=_SCHEMAS[name]))
            count += len(some)
            some = list(islice(left, _EPISODES_AT_ONCE))
    return count


def _rows(store: TraceStore, episodes: list[EpisodeSummary]) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
    for episode in episodes:
        rows["episodes"].append(_episode_row(store, episode))
        for decision in store.episodes.decisions(episode.id):
            fields = {name: getattr(decision, name, None) for name in _SCHEMAS["decisions"].names}
            own = {"episode_id": episode.id, "decision": decision.index, "numbers": list(decision.numbers.items())}
            rows["decisions"].append(fields | own)
        rows["components"] += _component_rows(episode.id, store.episodes.load(episode.id).decisions)
    return rows


def _episode_row(store: TraceStore, episode: EpisodeSummary) -> dict[str, Any]:
    run = store.runs.get(episode.run_id)
    fields = {name: getattr(episode, name, getattr(run, name, None)) for name in _SCHEMAS["episodes"].names}
    reward = msgspec.json.encode(episode.spec.reward).decode()
    own = {"episode_id": episode.id, "reward_config_hash": episode.config_hash, "reward_config": reward}
    return fields | own


def _component_rows(episode_id: str, decisions: Sequence[Decision]) -> Iterator[dict[str, Any]]:
    for decision in decisions:
        scale = {"effective_lambda": decision.reward.effective_lambda}
        for part in decision.reward.components:
            fields = {name: getattr(part, name, None) for name in _SCHEMAS["components"].names}
            yield fields | scale | {"episode_id": episode_id, "decision": decision.index}
