"""Descriptions of seeds, kept so that each is worked out once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select

from core.store.arguments import whole
from core.store.blobs import from_json, to_json
from core.store.tables import seed_descriptions
from core.types import Difficulty, EnvConfig, SeedDescription

World = tuple[int, int, EnvConfig]
"""A seed, which of its worlds (1 first), and the environment."""


class _DifficultyOnly(msgspec.Struct, frozen=True):
    """What of a description matters where many are looked at; msgspec passes over the rest."""

    difficulty: Difficulty


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


def difficulties(connection: Connection, worlds: Iterable[World], engine_version: str) -> dict[World, Difficulty]:
    """How hard those worlds are that are described, without their pictures."""
    keys = {
        (whole(seed, "The seed"), whole(world_episode, "The number of the world"), _env_text(env)): (
            (seed, world_episode, env)
        )
        for seed, world_episode, env in worlds
    }
    shown = ("seed", "world_episode", "env", "description")
    rows = connection.execute(
        select(*(seed_descriptions.c[name] for name in shown)).where(
            seed_descriptions.c.seed.in_(sorted({seed for seed, _, _ in keys})),
            seed_descriptions.c.engine_version == engine_version,
        )
    )
    found: dict[World, Difficulty] = {}
    for row in rows:
        world = keys.get((row.seed, row.world_episode, row.env))
        if world is not None:
            what = f"The description of seed {row.seed}"
            found[world] = from_json(row.description, _DifficultyOnly, what).difficulty
    return found


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
