"""One colour for each player in every chart that compares them; published results are hollow marks in grey."""

from __future__ import annotations

from typing import Final

from pages.components.figure import COLOURS, Colour, Theme

_PLAYERS: Final = (
    Colour("#059669", "#34d399"),
    Colour("#2563eb", "#60a5fa"),
    Colour("#d97706", "#fbbf24"),
    Colour("#dc2626", "#f87171"),
    Colour("#7c3aed", "#a78bfa"),
    Colour("#0891b2", "#22d3ee"),
    Colour("#db2777", "#f472b6"),
    Colour("#65a30d", "#a3e635"),
)
_SHAPES: Final = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star")
_HOLLOW: Final = ("circle-open", "diamond-open", "square-open", "triangle-up-open", "triangle-down-open", "star-open")


def player_colour(place: int, theme: Theme) -> str:
    """The colour of the player at this place among all that are stored."""
    return _PLAYERS[place % len(_PLAYERS)].on(theme)


def player_shape(place: int) -> str:
    """The mark of that player: another one where the colours begin anew."""
    return _SHAPES[place // len(_PLAYERS) % len(_SHAPES)]


def published_mark(place: int, theme: Theme) -> dict[str, object]:
    """The mark of the published row at this place among those that are shown."""
    return {
        "symbol": _HOLLOW[place % len(_HOLLOW)],
        "size": 9,
        "color": COLOURS["text"].on(theme),
        "line": {"width": 1.6, "color": COLOURS["text"].on(theme)},
    }
