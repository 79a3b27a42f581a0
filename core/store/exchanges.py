"""Decisions one after another, each with what was asked and answered and without its states."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy.exc import ArgumentError

from core.errors import InvalidInput, StoreCorrupt
from core.store.arguments import whole
from core.store.codec import Payload, whole_call
from core.store.episodes import PayloadReader, parts_of
from core.store.ids import episode_key
from core.store.records import Exchange, ExchangeFilter
from core.store.tables import decision_payloads, decisions
from core.types import ModelCall


def following(connection: Connection, episode_id: str, wanted: ExchangeFilter, after: int) -> Exchange | None:
    """The first one after that index which the filter lets through, or None. Raises UnknownEpisode."""
    after = whole(after, "The number of a decision")
    key = episode_key(connection, episode_id)
    row = connection.execute(
        select(decisions.c.idx, decisions.c.reward, decisions.c.env_reward, decision_payloads.c.blob)
        .join(decision_payloads, decision_payloads.c.decision_id == decisions.c.id)
        .where(decisions.c.episode_id == key, decisions.c.idx > after, *_conditions(wanted))
        .order_by(decisions.c.idx)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    reader = PayloadReader.of(connection, key, episode_id)
    payload = reader.payload(row.idx, row.blob)
    call = _call(connection, key, payload, f"Decision {row.idx} of {reader.what}", reader.what)
    failed_as = payload.error.kind if payload.error else None
    return Exchange(
        index=row.idx,
        observation=payload.observation,
        tool_calls=payload.tool_calls,
        model_call=call,
        executed=tuple(step.action for step in payload.steps),
        reward=row.reward,
        env_reward=row.env_reward,
        unlocked=payload.unlocked,
        error_kind=call.error_kind if call else failed_as,
        warning=payload.warning,
        answered_s=payload.timing.agent_response_s,
    )


def _conditions(wanted: ExchangeFilter) -> list[ColumnElement[bool]]:
    try:
        return list(_conditions_of(wanted))
    except (ArgumentError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"The filter of the decisions cannot be used ({error}); give an ExchangeFilter with values of the types "
            "that its fields name."
        ) from error


def _conditions_of(wanted: ExchangeFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.min_reward is not None:
        yield decisions.c.reward >= wanted.min_reward
    if wanted.models:
        yield decisions.c.model.in_(wanted.models)
    if wanted.with_model_call:
        yield decisions.c.model.is_not(None)


def _call(connection: Connection, key: int, payload: Payload, what: str, episode: str) -> ModelCall | None:
    try:
        return whole_call(payload, parts_of(connection, key, payload, episode))
    except LookupError as error:
        raise StoreCorrupt(f"{what} does not fit together with its messages ({error}).") from error
