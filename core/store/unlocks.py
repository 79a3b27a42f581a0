"""When episodes unlocked their achievements."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from core.store.arguments import text
from core.store.tables import episode_achievements, episodes


def unlock_steps(connection: Connection, ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Episode id -> achievement -> index of the step that first unlocked it, in order. Raises InvalidInput."""
    wanted = [text(episode_id, "The id of an episode") for episode_id in ids]
    rows = connection.execute(
        select(episodes.c.uuid, episode_achievements.c.name, episode_achievements.c.step)
        .outerjoin(episode_achievements, episode_achievements.c.episode_id == episodes.c.id)
        .where(episodes.c.uuid.in_(wanted))
        .order_by(episode_achievements.c.step, episode_achievements.c.name)
    )
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        steps = found.setdefault(row.uuid, {})
        if row.name is not None:
            steps[row.name] = row.step
    return found
