"""From the ids that people and URLs use to the rows that they mean."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, select

from core.errors import UnknownEpisode
from core.store.arguments import text
from core.store.tables import episodes, runs

SHORTEST_PREFIX: Final = 6


def episode_key(connection: Connection, episode_id: str) -> int:
    """The key of an episode, by its id or a unique prefix of it. Raises UnknownEpisode, InvalidInput."""
    episode_id = text(episode_id, "The id of an episode")
    key: int | None = connection.scalar(select(episodes.c.id).where(episodes.c.uuid == episode_id))
    if key is not None:
        return key
    shown = _shown(episode_id)
    if len(episode_id) < SHORTEST_PREFIX:
        raise UnknownEpisode(f"No episode {shown} is stored. Give its whole id, or the first six characters or more.")
    prefixed = episodes.c.uuid.startswith(episode_id, autoescape=True)
    found = connection.execute(select(episodes.c.id, episodes.c.uuid).where(prefixed).limit(2)).all()
    if not found:
        raise UnknownEpisode(f"No episode {shown} is stored. It may have been deleted, or is in another database.")
    if len(found) > 1:
        raise UnknownEpisode(f"Several episodes begin with {shown}, such as {found[0].uuid} and {found[1].uuid}.")
    return found[0].id


def run_key(connection: Connection, run_id: str) -> int:
    """The key of a run. Raises UnknownEpisode, InvalidInput."""
    run_id = text(run_id, "The id of a run")
    key: int | None = connection.scalar(select(runs.c.id).where(runs.c.uuid == run_id))
    if key is None:
        raise UnknownEpisode(f"No run {_shown(run_id)} is stored. It may have been deleted, or is in another database.")
    return key


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "...")
