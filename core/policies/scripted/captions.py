"""Words for captions."""

from __future__ import annotations

from core.policies.scripted.situation import Cell, Situation


def way(situation: Situation, cell: Cell) -> str:
    """Where a cell is, seen from the player: "3 left and 2 up"."""
    dx, dy = cell[0] - situation.position[0], cell[1] - situation.position[1]
    parts: list[str] = []
    if dx:
        parts.append(f"{abs(dx)} {'right' if dx > 0 else 'left'}")
    if dy:
        parts.append(f"{abs(dy)} {'down' if dy > 0 else 'up'}")
    return " and ".join(parts) or "here"


def plain(name: str) -> str:
    """A name of the rules as people write it: "stone pickaxe"."""
    return name.replace("_", " ")


def a(name: str) -> str:
    """The name with its article: "an iron pickaxe"."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {plain(name)}"
