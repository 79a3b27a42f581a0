"""What a model is told: the rules of the game, what it did, and what it sees now.

The rules are made from Crafter's own data, so that they are true for the installed version. They are the same text for
the same version, and are stored with the episode as they were sent.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from core.env.observation import Observation, as_text
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, MAKE, MAX_ITEM, PLACE, VITALS, WALKABLE
from core.policies.tools import TOOL_NAME
from core.text import join
from core.types import Decision

Message = dict[str, Any]


@cache
def default_system_prompt(max_actions: int) -> str:
    """The rules, in English."""
    return "\n".join(
        [
            "You play Crafter, a survival game on a grid. Your aim is to unlock as many achievements as you can and to "
            "stay alive.",
            f"Answer every observation with one call of the tool {TOOL_NAME}: a list of 1 to {max_actions} actions, "
            "executed in order, one step of the game each, and your reasoning in a sentence or two.",
            "",
            f"Actions: {', '.join(ACTIONS)}.",
            "Moving turns you into that direction, and takes you there if the cell is free. You can walk on "
            f"{join(WALKABLE)}; everything else blocks, and lava kills. y grows downwards, so up is towards smaller "
            "y. `do` acts on the cell in front of you: it collects, drinks, eats, or hits a creature.",
            "`noop` waits. `sleep` restores energy; you wake up when it is full or when something hurts you.",
            "",
            "Collecting (`do` on the material in front of you):",
            *(f"- {line}" for line in _collecting()),
            "Placing (in front of you):",
            *(f"- {line}" for line in _placing()),
            "Making (with the needed stations within one cell of you, diagonals included):",
            *(f"- {line}" for line in _making()),
            "",
            f"Vitals: {join(VITALS)}, each at most {MAX_ITEM['health']}. Food, drink and energy fall with time; "
            "while one of them is 0 you lose health, otherwise it heals. Cows are food after a few hits, water is "
            "drink, a ripe plant is food. Zombies on grass hit you, harder while you sleep; skeletons in tunnels shoot "
            "arrows. "
            "At night it is dark and more zombies come.",
            "",
            f"The {len(ACHIEVEMENTS)} achievements: {', '.join(ACHIEVEMENTS)}.",
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
    """The whole prompt: system, what was decided before (at most `remembered`, as text), and the observation.

    picture: PNG of what is seen now, where the model is to see one.
    """
    told: list[Message] = [{"role": "system", "content": system}]
    for decision in history[-remembered:] if remembered else ():
        told += _remembered(decision)
    return [*told, {"role": "user", "content": _now(observation, picture, with_text)}]


def result_text(decision: Decision) -> str:
    """What came of a decision, as the model is told."""
    if not decision.steps:
        return "Nothing was executed."
    parts = [f"Executed: {', '.join(decision.actions)}. Environment reward {decision.env_reward:+.2f}."]
    if decision.unlocked:
        parts.append(f"Unlocked: {', '.join(decision.unlocked)}.")
    parts += [dropped.reason for call in decision.tool_calls for dropped in call.dropped[:3]]
    return " ".join(parts)


def _remembered(decision: Decision) -> list[Message]:
    asked: Message = {"role": "user", "content": decision.observation}
    calls = [call for call in decision.tool_calls if call.arguments]
    if not calls:
        said = decision.model_call.content if decision.model_call else ""
        return [asked, {"role": "assistant", "content": said or "(no tool call)"}]
    ids = [call.call_id or f"call_{decision.index}_{at}" for at, call in enumerate(calls)]
    called: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": id_,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps({"actions": list(call.actions), "reasoning": call.reasoning}),
                },
            }
            for id_, call in zip(ids, calls, strict=True)
        ],
    }
    results = [{"role": "tool", "tool_call_id": id_, "content": result_text(decision)} for id_ in ids]
    return [asked, called, *results]


def _now(observation: Observation, picture: bytes | None, with_text: bool) -> Any:
    text = as_text(observation) if with_text else f"Step {observation.step} of {observation.step_limit}."
    if picture is None:
        return text
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _collecting() -> list[str]:
    return [
        f"{material}: gives {_amounts(rule.receives)}"
        + (f", needs {_amounts(rule.requires)}" if rule.requires else "")
        + (f", one time in {round(1 / rule.probability)}" if rule.probability < 1 else "")
        + (f"; leaves {rule.leaves}" if rule.leaves != material else "")
        for material, rule in COLLECT.items()
    ]


def _placing() -> list[str]:
    return [f"place_{name}: uses {_amounts(rule.uses)}; on {join(rule.where)}" for name, rule in PLACE.items()]


def _making() -> list[str]:
    return [f"make_{name}: uses {_amounts(rule.uses)}; near {join(rule.nearby)}" for name, rule in MAKE.items()]


def _amounts(amounts: dict[str, int]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items())
