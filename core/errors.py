"""Every error that Craftscope raises on purpose.

CraftscopeError
├── InvalidInput            invalid input from a user, a request or a file
│   ├── InvalidConfig       a launch, environment or policy configuration
│   │   └── InvalidReward   a reward configuration
│   └── InvalidSeeds        a seed or a range of seeds
├── EngineError             the Crafter engine
│   └── InvalidSnapshot     a snapshot that is corrupt, of another version, or of another environment
├── PolicyError             a policy failed; carries `kind` and `detail`
├── RolloutError            an episode failed and the caller set `on_error="raise"`; carries `kind` and `detail`
├── JobError                a worker could not be started or reached
└── StoreError              the trace store
    ├── StoreUnavailable    cannot be opened or written: no permission, disk full, locked, server unreachable
    │   ├── StoreGone       the database file was removed or replaced while it was open
    │   └── StoreReadOnly   it can be read but not written
    ├── StoreCorrupt        the database file is corrupt or not a Craftscope database
    ├── StoreTooNew         the database was written by a newer Craftscope
    ├── UnknownEpisode      no episode, run or decision of that id
    └── DuplicateId         a run or episode id that already exists

Messages are for users: what happened, where, what to do. They never contain a key, a password or a part of one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CraftscopeError(Exception): ...


class InvalidInput(CraftscopeError): ...


class InvalidConfig(InvalidInput): ...


class InvalidReward(InvalidConfig): ...


class InvalidSeeds(InvalidInput): ...


class EngineError(CraftscopeError): ...


class InvalidSnapshot(EngineError): ...


class _KindAndDetail(CraftscopeError):
    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class PolicyError(_KindAndDetail):
    """kind: one of the error kinds, such as `timeout`. detail: a sentence."""


class RolloutError(_KindAndDetail):
    """kind: the stop reason. detail: a sentence."""


class JobError(CraftscopeError): ...


class StoreError(CraftscopeError): ...


class StoreUnavailable(StoreError): ...


class StoreGone(StoreUnavailable): ...


class StoreReadOnly(StoreUnavailable): ...


class StoreCorrupt(StoreError): ...


class StoreTooNew(StoreError): ...


class UnknownEpisode(StoreError): ...


class DuplicateId(StoreError): ...


def did_you_mean(name: str, accepted: Iterable[str]) -> str:
    """`; did you mean "collect_wood"?`, or an empty string if no name is similar."""
    near = difflib.get_close_matches(name.strip().casefold(), list(accepted), n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""
