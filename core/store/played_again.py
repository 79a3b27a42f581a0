"""The reward facts of an episode, made from its decisions, each held against its row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import Connection

from core.facts import EpisodeFacts, FactsWriter
from core.store.blobs import damaged
from core.store.codec import Payload, facts_of
from core.store.damage import named
from core.store.episodes import PayloadReader, components_of, payloads, refuse_gap
from core.store.tables import AnyRow, decisions
from core.types import RewardComponent, StopReason


def facts_from_decisions(
    connection: Connection, key: int, episode_id: str, stop_reason: StopReason | None
) -> EpisodeFacts:
    """The facts of all stored decisions. Raises StoreCorrupt, StoreTooNew, which name the episode."""
    with named(f"Episode {episode_id}"):
        reader = PayloadReader.of(connection, key, episode_id)
        components = components_of(connection, decisions.c.episode_id == key, reader.what)
        writer = FactsWriter()
        end = 0
        for index, row in enumerate(connection.execute(payloads(key).order_by(decisions.c.idx))):
            refuse_gap(row, index, end, reader.what)
            payload = reader.payload(row.idx, row.blob)
            _add(writer, reader, row, payload, components[row.id])
            end = row.step_end
        return writer.facts(foreseen_end=stop_reason is not None and stop_reason.is_foreseen)


def _add(
    writer: FactsWriter, reader: PayloadReader, row: AnyRow, payload: Payload, components: Sequence[RewardComponent]
) -> None:
    what = f"Decision {row.idx} of {reader.what}"
    if len(payload.steps) != row.step_end - row.step_start:
        raise ValueError(f"decision {row.idx} has not as many steps as are stored of it")
    paid = payload.effective_lambda * math.fsum(component.value for component in components)
    _refuse_other_reward(row, paid, math.fsum(step.env_reward for step in payload.steps), what)
    before, after = facts_of(payload, reader.layout)
    writer.add(
        before,
        after,
        payload.unlocked,
        env_reward=row.env_reward,
        reward=row.reward,
        step_end=row.step_end,
        components=components,
    )


def _refuse_other_reward(row: AnyRow, reward: float, env_reward: float, what: str) -> None:
    """Raises StoreCorrupt where a decision's parts do not add up to what is stored as earned: one is missing, say.

    An episode is shown all the same, and its ledger points at the decision; sums over many could not.
    """
    pairs = ((reward, row.reward), (env_reward, row.env_reward))
    if not all(math.isclose(sum_, stored, rel_tol=1e-9, abs_tol=1e-9) for sum_, stored in pairs):
        raise damaged(what, ValueError(f"its parts come to {pairs[0][0]:g} and it earned {row.reward:g}"))
