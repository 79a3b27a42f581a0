"""`store.profiles`: connection profiles for models: a URL, a model, and the name of its key. Never a key."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from core.store.blobs import from_json, to_json
from core.store.database import Database
from core.store.rows import Listing, listing
from core.store.tables import model_profiles
from core.types import ModelProfile


class Profiles:
    """Connection profiles, by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Listing[ModelProfile]:
        """Every profile, by name."""
        columns = (model_profiles.c.name.label("uuid"), model_profiles.c.profile)
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns).order_by(model_profiles.c.name)).all()
        return listing(rows, "The profile", lambda row, name: from_json(row.profile, ModelProfile, name))

    def save(self, profile: ModelProfile) -> None:
        """Store a profile in place of the one of that name."""
        with self._database.writing() as connection:
            connection.execute(delete(model_profiles).where(model_profiles.c.name == profile.name))
            connection.execute(insert(model_profiles).values(name=profile.name, profile=to_json(profile)))

    def delete(self, name: str) -> None:
        """Delete a profile; episodes that were played with it keep their settings."""
        with self._database.writing() as connection:
            connection.execute(delete(model_profiles).where(model_profiles.c.name == name))
