"""The "State" tab: vitals, inventory and achievements at the frame shown.

The HTML holds only Crafter's own names and integers, no text from a trace.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.env.rules import ACHIEVEMENTS, ITEMS, MAX_ITEM, VITALS
from core.types import StateFacts
from pages.components.shared.icons import icon
from pages.components.text.format import name_text

_VITAL_COLOURS = {"health": "#ef5b62", "food": "#d9822b", "drink": "#4b8df8", "energy": "#2fb574"}
_STYLE = """
<style>
.cs-state p { font-size: 0.87rem; margin: 0; opacity: 0.72; }
.cs-state h5 { margin: 14px 0 8px; padding: 0; font-size: 0.87rem; font-weight: 600; opacity: 0.72; }
.cs-state .cells { display: grid; gap: 8px; grid-template-columns: repeat(auto-fill, minmax(136px, 1fr)); }
.cs-state .cell { align-items: center; border: 1px solid color-mix(in srgb, currentColor 14%, transparent);
  border-radius: 8px; display: flex; gap: 9px; padding: 7px 10px; min-width: 0; }
.cs-state .cs-icon { flex: none; height: 24px; image-rendering: pixelated; width: 24px; }
.cs-state .name { flex: 1; font-size: 0.87rem; line-height: 1.15; min-width: 0; overflow-wrap: anywhere; }
.cs-state .value { font-variant-numeric: tabular-nums; font-weight: 650; white-space: nowrap; }
.cs-state .none { opacity: 0.38; }
.cs-state .change { font-size: 0.8rem; font-weight: 500; opacity: 0.75; }
.cs-state .bar { background: color-mix(in srgb, currentColor 12%, transparent); border-radius: 3px; height: 5px;
  margin-top: 5px; overflow: hidden; }
.cs-state .bar i { display: block; height: 100%; }
.cs-state .step { font-size: 0.8rem; font-variant-numeric: tabular-nums; opacity: 0.75; white-space: nowrap; }
.cs-state .got { border-color: color-mix(in srgb, #f5b942 65%, transparent); }
.cs-state .got .mark { background: #f5b942; }
.cs-state .mark { background: color-mix(in srgb, currentColor 22%, transparent); flex: none; height: 8px;
  transform: rotate(45deg); width: 8px; }
.cs-state .vitals { grid-template-columns: repeat(4, minmax(0, 1fr)); }
@media (max-width: 1300px) { .cs-state .vitals { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.cs-state .wide { grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); }
</style>
"""


def show_state(facts: StateFacts, before: StateFacts, decision: int, unlocks: Mapping[str, int], frame: int) -> None:
    """before: facts at the start of the decision, to show changes. unlocks: achievement -> index of its step."""
    got = sum(step < frame for step in unlocks.values())
    items = [item for item in ITEMS if item not in VITALS]
    st.html(
        _STYLE
        + '<div class="cs-state">'
        + f"<p>{_compared(decision, frame)}</p>"
        + _section("Vitals, of 9 each", "vitals", [_vital(v, facts, before) for v in VITALS])
        + _section("Inventory", "", [_item(item, facts, before) for item in items])
        + _section(
            f"Achievements at this step: {got} of {len(ACHIEVEMENTS)}",
            "wide",
            [_achievement(name, unlocks.get(name), frame) for name in _in_order(unlocks)],
        )
        + "</div>"
    )
    if facts.position is not None:
        st.caption(f"Position: column {facts.position[0]}, row {facts.position[1]} (from 0 at the top left)")


def _compared(decision: int, frame: int) -> str:
    if frame == 0:
        return "After reset, before the first decision."
    return f"After step {frame:,}. Small signed numbers: change since the start of decision {decision:,}."


def _section(title: str, style: str, cells: list[str]) -> str:
    return f'<h5>{title}</h5><div class="cells {style}">{"".join(cells)}</div>'


def _vital(name: str, facts: StateFacts, before: StateFacts) -> str:
    value = facts.inventory.get(name, 0)
    share = round(100 * value / MAX_ITEM[name])
    return (
        f'<div class="cell">{icon(name)}<div class="name">{name}'
        f'<div class="bar"><i style="width:{share}%;background:{_VITAL_COLOURS[name]}"></i></div></div>'
        f'<span class="value">{value}{_change(value, before.inventory.get(name, 0))}</span></div>'
    )


def _item(name: str, facts: StateFacts, before: StateFacts) -> str:
    value = facts.inventory.get(name, 0)
    style = "" if value else " none"
    return (
        f'<div class="cell{style}">{icon(name)}<span class="name">{name_text(name)}</span>'
        f'<span class="value">{value}{_change(value, before.inventory.get(name, 0))}</span></div>'
    )


def _achievement(name: str, step: int | None, frame: int) -> str:
    reached = step is not None and step < frame
    when = "never" if step is None else f"step {step + 1:,}"
    style = "got" if reached else "none"
    return (
        f'<div class="cell {style}"><span class="mark"></span><span class="name">{name_text(name)}</span>'
        f'<span class="step">{when}</span></div>'
    )


def _in_order(unlocks: Mapping[str, int]) -> list[str]:
    """Unlocked ones by step, then the rest in Crafter's order."""
    known = [name for name in unlocks if name in ACHIEVEMENTS]
    return [*known, *(name for name in ACHIEVEMENTS if name not in unlocks)]


def _change(now: int, before: int) -> str:
    change = f"{now - before:+d}".replace("-", "−")
    return f' <span class="change">{change}</span>' if now != before else ""
