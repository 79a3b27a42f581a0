"""When episodes unlocked their achievements."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select

from core.errors import StoreCorrupt
from core.store.arguments import text
from core.store.blobs import damaged
from core.store.damage import Damage, readable
from core.store.tables import AnyRow, episode_achievements, episodes

UnlockSteps = dict[str, dict[str, int]]


def unlock_steps(connection: Connection, ids: Sequence[str]) -> tuple[UnlockSteps, Damage]:
    """Episode id -> achievement -> index of the step that first unlocked it, in order; and what cannot be read.

    Raises InvalidInput.
    """

    def read(wanted: ColumnElement[bool]) -> list[AnyRow]:
        return list(
            connection.execute(
                select(episodes.c.uuid, episode_achievements.c.name, episode_achievements.c.step)
                .outerjoin(episode_achievements, episode_achievements.c.episode_id == episodes.c.id)
                .where(wanted)
                .order_by(episode_achievements.c.step, episode_achievements.c.name)
            )
        )

    wanted = episodes.c.uuid.in_([text(episode_id, "The id of an episode") for episode_id in ids])
    rows, damage = readable(connection, wanted, [episodes.c.id], read)
    found: UnlockSteps = {}
    wrong: dict[str, StoreCorrupt] = {}
    for row in rows:
        steps = found.setdefault(row.uuid, {})
        if row.name is None:
            continue
        if isinstance(row.name, str) and isinstance(row.step, int) and row.step >= 0:
            steps[row.name] = row.step
        else:
            unlock = f"An unlock ({row.name!r} in step {row.step!r}) of episode {row.uuid}"
            wrong[row.uuid] = damaged(unlock, ValueError("a name or a step is none"))
    return {name: steps for name, steps in found.items() if name not in wrong}, [*wrong.items(), *damage]
