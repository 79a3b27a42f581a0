"""`store.seeds`: world descriptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec
from sqlalchemy import ColumnElement, and_, delete, insert, select

from core.store.blobs import from_json, to_json
from core.store.database import Database
from core.store.rows import in_parts
from core.store.tables import seed_descriptions
from core.types import Difficulty, EnvConfig, SeedDescription

World = tuple[int, int, EnvConfig]
"""A seed, which of its worlds (1 first), and the environment."""


class _DifficultyOnly(msgspec.Struct, frozen=True):
    """The part of a description that lists need; msgspec skips the rest."""

    difficulty: Difficulty


class Seeds:
    """World descriptions by engine version, so that each is computed once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, seed: int, world_episode: int, env: EnvConfig, engine_version: str) -> SeedDescription | None:
        """None if that engine has not described the world."""
        here = _here(seed, world_episode, env, engine_version)
        columns = (seed_descriptions.c.description, seed_descriptions.c.picture_png)
        with self._database.reading() as connection:
            row = connection.execute(select(*columns).where(here)).one_or_none()
        if row is None:
            return None
        description = from_json(row.description, SeedDescription, f"The description of seed {seed}")
        return replace(description, picture_png=row.picture_png)

    def difficulties(self, worlds: Iterable[World], engine_version: str) -> dict[World, Difficulty]:
        """Difficulties of those worlds that this engine has described."""
        names = ("seed", "world_episode", "env", "description")
        found: dict[World, Difficulty] = {}
        for some in in_parts(worlds):
            by_row = {(seed, episode, _env_text(env)): (seed, episode, env) for seed, episode, env in some}
            with self._database.reading() as connection:
                rows = connection.execute(
                    select(*(seed_descriptions.c[name] for name in names)).where(
                        seed_descriptions.c.seed.in_(sorted({seed for seed, _, _ in some})),
                        seed_descriptions.c.engine_version == engine_version,
                    )
                ).all()
            for row in rows:
                if world := by_row.get((row.seed, row.world_episode, row.env)):
                    name = f"The description of seed {row.seed}"
                    found[world] = from_json(row.description, _DifficultyOnly, name).difficulty
        return found

    def save(self, description: SeedDescription) -> None:
        """Store a description in place of one of the same seed, world, environment and engine."""
        seed, world_episode, env = description.seed, description.world_episode, description.env
        row = {
            "seed": seed,
            "world_episode": world_episode,
            "env": _env_text(env),
            "engine_version": description.engine_version,
            "description": to_json(replace(description, picture_png=b"")),
            "picture_png": description.picture_png,
        }
        with self._database.writing() as connection:
            here = _here(seed, world_episode, env, description.engine_version)
            connection.execute(delete(seed_descriptions).where(here))
            connection.execute(insert(seed_descriptions), [row])


def _here(seed: int, world_episode: int, env: EnvConfig, engine_version: str) -> ColumnElement[bool]:
    return and_(
        seed_descriptions.c.seed == seed,
        seed_descriptions.c.world_episode == world_episode,
        seed_descriptions.c.env == _env_text(env),
        seed_descriptions.c.engine_version == engine_version,
    )


def _env_text(env: EnvConfig) -> str:
    return to_json(env).decode()
