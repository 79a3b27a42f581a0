"""What the routes of the service share."""

from __future__ import annotations

import threading
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


class Service:
    """What the routes share. shutting_down: set once the process was asked to end."""

    def __init__(self, store: TraceStore, settings: Settings, service: ServiceSettings) -> None:
        self.store = store
        self.settings = settings
        self.service = service
        self.environments = Handles[LiveEnvironment]("environment", "env", service.max_handles)
        self.snapshots = Handles[LiveEnvironment]("snapshot", "snap", service.max_handles)
        self.policies = Handles[LivePolicy]("policy", "policy", service.max_handles)
        self.rollouts: set[str] = set()  # run ids in progress
        self.pool = ThreadPoolExecutor(service.max_rollouts, "rollout")  # each waits in a thread of its own
        self.shutting_down = threading.Event()


def service_of(request: Request) -> Service:
    """For the routes."""
    return request.app.state.service


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers with these statuses, for the OpenAPI document."""
    return {status: {"model": Problem} for status in statuses}


ALWAYS: Final = problems(401, 403, 413, 422, 503)
"""What every route with a key may answer."""
