"""The FastAPI application: how errors are answered, and the document that describes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from core import __version__
from core.errors import CraftscopeError, DuplicateId, InvalidInput, UnknownEpisode
from core.jobs import SWEEP_S, end_for_shutdown, sweep
from core.requests import RolloutRequest, RolloutResponse
from core.service.handles import TooManyHandles, UnknownHandle
from core.service.live import EpisodeOver
from core.service.state import Service

_log = logging.getLogger("core.service")
_SHUTDOWN_POLL_S: Final = 0.2
_REF: Final = "#/components/schemas/{name}"


_STATUS: Final[tuple[tuple[type[CraftscopeError], int], ...]] = (
    (DuplicateId, 409),
    (UnknownHandle, 404),
    (UnknownEpisode, 404),
    (TooManyHandles, 429),
    (EpisodeOver, 409),
    (InvalidInput, 422),
)


def make_app(service: Service, add_routes: Callable[[FastAPI], None]) -> FastAPI:
    """The application with these routes."""
    app = FastAPI(
        title="Craftscope",
        version=__version__,
        description="Rollouts of agents in Crafter, with step rewards.",
        docs_url=None,  # its pages load scripts from another host
        redoc_url=None,
        lifespan=_background,
    )
    app.state.service = service
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(CraftscopeError)(_failed)
    add_routes(app)
    app.openapi = lambda: _document(app)
    return app


@asynccontextmanager
async def _background(app: FastAPI) -> AsyncGenerator[None, None]:
    task = asyncio.create_task(_look_after(app.state.service))
    try:
        yield
    finally:
        task.cancel()


async def _look_after(service: Service) -> None:
    """Notices dead workers and starts new ones, as an open dashboard does; at a shutdown ends what is in progress."""
    asked = set[int]()
    while True:
        try:
            if not await asyncio.to_thread(service.shutting_down.wait, SWEEP_S):
                await asyncio.to_thread(sweep, service.store, service.settings)
                continue
            for run_id in tuple(service.rollouts):
                await asyncio.to_thread(end_for_shutdown, service.store, service.settings, run_id, asked)
        except CraftscopeError as error:
            _log.error("%s", error)
        await asyncio.sleep(_SHUTDOWN_POLL_S)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """FastAPI's own check of a body, a query or a path."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"][1:]) or "request"
    return JSONResponse({"detail": f"{path}: {first['msg']}."}, 422)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    headers = {"Retry-After": "5"} if status in (429, 503) else None
    return JSONResponse({"detail": str(error)}, status, headers=headers)


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the types of a rollout."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, components = msgspec.json.schema_components((RolloutRequest, RolloutResponse), ref_template=_REF)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(components)
        for name in ("HTTPValidationError", "ValidationError"):  # answered as Problem
            schemas.pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema
