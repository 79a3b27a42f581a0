"""The prompt: the rules of the game, the previous decisions with their results, and the observation.

The rules are generated from Crafter's own data, so that they are true for the installed version.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from core.env.observation import Observation, observation_text
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, MAKE, MAX_ITEM, PLACE, VITALS, WALKABLE
from core.policies.tools import TOOL_NAME, assistant_message
from core.policies.tools.values import as_dict, as_list
from core.text import join
from core.types import Decision, ToolCall

Message = dict[str, Any]

_OPENING = "Play."
_SEE_LAST_CALL = "See the result of the last call."


@cache
def default_system_prompt(max_actions: int) -> str:
    """The rules, in English. Short, because every request contains them."""
    moves = [action for action in ACTIONS if action.startswith("move_")]
    return "\n".join(
        [
            "You play Crafter, a survival game on a grid. Unlock as many achievements as you can and stay alive.",
            f"Answer every observation with one call of {TOOL_NAME}: 1 to {max_actions} actions, executed in order, "
            "one game step each, and your reasoning in a sentence.",
            f"{join(moves, 'or')} turns you, and takes you there if the cell is free: {join(WALKABLE)}. The rest "
            "blocks; lava kills. Down is larger y. `do` acts on the cell in front of you: it collects, drinks, eats or "
            "hits. `noop` waits. `sleep` restores energy until it is full or something hurts you.",
            "The local view is a map, row by row from the top; none is outside the world.",
            crafting_hints(),
            f"Vitals: {join(VITALS)}, each at most {MAX_ITEM['health']}. Food, drink and energy fall with time; while "
            "one of them is 0 you lose health, otherwise it heals. Cows are food after a few hits, water is drink, a "
            "ripe plant is food. Zombies on grass hit you, harder while you sleep; skeletons in tunnels shoot arrows. "
            "At night it is dark and more zombies come.",
            f"The {len(ACHIEVEMENTS)} achievements: {', '.join(ACHIEVEMENTS)}.",
        ]
    )


def crafting_hints() -> str:
    """What gives, needs and uses up what."""
    return "\n".join(
        [
            "Collect, with `do` on the material in front of you:",
            *_collecting(),
            "Place in front of you:",
            *(f"place_{name}: {_amounts(rule.uses)}, on {join(rule.where)}" for name, rule in PLACE.items()),
            "Make, with the stations within one cell of you, diagonals included:",
            *(f"make_{name}: {_amounts(rule.uses)}, near {join(rule.nearby)}" for name, rule in MAKE.items()),
        ]
    )


def messages(
    system: str,
    history: Sequence[Decision],
    observation: Observation,
    *,
    remembered: int,
    picture: bytes | None,
    with_text: bool,
) -> list[Message]:
    """The whole prompt: the rules, the previous decisions with their results, and the observation.

    All but the observation, which ends the last message, is also the beginning of the next prompt, until the older half
    of the history is dropped: so a provider's prompt cache hits. The observation is in the tool's message, because
    Mistral refuses a user message after it. remembered: decisions, at most. picture: PNG; no tool message may contain
    one, so it follows in a user message.
    """
    prompt: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": _OPENING}]
    count = remembered_count(history[-1].index + 1, remembered) if history else 0
    for decision in history[-count:] if count else ():
        if turn := _turn(decision):
            prompt += turn
        else:
            prompt[-1] = {**prompt[-1], "content": f"{prompt[-1]['content']}\n{result_text(decision)}"}
    text = observation_text(observation) if with_text else f"Step {observation.step} of {observation.step_limit}."
    prompt[-1] = {**prompt[-1], "content": f"{prompt[-1]['content']}\n\n{text}"}
    if picture is None:
        return prompt
    if prompt[-1]["role"] == "user":
        return [*prompt[:-1], {"role": "user", "content": _with_picture(prompt[-1]["content"], picture)}]
    return [*prompt, {"role": "user", "content": _with_picture("What you see:", picture)}]


def remembered_count(decisions: int, max_remembered: int) -> int:
    """How many of the earlier decisions a prompt contains: all up to a maximum; one more, and half are dropped."""
    if decisions <= max_remembered or not max_remembered:
        return min(decisions, max_remembered)
    half = (max_remembered + 1) // 2
    return max_remembered - half + 1 + (decisions - max_remembered - 1) % half


def result_text(decision: Decision) -> str:
    """The result of a decision, for the model."""
    call = decision.model_call
    if not decision.steps:
        parts = ["Nothing was executed."]
    elif call is not None and call.error_kind is not None:
        parts = [f"Your answer was not valid ({call.error_kind}). Executed: {', '.join(decision.actions)}."]
    elif decision.not_executed:
        parts = [f"Executed {len(decision.steps)} of {len(decision.steps) + len(decision.not_executed)}."]
    else:
        parts = ["Executed."]
    if decision.env_reward:
        parts.append(f"Reward {decision.env_reward:+.2f}.")
    if decision.unlocked:
        parts.append(f"Unlocked: {', '.join(decision.unlocked)}.")
    parts += [dropped.reason for call in decision.tool_calls for dropped in call.dropped[:3]]
    return " ".join(parts)


def _turn(decision: Decision) -> list[Message]:
    """The assistant's message and the results of its calls; empty if there is no message."""
    message = _assistant_message(decision)
    calls = message.get("tool_calls", [])
    if not message:
        return []
    if not calls:
        return [message, {"role": "user", "content": result_text(decision)}]
    results = [*[_SEE_LAST_CALL] * (len(calls) - 1), result_text(decision)]
    return [
        message,
        *(
            {"role": "tool", "tool_call_id": call["id"], "content": result}
            for call, result in zip(calls, results, strict=True)
        ),
    ]


def _assistant_message(decision: Decision) -> Message:
    """The assistant's message as the server sent it, unknown fields included: DeepSeek and Kimi require their
    `reasoning_content`, Gemini the signature in its calls. Repaired is what servers refuse: calls without an id, and
    arguments that are not JSON, on which chat templates fail."""
    message = _answered(decision.model_call.response_text) if decision.model_call else {}
    calls = as_list(message.get("tool_calls"))
    if not calls and not message.get("content") and not message.get("function_call"):
        # The call was found elsewhere, in the reasoning for example: write it as the API expects it.
        calls = [
            {"function": {"name": TOOL_NAME, "arguments": _arguments(call)}}
            for call in decision.tool_calls
            if call.arguments
        ]
        if not calls:
            return {}
    message = {"role": "assistant", **message}
    if calls:
        message["tool_calls"] = [_repaired(as_dict(call), decision, at) for at, call in enumerate(calls)]
    else:
        message.pop("tool_calls", None)  # null and empty lists are refused
    return message


_answered = lru_cache(maxsize=64)(assistant_message)


def _repaired(call: dict[str, Any], decision: Decision, at: int) -> dict[str, Any]:
    """The call with an id, a type and arguments that are JSON."""
    function = as_dict(call.get("function"))
    if not call.get("id"):
        call = {**call, "id": f"c{decision.index:05}{at:03}"}  # Mistral: 9 letters or digits
    if not call.get("type"):
        call = {**call, "type": "function"}
    if isinstance(function.get("arguments"), str) and not _is_object(function["arguments"]):
        read = decision.tool_calls[at] if at < len(decision.tool_calls) else ToolCall(TOOL_NAME, "")
        call = {**call, "function": {**function, "arguments": _arguments(read)}}
    return call


def _arguments(call: ToolCall) -> str:
    return json.dumps({"actions": list(call.actions), "reasoning": call.reasoning})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_picture(text: str, png: bytes) -> list[dict[str, Any]]:
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _collecting() -> list[str]:
    """A line for each material, with what it gives unless that is one of the same name."""
    return [
        material
        + (f": {_amounts(rule.receives)}" if rule.receives != {material: 1} else "")
        + (f", one time in {round(1 / rule.probability)}" if rule.probability < 1 else "")
        + (f", needs {join(list(rule.requires))}" if rule.requires else "")
        for material, rule in COLLECT.items()
    ]


def _amounts(amounts: dict[str, int]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items())
