"""`TraceStore`: one database and its repositories."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from sqlalchemy import delete, insert, select

from core.settings import Settings
from core.store.blobs import from_json, to_json
from core.store.database import Database, sqlite_url
from core.store.episodes import Episodes
from core.store.queue import Queue
from core.store.recorder import EpisodeRecorder
from core.store.rewards import Rewards
from core.store.rows import Listing, listing
from core.store.runs import Runs
from core.store.schema import migrate
from core.store.seeds import Seeds
from core.store.tables import model_profiles, store_meta
from core.store.whole import store_whole
from core.types import Episode, ModelProfile, Run


class Profiles:
    """Connection profiles for models, by name: URL, model and the name of the key. Never a key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Listing[ModelProfile]:
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


class TraceStore:
    """All that is stored, behind one database URL. Safe to use from many threads; each process opens its own.

    Each method of a repository is one short transaction. All raise StoreUnavailable if the database cannot be reached,
    read or written (locked for more than 30 s, disk full, no permission), StoreGone if its file was removed or
    replaced while it was open, and StoreCorrupt if it is corrupt; what was stored before stays as it is.
    """

    def __init__(self, url: str) -> None:
        """Open the database at an SQLAlchemy URL (`sqlite:///<file>` or `postgresql://...`).

        Creates it, or brings its schema up to date, if needed; processes that do so at once wait for each other.
        Raises InvalidConfig for a URL that cannot be used, and StoreUnavailable, StoreCorrupt, StoreTooNew.
        """
        self._database = Database(url)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise
        self.runs = Runs(self._database)
        self.episodes = Episodes(self._database)
        self.queue = Queue(self._database)
        self.rewards = Rewards(self._database)
        self.seeds = Seeds(self._database)
        self.profiles = Profiles(self._database)

    @classmethod
    def from_settings(cls, settings: Settings) -> TraceStore:
        """Open the store that the settings name; creates the data folder if the database is a file in it."""
        return cls(settings.db_url or sqlite_url(settings.data_dir))

    @property
    def url(self) -> str:
        """The database's URL, without its password."""
        return self._database.url

    @property
    def backend(self) -> str:
        """What holds the data, such as `SQLite 3.53.4 (pysqlite3)`."""
        return self._database.backend

    @property
    def read_only(self) -> bool:
        """Whether it can be read but not written; all that write raise StoreReadOnly then."""
        return bool(self.read_only_reason)

    @property
    def read_only_reason(self) -> str:
        """Why it is read-only and what to do, in sentences; empty where it can be written."""
        return self._database.read_only_reason

    @property
    def generation(self) -> int:
        """Rises with every deletion, so that caches notice."""
        with self._database.reading() as connection:
            return connection.execute(select(store_meta.c.generation)).scalar_one()

    def recorder(self, episode_id: str) -> EpisodeRecorder:
        """Records an episode that this worker claimed; call `start` first."""
        return EpisodeRecorder(self._database, episode_id)

    def add_whole(self, run: Run, episode: Episode, *, group_index: int = 0, created_at: datetime) -> bool:
        """Store an episode that was played elsewhere, in one transaction, and its run if there is none of that id.

        False if an episode of its id is stored already. Raises InvalidInput for one that is not over.
        """
        return store_whole(self._database, run, episode, group_index=group_index, created_at=created_at)

    def close(self) -> None:
        """Close all connections. May be called twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
