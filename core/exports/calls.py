"""What exports for language models have in common: requests and tool calls as the chat-completions API has them."""

from __future__ import annotations

import json
from typing import Any

from core.policies.llm.prompt import Message
from core.policies.tools import TOOL_NAME, read_tool_call
from core.policies.tools.values import as_dict, as_list, is_dict
from core.types import ModelCall


def request_messages(call: ModelCall | None) -> list[Message]:
    """The messages of the request as sent; empty if no model was asked."""
    return [as_dict(message) for message in as_list(call.request.get("messages") if call else None)]


def request_tools(call: ModelCall | None) -> list[dict[str, Any]]:
    """The tools that were offered, as sent."""
    return [as_dict(tool) for tool in as_list(call.request.get("tools") if call else None)]


def arguments_object(arguments: Any) -> dict[str, Any]:
    """A call's arguments as an object; invalid JSON becomes the arguments as they were read."""
    try:
        decoded: Any = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        decoded = None
    if is_dict(decoded):
        return decoded
    read = read_tool_call(TOOL_NAME, arguments, max_actions=None).call
    return {"actions": list(read.actions), "reasoning": read.reasoning}


def text_of(content: Any) -> str:
    """The text of a message's content; pictures are left out."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part).get("text") for part in as_list(content)]
    return "\n".join(text for text in parts if isinstance(text, str))
