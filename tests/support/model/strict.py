"""Stand-ins for providers that are stricter than OpenAI: real servers on loopback that check every field of a request.

Each is a class with `problem`, which names the rule that a request breaks, and `message`, what it answers. To add one,
write such a class and list it in `STRICT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.model.server import ModelServer, calls, says

Refusal = tuple[int, Any]
Message = dict[str, Any]

ACTIONS = (("move_left", "do"), ("move_right",), ("noop", "do"), ("move_up",))


def refused(message: str, status: int = 400, **more: Any) -> Refusal:
    return status, {"error": {"message": message, "type": "invalid_request_error", **more}}


class StrictProvider:
    """The rules that all of them share: every call is answered once, right after it, and no field is null."""

    def __init__(self) -> None:
        self.given: list[Message] = []

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        """Why the request is refused; None if it is valid."""
        for name, value in request.items():
            if value is None:
                return refused(f"Invalid type for '{name}': expected a value, got null.", param=name)
        if any(name in request for name in ("parallel_tool_calls", "tool_choice")):
            return refused("Unsupported parameter: 'parallel_tool_calls' or 'tool_choice'.")
        open_calls: list[str] = []
        for message in request["messages"]:
            if message["role"] == "tool":
                if message.get("tool_call_id") not in open_calls:
                    return refused("A tool message answers no call of the message before it.")
                open_calls.remove(message["tool_call_id"])
            elif open_calls:
                return refused("A tool call was not answered by a tool message.")
            if message["role"] == "assistant":
                open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        return refused("A tool call was not answered by a tool message.") if open_calls else None

    def message(self, at: int) -> Message:
        """The assistant's message of the answer number `at`."""
        body = calls(*ACTIONS[at % len(ACTIONS)])
        message: Message = body["choices"][0]["message"]
        message["tool_calls"][0]["id"] = f"Call{at:05}"
        return message

    def __call__(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        if found := self.problem(request):
            status, body = found
            says(body, status)(handler)
            return
        message = self.message(len(self.given))
        self.given.append(message)
        body = calls("noop")
        body["choices"][0]["message"] = message
        says(body)(handler)

    def returned(self, request: dict[str, Any]) -> Iterator[tuple[Message, Message]]:
        """Each assistant message of the request, with the one that the server sent, the newest first."""
        came_back = [message for message in request["messages"] if message["role"] == "assistant"]
        yield from zip(reversed(came_back), reversed(self.given), strict=False)


class DeepSeek(StrictProvider):
    """DeepSeek's thinking mode and Kimi: the reasoning of a message with calls comes back, also where it was empty."""

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        for message, given in self.returned(request):
            if message.get("reasoning_content") != given["reasoning_content"]:
                return refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
        if request.get("temperature", 1) != 1:
            return refused("invalid temperature: only 1 is allowed for this model")
        return super().problem(request)

    def message(self, at: int) -> Message:
        return {**super().message(at), "reasoning_content": "" if at % 2 else "A tree is near."}


class Gemini(StrictProvider):
    """The signature of a call comes back in it."""

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        for message, given in self.returned(request):
            for call, signed in zip(message["tool_calls"], given["tool_calls"], strict=True):
                if call.get("extra_content") != signed["extra_content"]:
                    detail = "Function call is missing a thought_signature in functionCall parts."
                    return 400, [{"error": {"code": 400, "message": detail, "status": "INVALID_ARGUMENT"}}]
        return super().problem(request)

    def message(self, at: int) -> Message:
        message = super().message(at)
        message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": f"c2lnbmVk{at}"}}
        return message


class Mistral(StrictProvider):
    """Only an assistant's or a tool's message may follow a tool's; ids have 9 letters or digits."""

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        messages = request["messages"]
        for before, message in zip(messages, messages[1:], strict=False):
            if before["role"] == "tool" and message["role"] not in ("assistant", "tool"):
                detail = f"Unexpected role '{message['role']}' after role 'tool'"
                return 400, {"object": "error", "message": detail, "type": "invalid_request_message_order"}
            if message["role"] == "assistant" and not (message.get("content") or message.get("tool_calls")):
                return refused("Assistant message must have either content or tool_calls, but not none.")
            ids = [call.get("id") for call in message.get("tool_calls") or ()]
            for id_ in (*ids, *([message["tool_call_id"]] if message["role"] == "tool" else ())):
                if not re.fullmatch(r"[a-zA-Z0-9]{9}", str(id_)):
                    return refused(f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9.")
        return super().problem(request)


class MistralWithoutIds(Mistral):
    """The same rules, but its calls have no ids, so that ours are used."""

    def message(self, at: int) -> Message:
        message = super().message(at)
        del message["tool_calls"][0]["id"]
        return message


class Gpt5(StrictProvider):
    """GPT-5 and the o-series: no temperature but 1, no top_p, and another name for the token limit."""

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        if "max_tokens" in request:
            detail = "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            detail += "'max_completion_tokens' instead."
            return refused(detail, param="max_tokens", code="unsupported_parameter")
        if request.get("temperature", 1) != 1:
            detail = "Unsupported value: 'temperature' does not support this value with this model. Only the default "
            return refused(detail + "(1) value is supported.", param="temperature", code="unsupported_value")
        if "top_p" in request:
            detail = "Unsupported parameter: 'top_p' is not supported with this model."
            return refused(detail, param="top_p", code="unsupported_parameter")
        return super().problem(request)


class Claude(StrictProvider):
    """Claude behind a compatible endpoint: one sampling field at most."""

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        if "temperature" in request and "top_p" in request:
            detail = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
            return refused(detail)
        return super().problem(request)


class StrictFastApi(StrictProvider):
    """A FastAPI server that forbids unknown fields, in messages too, although it sends some itself."""

    FIELDS = ("model", "messages", "tools", "max_tokens")
    MESSAGE_FIELDS = ("role", "content", "tool_calls", "tool_call_id")

    def problem(self, request: dict[str, Any]) -> Refusal | None:
        extra = [["body", name] for name in request if name not in self.FIELDS]
        extra += [
            ["body", "messages", at, message["role"], name]
            for at, message in enumerate(request["messages"])
            for name in message
            if name not in self.MESSAGE_FIELDS
        ]
        if extra:
            message = "Extra inputs are not permitted"
            return 422, {"detail": [{"type": "extra_forbidden", "loc": loc, "msg": message} for loc in extra]}
        return super().problem(request)

    def message(self, at: int) -> Message:
        return {**super().message(at), "refusal": None, "annotations": []}


STRICT: tuple[type[StrictProvider], ...] = (
    DeepSeek,
    Gemini,
    Mistral,
    MistralWithoutIds,
    Gpt5,
    Claude,
    StrictFastApi,
)


def strict_server(provider: StrictProvider) -> ModelServer:
    """The provider on loopback."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        provider(handler, json.loads(json.dumps(server.requests[-1][2])))

    server = ModelServer([reply])
    return server
