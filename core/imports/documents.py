"""Reads our own exported episodes: one JSON document, one on each line (JSONL), or a zip file of such files."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from core.env.checks import checked_config
from core.env.rules import ACTION_INDEX
from core.errors import InvalidInput
from core.exports import EpisodeDocument, read_document
from core.text import cut, quoted, visible
from core.types import Decision, Episode, EpisodeStatus, Outcome, Run, RunSource, StateRecord, Step, StopReason

MAX_DOCUMENT_BYTES: Final = 512 * 2**20
"""Of one episode as JSON. One of 10,000 steps has about 30 MB."""

_MAX_MEMBERS: Final = 100_000
_MAX_ID: Final = 200
_MAX_COUNT: Final = 1_000_000_000

Read = Callable[[], "Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """An episode in a file, ready to be stored."""

    run: Run
    episode: Episode
    group_index: int
    created_at: datetime


def is_document(path: Path) -> bool:
    """Whether the name is one of a file of exported episodes."""
    return path.suffix.lower() in (".json", ".jsonl", ".zip")


def read_documents(path: Path) -> Iterator[tuple[str, Read]]:
    """Each episode of a file: (where it is, a function that reads it and raises InvalidInput).

    Raises InvalidInput if the file itself cannot be read.
    """
    try:
        if path.suffix.lower() == ".zip":
            yield from _in_zip(path)
        elif path.suffix.lower() == ".jsonl":
            with path.open("rb") as file:
                yield from _in_lines(file, path.name)
        else:
            with path.open("rb") as file:
                text = file.read(MAX_DOCUMENT_BYTES + 1)
            yield path.name, _reader(text, path.name)
    except OSError as error:
        raise InvalidInput(f"{visible(str(path))} cannot be read ({error.strerror}).") from error


def _in_lines(file: io.BufferedIOBase, name: str) -> Iterator[tuple[str, Read]]:
    number = 0
    while line := file.readline(MAX_DOCUMENT_BYTES + 1):
        number += 1
        if line.strip():
            yield f"{name}, line {number:,}", _reader(line, name)
        if len(line) > MAX_DOCUMENT_BYTES:
            return  # the rest of that line would be read as further ones


def _in_zip(path: Path) -> Iterator[tuple[str, Read]]:
    """Nothing is unpacked to a file, so the names in it are only shown."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist()[:_MAX_MEMBERS]:
                name = cut(visible(member.filename), 100)
                if member.is_dir() or not is_document(Path(member.filename)):
                    continue
                with archive.open(member) as file:
                    if member.filename.lower().endswith(".jsonl"):
                        yield from _in_lines(io.BufferedReader(file), name)  # pyright: ignore[reportArgumentType]
                    else:
                        yield name, _reader(file.read(MAX_DOCUMENT_BYTES + 1), name)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise InvalidInput(f"{visible(path.name)} is not a zip file that can be read ({error}).") from error


def _reader(text: bytes, where: str) -> Read:
    def read() -> Found:
        if len(text) > MAX_DOCUMENT_BYTES:
            raise InvalidInput(f"It is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB.")
        return found_in(read_document(text), where)

    return read


def found_in(document: EpisodeDocument, where: str) -> Found:
    """The episode of a document. Raises InvalidInput for one that is not over or does not hold together."""
    about, run = document.episode, document.run
    for name, id_ in (("episode", about.id), ("run", run.id)):
        if not 0 < len(id_) <= _MAX_ID or not id_.isprintable():
            raise InvalidInput(f"The id of its {name} is {quoted(id_)}; ids are printable text.")
    if about.stop_reason is None or about.ended_at is None or not EpisodeStatus(about.status).is_over:
        raise InvalidInput("It was exported while it was running; export it again.")
    spec = about.spec
    checked_config(spec.env.area, spec.env.view, spec.env.length)
    decisions = tuple(_decision(document, at) for at in range(len(document.decisions)))
    _check_steps([step for decision in decisions for step in decision.steps], document.initial)
    episode = Episode(
        id=about.id,
        run_id=run.id,
        spec=about.spec,
        initial=document.initial,
        decisions=decisions,
        started_at=about.started_at or about.created_at,
        outcome=Outcome(StopReason(about.stop_reason), about.ended_at, about.error),
    )
    own_correlation = run.trace_correlation_id
    imported = Run(
        id=run.id,
        created_at=run.created_at,
        episodes=(),
        name=run.name,
        config=run.config | {"imported_from": where},
        training_session_id=run.training_session_id,
        trace_correlation_id=None if own_correlation == f"trace_{run.id}" else own_correlation,
        source=RunSource.IMPORTED,
        mode=run.mode,
        session_url=run.session_url,
        batch_id=run.batch_id,
    )
    return Found(imported, episode, about.group_index, about.created_at)


def _decision(document: EpisodeDocument, index: int) -> Decision:
    exported = document.decisions[index]
    if exported.index != index:
        raise InvalidInput(f"Decision {index} has the index {exported.index}.")
    return msgspec.convert(exported, Decision, from_attributes=True)


def _check_steps(steps: list[Step], initial: StateRecord | None) -> None:
    if steps and initial is None:
        raise InvalidInput("It has steps but no world before them.")
    states = [("the world after reset", initial)] if initial is not None else []
    for at, step in enumerate(steps):
        if step.index != at or step.action not in ACTION_INDEX:
            raise InvalidInput(f"Step {at} has the index {step.index} and the action {quoted(step.action)}.")
        states.append((f"step {at}", step.state))
    for where, state in states:
        facts, scene = state.facts, state.scene
        numbers = [*facts.inventory.values(), *facts.achievement_counts.values(), *scene.inventory.values()]
        if any(not 0 <= number <= _MAX_COUNT for number in numbers):
            raise InvalidInput(f"The counts of {where} are out of range.")
        if len(scene.materials) != scene.grid[0] * scene.grid[1]:
            raise InvalidInput(f"The scene of {where} has {len(scene.materials)} cells in a grid of {scene.grid}.")
