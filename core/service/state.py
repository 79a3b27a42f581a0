"""What the routes of the service share."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from fastapi import Request
from pydantic import BaseModel

from core.service.handles import Handles
from core.service.live import LiveEnvironment
from core.service.live_policy import LivePolicy
from core.settings import ServiceSettings, Settings
from core.store import TraceStore


class Problem(BaseModel):
    """What is wrong: `detail` begins with the path of a field where one is to blame."""

    detail: str


class Done(BaseModel):
    """Nothing else is to be said."""

    ok: bool = True


_LAST_WAIT_S: Final = 15.0


class Service:
    """What the routes share. shutting_down: set once the process was asked to end."""

    def __init__(self, store: TraceStore, settings: Settings, service: ServiceSettings) -> None:
        self.store = store
        self.settings = settings
        self.service = service
        self.environments = Handles[LiveEnvironment]("environment", "env", service.max_handles)
        self.snapshots = Handles[LiveEnvironment]("snapshot", "snap", service.max_handles, idle_s=0.0)
        self.policies = Handles[LivePolicy]("policy", "policy", service.max_handles)
        self.rollouts: set[str] = set()  # run ids in progress
        self.pool = ThreadPoolExecutor(service.max_rollouts, "rollout")  # each waits in a thread of its own
        self.calls = ThreadPoolExecutor(service.max_handles, "call")  # to models, which may take minutes
        self.shutting_down = threading.Event()
        self._shut_down_s: float | None = None

    def gives_up(self) -> bool:
        """Whether a shutdown has waited long enough for what this machine does not play itself."""
        if not self.shutting_down.is_set():
            return False
        self._shut_down_s = self._shut_down_s or time.monotonic()
        return time.monotonic() - self._shut_down_s > _LAST_WAIT_S


async def service_of(request: Request) -> Service:
    """For the routes. It takes no thread, so that those that need none answer while all threads are busy."""
    return request.app.state.service


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers with these statuses, for the OpenAPI document."""
    return {status: {"model": Problem} for status in statuses}


ALWAYS: Final = problems(401, 403, 413, 422, 503)
"""What every route with a key may answer."""
