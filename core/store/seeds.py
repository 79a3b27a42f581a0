"""Descriptions of seeds, kept so that each is worked out once."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select

from core.store.arguments import whole
from core.store.blobs import from_json, to_json
from core.store.tables import seed_descriptions
from core.types import EnvConfig, SeedDescription


def find(
    connection: Connection, seed: int, world_episode: int, env: EnvConfig, engine_version: str
) -> SeedDescription | None:
    """What is kept of a seed, or None."""
    seed, world_episode = whole(seed, "The seed"), whole(world_episode, "The number of the world")
    here = _here(seed, world_episode, env, engine_version)
    columns = (seed_descriptions.c.description, seed_descriptions.c.picture_png)
    row = connection.execute(select(*columns).where(here)).one_or_none()
    if row is None:
        return None
    description = from_json(row.description, SeedDescription, f"The description of seed {seed}")
    return replace(description, picture_png=row.picture_png)


def save(connection: Connection, description: SeedDescription) -> None:
    """Keep a description, in place of one that there was."""
    seed, world_episode, env = description.seed, description.world_episode, description.env
    connection.execute(delete(seed_descriptions).where(_here(seed, world_episode, env, description.engine_version)))
    row = {
        "seed": seed,
        "world_episode": world_episode,
        "env": _env_text(env),
        "engine_version": description.engine_version,
        "description": to_json(replace(description, picture_png=b"")),
        "picture_png": description.picture_png,
    }
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
