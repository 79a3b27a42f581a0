"""The store's face: each method is one short transaction. The SQL stands in the modules beside this one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from core.errors import StoreError
from core.facts import EpisodeFacts
from core.settings import Settings
from core.store import (
    archive,
    browse,
    deletion,
    episodes,
    exchanges,
    profiles,
    queue,
    runs,
    saved_rewards,
    seeds,
    unlocks,
)
from core.store.archive import ArchivePart, MadePack
from core.store.arguments import in_parts
from core.store.database import Database, sqlite_url
from core.store.recorder import EpisodeRecorder
from core.store.records import (
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSpent,
    EpisodeSummary,
    Exchange,
    ExchangeFilter,
    RunSummary,
    SavedReward,
    Totals,
    Unreadable,
    UnreadableReward,
)
from core.store.schema import migrate
from core.store.seeds import World
from core.types import (
    Decision,
    Difficulty,
    EnvConfig,
    Episode,
    ModelProfile,
    QueuedEpisode,
    RewardConfig,
    Run,
    Scene,
    SeedDescription,
    Spent,
    StateRecord,
)

_ANY_EPISODE = EpisodeFilter()
_ANY_MODEL_CALL = ExchangeFilter()
_PACKS_WAIT_MS = 500

_log = logging.getLogger(__name__)


class TraceStore:
    """All that is stored, behind one database URL. Safe to use from many threads; each process opens its own.

    Every method raises StoreUnavailable where the database cannot be reached, read or written (locked for more than
    30 s, disk full, no permission), StoreGone where its file was removed or replaced meanwhile, StoreCorrupt where it
    is damaged, and InvalidInput for values of another type than asked for; what was stored before stays as it is.
    Ids of episodes may be given as unique prefixes of six characters or more; UnknownEpisode says what is wrong.
    """

    def __init__(self, url: str) -> None:
        """Open the database at an SQLAlchemy URL (`sqlite:///<file>` or `postgresql://...`).

        Creates it, or brings its schema up to date, where needed; processes that do so at once wait for each other.
        Raises InvalidConfig for a URL that cannot be used, and StoreUnavailable, StoreCorrupt, StoreTooNew.
        """
        self._database = Database(url)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def from_settings(cls, settings: Settings) -> TraceStore:
        """Open the store that the settings name; makes the data folder where the database is a file in it."""
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

    def close(self) -> None:
        """Let go of all connections; harmless when done twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------- launching and following

    def create_run(self, run: Run) -> None:
        """Store a run with its episodes as queued. Raises DuplicateId, and then nothing is stored."""
        with self._database.writing() as connection:
            runs.insert_run(connection, run)

    def add_episode(self, run_id: str, episode: QueuedEpisode, *, worker: str = "") -> None:
        """Store a further world of a rollout as running: whoever adds it plays it. Raises DuplicateId."""
        with self._database.writing() as connection:
            runs.insert_following(connection, run_id, episode, worker)

    def claim_next(self, *, worker: str, run_id: str | None = None) -> tuple[str, QueuedEpisode] | None:
        """Take the oldest queued episode, which is running from now on: (run id, episode), or None where none waits."""
        with self._database.writing() as connection:
            return queue.claim_next(connection, worker, run_id)

    def heartbeat(self, episode_id: str) -> None:
        """Say that the episode's worker is alive. Nothing happens where the episode is over."""
        with self._database.writing() as connection:
            queue.heartbeat(connection, episode_id)

    def request_stop(self, *, episode_id: str | None = None, run_id: str | None = None) -> int:
        """Stop one episode or all of a run; gives back how many were asked. Raises UnknownEpisode.

        Queued ones are aborted at once; running ones get a flag that their worker looks at.
        """
        with self._database.writing() as connection:
            return queue.request_stop(connection, episode_id, run_id)

    def stop_requested(self, episode_id: str) -> bool:
        """Whether its worker should stop: somebody asked for it, or the episode is over or deleted."""
        with self._database.reading() as connection:
            return queue.stop_requested(connection, episode_id)

    def interrupt_stale(self, *, older_than_s: float = 15.0) -> tuple[str, ...]:
        """End running episodes without a heartbeat for that long as interrupted; gives back their ids."""
        with self._database.reading() as connection:
            if not queue.stale(connection, older_than_s):
                return ()
        with self._database.writing() as connection:
            return queue.interrupt_stale(connection, older_than_s)

    def interrupt(self, episode_id: str, detail: str) -> bool:
        """End a running episode as interrupted, with a sentence why. False where it was not running."""
        with self._database.writing() as connection:
            return queue.interrupt(connection, episode_id, detail)

    def recorder(self, episode_id: str) -> EpisodeRecorder:
        """What takes down a running episode; goes on where another recorder of that episode stopped."""
        return EpisodeRecorder(self._database, episode_id)

    # --------------------------------------------------------------------------------------------- browsing

    def is_empty(self) -> bool:
        """True where no episode is stored."""
        with self._database.reading() as connection:
            return browse.is_empty(connection)

    @property
    def generation(self) -> int:
        """Rises whenever something is deleted, so that caches notice."""
        with self._database.reading() as connection:
            return browse.generation(connection)

    def runs(self, limit: int = 50) -> tuple[RunSummary, ...]:
        """The newest runs that can be read, newest first. `unreadable_runs` names those that are damaged."""
        with self._database.reading() as connection:
            return runs.newest(connection, limit)

    def unreadable_runs(self) -> tuple[Unreadable, ...]:
        """All runs that are damaged, newest first, with what is wrong. Their episodes may be sound."""
        with self._database.reading() as connection:
            return browse.unreadable(runs.damaged_ones(connection))

    def run(self, run_id: str) -> RunSummary:
        """One run. Raises UnknownEpisode, and StoreCorrupt where it is damaged."""
        with self._database.reading() as connection:
            return runs.one(connection, run_id)

    def run_episodes(self, run_id: str) -> tuple[EpisodeSummary, ...]:
        """All episodes of a run in the order in which they were launched. Raises UnknownEpisode.

        Those that are damaged are left out; `unreadable_episodes` names them.
        """
        with self._database.reading() as connection:
            return tuple(runs.episodes_of(connection, run_id)[0])

    def unreadable_episodes(self, run_id: str) -> tuple[Unreadable, ...]:
        """The episodes of a run that are damaged, with what is wrong. Raises UnknownEpisode."""
        with self._database.reading() as connection:
            return browse.unreadable(runs.episodes_of(connection, run_id)[1])

    def spent(self, run_id: str) -> Spent:
        """What the model calls of a run have come to so far. Raises UnknownEpisode."""
        with self._database.reading() as connection:
            return runs.spent(connection, run_id)

    def spent_by(self, episode_ids: Sequence[str]) -> dict[str, EpisodeSpent]:
        """What the model calls of each of these episodes have come to so far, by whole id, in one query.

        Ids under which nothing is stored are left out.
        """
        with self._database.reading() as connection:
            return runs.spent_by(connection, tuple(episode_ids))

    def episodes(
        self, filter: EpisodeFilter = _ANY_EPISODE, *, cursor: str | None = None, limit: int = 50
    ) -> EpisodePage:
        """A page of episodes, newest first. Episodes that arrive meanwhile shift nothing on later pages.

        One that is damaged is named in the page's `unreadable` instead of failing the others. Raises InvalidInput for
        a cursor that is none.
        """
        with self._database.reading() as connection:
            return browse.page(connection, filter, cursor, limit)

    def totals(self, filter: EpisodeFilter = _ANY_EPISODE) -> Totals:
        """Counts and means of what the filter lets through."""
        with self._database.reading() as connection:
            return browse.totals(connection, filter)

    def policies(self) -> tuple[str, ...]:
        """The policies that stored episodes were played by, in alphabetical order."""
        with self._database.reading() as connection:
            return browse.policies(connection)

    # --------------------------------------------------------------------------------------------- one episode

    def episode(self, episode_id: str) -> EpisodeSummary:
        """One episode without its decisions. Raises UnknownEpisode."""
        with self._database.reading() as connection:
            return browse.one(connection, episode_id)

    def initial(self, episode_id: str) -> StateRecord | None:
        """The world after reset; None where there was none yet, or where reset failed."""
        with self._database.reading() as connection:
            return episodes.initial(connection, episode_id)

    def decisions(self, episode_id: str) -> tuple[DecisionSummary, ...]:
        """All decisions in order, without their bulk."""
        with self._database.reading() as connection:
            return episodes.decision_summaries(connection, episode_id)

    def decision(self, episode_id: str, index: int) -> Decision:
        """One whole decision. Raises UnknownEpisode where the episode has no decision of that index."""
        with self._database.reading() as connection:
            return episodes.decision(connection, episode_id, index)

    def decision_at_step(self, episode_id: str, step: int) -> int:
        """The index of the decision that a step belongs to. Raises UnknownEpisode for a step that was not taken."""
        with self._database.reading() as connection:
            return episodes.decision_at_step(connection, episode_id, step)

    def next_exchange(
        self, episode_id: str, filter: ExchangeFilter = _ANY_MODEL_CALL, *, after: int = -1
    ) -> Exchange | None:
        """The first decision after that index which the filter lets through, without its states; None at the end."""
        with self._database.reading() as connection:
            return exchanges.following(connection, episode_id, filter, after)

    def load_episode(self, episode_id: str) -> Episode:
        """The whole episode, equal to what was recorded."""
        with self._database.reading() as connection:
            return episodes.load(connection, episode_id)

    def packed_scenes(self, episode_id: str) -> bytes:
        """All scenes as one blob of `core.scenes`: that of the reset first, then one a step."""
        with self._database.reading() as connection:
            return episodes.packed_scenes(connection, episode_id)

    def latest_scene(self, episode_id: str) -> Scene | None:
        """The newest scene; None where nothing was recorded yet."""
        with self._database.reading() as connection:
            return episodes.latest_scene(connection, episode_id)

    def reward_facts(self, episode_id: str) -> EpisodeFacts:
        """What re-scoring looks at, as columns. Made anew where the episode has not been closed.

        Raises StoreCorrupt where its decisions are damaged or do not fit the episode.
        """
        with self._database.reading() as connection:
            return archive.reward_facts(connection, episode_id)

    def delete_episodes(self, ids: Iterable[str]) -> int:
        """Delete for good and give the space back; gives back how many were deleted.

        Ids that are gone already are passed over. Raises StoreError where one of them is running: nothing is deleted.
        """
        return deletion.delete_episodes(self._database, tuple(ids))

    # ---------------------------------------------------------------------------------------- rewards over episodes

    def played_ids(self, filter: EpisodeFilter = _ANY_EPISODE) -> tuple[str, ...]:
        """The episodes that are over, made a decision and pass the filter, oldest launch first. Raises InvalidInput."""
        with self._database.reading() as connection:
            return archive.played_ids(connection, filter)

    def without_decision(self, filter: EpisodeFilter = _ANY_EPISODE) -> dict[str, int]:
        """How many episodes are over, made no decision and pass the filter, by policy as `PlayedEpisode` names it.

        `played_ids` leaves them out. Raises InvalidInput.
        """
        with self._database.reading() as connection:
            return archive.without_decision(connection, filter)

    def archive_part(self, ids: Iterable[str]) -> ArchivePart:
        """The played ones of these episodes, oldest launch first, with their reward facts.

        One that is damaged is named among the unreadable instead of failing the others. Facts that were missing
        (of an episode that was interrupted, say) or that do not fit their episode are made from its decisions, and kept
        where the database can be written.
        """
        parts: list[ArchivePart] = []
        keeps = True
        for some in in_parts(ids):
            with self._database.reading() as connection:
                found, made = archive.part(connection, some)
            keeps = keeps and self._keep(made)
            parts.append(found)
        return ArchivePart(
            tuple(played for found in parts for played in found.episodes),
            tuple(facts for found in parts for facts in found.facts),
            tuple(problem for found in parts for problem in found.unreadable),
        )

    def _keep(self, made: Mapping[str, MadePack]) -> bool:
        """Whether packs could be kept. They save the next reader some time; whoever reads now needs none of them."""
        if not made:
            return True
        try:
            with self._database.writing_soon(_PACKS_WAIT_MS) as connection:
                archive.save_packs(connection, made)
        except StoreError as error:
            _log.info("Reward facts that were made anew are not kept: %s", error)
            return False
        return True

    def unlock_steps(self, ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """For each of these episodes, by whole id, the index of the step that first unlocked each achievement.

        An episode that unlocked nothing has an empty table; ids under which nothing is stored are left out, and those
        of which an unlock is damaged, which `unreadable_unlocks` names.
        """
        return self._unlocks(ids)[0]

    def unreadable_unlocks(self, ids: Iterable[str]) -> tuple[Unreadable, ...]:
        """Those of these episodes of which it cannot be read when they unlocked what."""
        return self._unlocks(ids)[1]

    def _unlocks(self, ids: Iterable[str]) -> tuple[dict[str, dict[str, int]], tuple[Unreadable, ...]]:
        found: dict[str, dict[str, int]] = {}
        unreadable: list[Unreadable] = []
        for some in in_parts(ids):
            with self._database.reading() as connection:
                good, damage = unlocks.unlock_steps(connection, some)
            found |= good
            unreadable += browse.unreadable(damage)
        return found, tuple(unreadable)

    def saved_rewards(self) -> tuple[SavedReward, ...]:
        """The reward configurations that people saved, by name. `unreadable_rewards` names those that are damaged."""
        with self._database.reading() as connection:
            return saved_rewards.all_of_them(connection)[0]

    def unreadable_rewards(self) -> tuple[UnreadableReward, ...]:
        """The saved reward configurations that are damaged, with what is wrong. `forget_reward` takes their names."""
        with self._database.reading() as connection:
            return saved_rewards.all_of_them(connection)[1]

    def save_reward(self, name: str, config: RewardConfig) -> str:
        """Save a checked configuration under a name; gives back the name as it is stored, without blanks around it.

        Raises InvalidInput where another one is saved under it, for a name with a character that cannot be seen, and
        for a configuration with a value that is not finite.
        """
        with self._database.writing() as connection:
            return saved_rewards.save(connection, name, config)

    def forget_reward(self, name: str) -> None:
        """Forget a saved configuration, readable or not, and what episodes would have earned under it.

        What they earned stays, and so does a configuration that an episode has or waits to be played with.
        """
        with self._database.writing() as connection:
            saved_rewards.forget(connection, name)

    def save_scorings(self, config: RewardConfig, returns: Mapping[str, float]) -> int:
        """Keep what episodes, by id, would have earned under a checked configuration; how many of them are new.

        Raises InvalidInput for a return that is not a finite number, and then keeps none.
        """
        with self._database.writing() as connection:
            return saved_rewards.save_scorings(connection, config, returns)

    def scorings(self, config_hash: str) -> dict[str, float]:
        """What episodes, by id, would have earned under a configuration, as far as that was kept and can be read."""
        with self._database.reading() as connection:
            return saved_rewards.scorings_of(connection, config_hash)[0]

    def unreadable_scorings(self, config_hash: str) -> tuple[Unreadable, ...]:
        """The episodes of which it was kept what they would have earned under a configuration, and is damaged."""
        with self._database.reading() as connection:
            return saved_rewards.scorings_of(connection, config_hash)[1]

    # ------------------------------------------------------------------------------------------------ profiles

    def model_profiles(self) -> tuple[ModelProfile, ...]:
        """The connection profiles that people keep, by name."""
        with self._database.reading() as connection:
            return profiles.all_of_them(connection)

    def save_model_profile(self, profile: ModelProfile) -> None:
        """Keep a profile, in place of the one of that name."""
        with self._database.writing() as connection:
            profiles.save(connection, profile)

    def delete_model_profile(self, name: str) -> None:
        """Forget a profile; episodes that were played with it keep what they were played with."""
        with self._database.writing() as connection:
            profiles.delete(connection, name)

    # --------------------------------------------------------------------------------------------------- seeds

    def seed_description(
        self, seed: int, world_episode: int, env: EnvConfig, engine_version: str
    ) -> SeedDescription | None:
        """What was found out about a seed by that engine, or None."""
        with self._database.reading() as connection:
            return seeds.find(connection, seed, world_episode, env, engine_version)

    def seed_difficulties(self, worlds: Iterable[World], engine_version: str) -> dict[World, Difficulty]:
        """How hard those of these worlds (seed, world, environment) are that this engine has described."""
        found: dict[World, Difficulty] = {}
        for some in in_parts(worlds):
            with self._database.reading() as connection:
                found |= seeds.difficulties(connection, some, engine_version)
        return found

    def save_seed_description(self, description: SeedDescription) -> None:
        """Keep a description; replaces one of the same seed, world, environment and engine."""
        with self._database.writing() as connection:
            seeds.save(connection, description)
