"""Imports files and counts what came in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from core.errors import InvalidInput, StoreError, StoreUnavailable
from core.imports.documents import read_documents
from core.imports.synth import is_synth, read_sessions
from core.store import TraceStore
from core.text import plural, visible

_MAX_PROBLEMS: Final = 100

# What a value that no column or packed array holds raises while it is stored.
_UNSTORABLE: Final = (ValueError, TypeError, ArithmeticError, LookupError)


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


def import_file(store: TraceStore, path: Path, report: Report) -> None:
    """Store the episodes of a file that are not stored yet; each is stored whole or not at all.

    An episode that cannot be read is counted and named. Raises StoreError where nothing can be stored.
    """
    try:
        for where, read in read_sessions(path) if is_synth(path) else read_documents(path):
            try:
                found = read()
                is_new = store.add_whole(
                    found.run, found.episode, group_index=found.group_index, created_at=found.created_at
                )
            except StoreUnavailable:
                raise
            except (InvalidInput, StoreError) as error:
                report.problem(where, str(error))
            except _UNSTORABLE as error:
                report.problem(where, f"It holds a value that cannot be stored ({type(error).__name__}: {error}).")
            else:
                count = len(found.episode.decisions)
                if is_new:
                    report.episodes += 1
                    report.decisions += count
                else:
                    report.known_episodes += 1
                    report.known_decisions += count
    except InvalidInput as error:
        report.problem(path.name, str(error))
