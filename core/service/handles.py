"""Live objects of the service by id: environments, snapshots, policies."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from core.errors import CraftscopeError

IDLE_S: Final = 3_600.0
"""An environment or policy that was not used for so long may end to make room."""

_MAX_ENDED: Final = 10_000  # ids of ended handles that are remembered

T = TypeVar("T")


class UnknownHandle(CraftscopeError):
    """No handle of that id; says whether there was one."""


class TooManyHandles(CraftscopeError):
    """All handles are in use."""


class Handles(Generic[T]):
    """At most `limit` objects. Where there is no room, those that were idle for `idle_s` end. Safe to use from threads.

    noun, prefix: what they are called in messages and at the beginning of their ids.
    """

    def __init__(
        self,
        noun: str,
        prefix: str,
        limit: int,
        *,
        idle_s: float = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._noun, self._prefix, self._limit, self._idle_s, self._clock = noun, prefix, limit, idle_s, clock
        self._lock = threading.Lock()
        self._used: OrderedDict[str, tuple[T, float]] = OrderedDict()  # the least recently used first
        self._ended: OrderedDict[str, str] = OrderedDict()  # id -> why

    def add(self, value: T) -> str:
        """Keeps it and returns its id. Raises TooManyHandles."""
        with self._lock:
            oldest = self._clock() - self._idle_s
            while len(self._used) >= self._limit:
                id_, (_, used_s) = next(iter(self._used.items()))
                if used_s > oldest:
                    raise TooManyHandles(
                        f"There are {self._limit} {self._noun}s already, all used within the last hour. End one first."
                    )
                self._end(id_, "ended after an idle hour, to make room" if self._idle_s else "ended to make room")
            id_ = f"{self._prefix}_{uuid.uuid4().hex[:16]}"
            self._used[id_] = (value, self._clock())
            return id_

    def get(self, id_: str) -> T:
        """The object, which counts as used now. Raises UnknownHandle."""
        with self._lock:
            value = self._found(id_)
            self._used[id_] = (value, self._clock())
            self._used.move_to_end(id_)
            return value

    def remove(self, id_: str) -> T:
        """Ends it and returns it. Raises UnknownHandle."""
        with self._lock:
            value = self._found(id_)
            self._end(id_, "was terminated")
            return value

    def _found(self, id_: str) -> T:
        if id_ in self._used:
            return self._used[id_][0]
        why = self._ended.get(id_)
        raise UnknownHandle(f"The {self._noun} {id_} {why}." if why else f"There is no {self._noun} {id_[:80]!r}.")

    def _end(self, id_: str, why: str) -> None:
        del self._used[id_]
        self._ended[id_] = why
        if len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)
