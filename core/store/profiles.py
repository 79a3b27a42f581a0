"""Connection profiles for models: an address, a model, and the name under which its key is found. Never a key."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select
from sqlalchemy import delete as delete_from

from core.store.blobs import from_json, to_json
from core.store.tables import model_profiles
from core.types import ModelProfile


def all_of_them(connection: Connection) -> tuple[ModelProfile, ...]:
    """Every profile, by name. Raises StoreCorrupt."""
    rows = connection.execute(select(model_profiles).order_by(model_profiles.c.name))
    return tuple([from_json(row.profile, ModelProfile, f"The profile {row.name}") for row in rows])


def save(connection: Connection, profile: ModelProfile) -> None:
    """Put a profile in the place of the one of its name."""
    delete(connection, profile.name)
    connection.execute(insert(model_profiles).values(name=profile.name, profile=to_json(profile)))


def delete(connection: Connection, name: str) -> None:
    """Forget the profile of that name, if there is one."""
    connection.execute(delete_from(model_profiles).where(model_profiles.c.name == name))
