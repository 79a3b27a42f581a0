"""Routes that pass chat completions on to a provider, with the rules of the game as a system message."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from core.errors import InvalidInput
from core.policies.llm import KeyRemover, OpenAIClient, crafting_hints, endpoint_of, key_to_send, keys_for
from core.service.state import ALWAYS, Service, problems, service_of

router = APIRouter(prefix="/proxy", tags=["inference"], responses={**ALWAYS, **problems(404, 502)})

Shared = Annotated[Service, Depends(service_of)]
_LONGEST_CALL_S = 300.0
_RETRIES = 1


@router.post("/v1/chat/completions", response_class=Response)
async def openai(body: dict[str, Any], shared: Shared) -> Response:
    return await _in_a_thread(body, shared.service.openai_url, shared)


@router.post("/groq/v1/chat/completions", response_class=Response)
async def groq(body: dict[str, Any], shared: Shared) -> Response:
    return await _in_a_thread(body, shared.service.groq_url, shared)


async def _in_a_thread(body: dict[str, Any], url: str, shared: Service) -> Response:
    return await asyncio.get_running_loop().run_in_executor(shared.calls, _pass_on, body, url, shared)


def _pass_on(body: dict[str, Any], url: str, shared: Service) -> Response:
    """The provider's answer as it came. 404 where no key is paired with its host, or none is set."""
    endpoint = endpoint_of(url)
    names = [name for name, is_set in keys_for(url).items() if is_set]
    if not names:
        return JSONResponse({"detail": f"No key for {endpoint.host} is set, so this proxy is off."}, 404)
    if not isinstance(body.get("messages"), list) or not isinstance(body.get("model"), str):
        raise InvalidInput("messages: give a list of messages, and model: a name.")
    if body.get("stream"):
        raise InvalidInput("stream: is not supported here; leave it out.")
    endpoint = replace(endpoint, key=key_to_send(names[0], endpoint))
    request = {**body, "messages": [{"role": "system", "content": crafting_hints()}, *body["messages"]]}
    client = OpenAIClient(endpoint, retries=_RETRIES)
    try:
        found = client.complete(request, time_left_s=_LONGEST_CALL_S, should_stop=shared.shutting_down.is_set)
    finally:
        client.close()
    if found.status is None or found.failure is not None:
        why = found.failure.detail if found.failure else "No answer."
        return JSONResponse({"detail": why}, 502)
    text = KeyRemover(endpoint.key).text(found.text)
    return Response(text, found.status, media_type=_media_type(text))


def _media_type(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "text/plain"
    return "application/json"
