"""Imports files and counts what came in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.errors import CraftscopeError, InvalidInput, StoreUnavailable
from core.imports.crafter_files import is_recording, is_stats, read_recording, read_stats
from core.imports.documents import Found, Read, read_documents
from core.imports.minari import is_dataset, read_dataset
from core.imports.synth import is_synth, read_sessions
from core.store import TraceStore
from core.text import cut, plural, visible

UNNAMED_POLICY: Final = "imported"

_MAX_PROBLEMS: Final = 100
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9_000


@dataclass
class Report:
    """problems: where and why, the first of them. failed: how many episodes could not be read."""

    episodes: int = 0
    decisions: int = 0
    known_episodes: int = 0
    known_decisions: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list[str])

    def problem(self, where: str, why: str) -> None:
        self.failed += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(visible(f"{where}: {why}"))

    @property
    def sentence(self) -> str:
        came = f"{plural(self.episodes, 'episode')} with {plural(self.decisions, 'decision')} came in"
        known = f"{plural(self.known_episodes, 'episode')} with {plural(self.known_decisions, 'decision')}"
        failed = f"; {plural(self.failed, 'episode')} could not be read" if self.failed else ""
        return f"{came}; {known} were there already{failed}."


def import_file(
    store: TraceStore,
    path: Path,
    report: Report,
    *,
    policy: str = UNNAMED_POLICY,
    looked_at: Callable[[], object] = lambda: None,
) -> None:
    """Store the episodes of a file that are not stored yet; each is stored whole or not at all.

    An episode that cannot be read is counted and named. policy: of recordings that do not name theirs. looked_at: is
    called after each episode. Raises StoreError where nothing can be stored.
    """
    try:
        for where, read in _episodes_in(path, policy):
            try:
                found = read()
                _check_times(found)
                is_new = store.add_whole(
                    found.run, found.episode, group_index=found.group_index, created_at=found.created_at
                )
            except StoreUnavailable:
                raise
            except CraftscopeError as error:
                report.problem(where, str(error))
            except Exception as error:  # noqa: BLE001  a file of anyone, and readers of other projects
                report.problem(where, f"It cannot be read or stored ({type(error).__name__}: {cut(str(error), 200)}).")
            else:
                count = len(found.episode.decisions)
                if is_new:
                    report.episodes += 1
                    report.decisions += count
                else:
                    report.known_episodes += 1
                    report.known_decisions += count
            looked_at()
    except StoreUnavailable:
        raise
    except CraftscopeError as error:
        report.problem(path.name, str(error))
    except Exception as error:  # noqa: BLE001  as above
        report.problem(path.name, f"It cannot be read ({type(error).__name__}: {cut(str(error), 200)}).")


def _check_times(found: Found) -> None:
    """Times that no database holds would spoil every list that they are in."""
    outcome = found.episode.outcome
    ended_at = outcome.finished_at if outcome else found.created_at
    for moment in (found.run.created_at, found.created_at, found.episode.started_at, ended_at):
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise InvalidInput(f"It holds a time of the year {moment.year}; times are from {_FIRST_YEAR} on.")


def _episodes_in(path: Path, policy: str) -> Iterator[tuple[str, Read]]:
    if is_synth(path):
        return read_sessions(path)
    if is_recording(path):
        return read_recording(path, policy)
    if is_stats(path):
        return read_stats(path, policy)
    if is_dataset(path):
        return read_dataset(path, policy)
    return read_documents(path)
