"""Every error that Craftscope raises on purpose.

CraftscopeError
├── InvalidInput            something a person or a file gave is wrong; the message says what, where and what to do
│   ├── InvalidConfig       a launch, environment or reward configuration
│   │   └── InvalidReward   a reward configuration: unknown strategy, non-numeric weight, unknown name
│   └── InvalidSeeds        a seed or a range of seeds
├── EngineError             the Crafter engine
│   └── InvalidSnapshot     a snapshot that is damaged, of another version, or of another environment
├── PolicyError             a policy failed; carries `kind` and `detail`
├── RolloutError            an episode failed and the caller asked for `on_error="raise"`; carries `kind` and `detail`
├── JobError                a worker could not be started or spoken to
└── StoreError              the trace store
    ├── StoreUnavailable    cannot be opened or written: no permission, disk full, locked, server away
    │   ├── StoreGone       the database file was removed or replaced while it was open
    │   └── StoreReadOnly   it can be read but not written
    ├── StoreCorrupt        the database file is damaged or is not a database
    ├── StoreTooNew         the database was written by a newer Craftscope
    ├── UnknownEpisode      no episode (or run, or decision) of that id
    └── DuplicateId         a run or episode id that is in use already

Messages are sentences for the person who reads them. They never hold a key, a password or a part of one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CraftscopeError(Exception):
    """Root of the tree."""


class InvalidInput(CraftscopeError):
    """Something that was given is wrong."""


class InvalidConfig(InvalidInput):
    """A configuration cannot be used."""


class InvalidReward(InvalidConfig):
    """A reward configuration cannot be used."""


class InvalidSeeds(InvalidInput):
    """A seed or a range of seeds cannot be used."""


class EngineError(CraftscopeError):
    """The engine cannot go on."""


class InvalidSnapshot(EngineError):
    """A snapshot cannot be restored."""


class _KindAndDetail(CraftscopeError):
    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class PolicyError(_KindAndDetail):
    """A policy failed to answer. `kind` is a short name from the list of error kinds, `detail` a sentence."""


class RolloutError(_KindAndDetail):
    """An episode failed. `kind` is the stop reason's name, `detail` a sentence."""


class JobError(CraftscopeError):
    """A worker process could not be started or followed."""


class StoreError(CraftscopeError):
    """The trace store cannot do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or written."""


class StoreGone(StoreUnavailable):
    """The database file was removed or replaced while it was open."""


class StoreReadOnly(StoreUnavailable):
    """The store can be read but not written."""


class StoreCorrupt(StoreError):
    """The database is damaged or is not a Craftscope database."""


class StoreTooNew(StoreError):
    """The database has a schema newer than this program knows."""


class UnknownEpisode(StoreError):
    """Nothing is stored under that id."""


class DuplicateId(StoreError):
    """That id is in use."""


def did_you_mean(name: str, accepted: Iterable[str]) -> str:
    """A sentence part such as `; did you mean "collect_wood"?`, or an empty string when nothing is near."""
    near = difflib.get_close_matches(name.strip().casefold(), list(accepted), n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""
