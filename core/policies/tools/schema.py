"""The tool as a server is told about it."""

from __future__ import annotations

from typing import Any

from core.env.rules import ACTIONS

TOOL_NAME = "interact"


def tool_schema(max_actions: int | None) -> dict[str, Any]:
    """The tool as the chat-completions API wants it described; `max_actions` None leaves the list's length open."""
    actions: dict[str, Any] = {
        "type": "array",
        "items": {"type": "string", "enum": list(ACTIONS)},
        "minItems": 1,
        "description": "Actions to execute in order, one environment step each.",
    }
    if max_actions is not None:
        actions["maxItems"] = max_actions
    return {
        "type": "function",
        "function": {
            "name": TOOL_NAME,
            "description": "Act in the Crafter world. The actions are executed in the order given.",
            "parameters": {
                "type": "object",
                "properties": {
                    "actions": actions,
                    "reasoning": {"type": "string", "description": "Why these actions, in a sentence or two."},
                },
                "required": ["actions"],
            },
        },
    }
