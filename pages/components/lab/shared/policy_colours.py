"""Colours and marks of policies in comparison charts. Published results are hollow grey marks.

A policy's place decides its colour and mark. It follows from the name, so that new policies do not change the colours
of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from zlib import crc32

from pages.components.charts.figure import COLOURS, Colour, Theme

_POLICIES: Final = (
    Colour("#059669", "#34d399"),
    Colour("#2563eb", "#60a5fa"),
    Colour("#d97706", "#fbbf24"),
    Colour("#dc2626", "#f87171"),
    Colour("#7c3aed", "#a78bfa"),
    Colour("#0891b2", "#22d3ee"),
    Colour("#db2777", "#f472b6"),
    Colour("#65a30d", "#a3e635"),
    Colour("#854d0e", "#c9a26b"),
    Colour("#134e4a", "#99f6e4"),
)
_FIXED: Final = {"scripted": 0, "random": 1, "farmer": 2, "human": 3, "llm": 4}
_FREE: Final = len(_POLICIES) - len(_FIXED)
_SHAPES: Final = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star")
_HOLLOW: Final = ("circle-open", "diamond-open", "square-open", "triangle-up-open", "triangle-down-open", "star-open")


def policy_places(names: Iterable[str], taken: Mapping[str, int] | None = None) -> dict[str, int]:
    """The place of each policy: fixed for built-in ones, else a hash of the name or the next free place.

    Colours repeat, with another mark, only when all are used. taken: places that are already used.
    """
    wanted = sorted(set(names))
    places = {name: _FIXED[name] for name in wanted if name in _FIXED}
    used = {*places.values(), *(taken or {}).values()}
    for name in wanted:
        if name in places:
            continue
        digest = crc32(name.encode("utf-8", "replace"))
        candidates = [len(_FIXED) + (digest + step) % _FREE for step in range(_FREE)]
        repeats = len(_POLICIES) * (len(_SHAPES) - 1)
        candidates += [len(_POLICIES) + (digest + step) % repeats for step in range(repeats)]
        places[name] = next((place for place in candidates if place not in used), candidates[0])
        used.add(places[name])
    return places


def policy_colour(place: int, theme: Theme) -> str:
    return _POLICIES[place % len(_POLICIES)].on(theme)


def policy_shape(place: int) -> str:
    """A Plotly symbol; each repetition of the colours has its own."""
    return _SHAPES[place // len(_POLICIES) % len(_SHAPES)]


def published_mark(place: int, theme: Theme) -> dict[str, object]:
    """The Plotly marker of the published row at this place among the rows shown."""
    return {
        "symbol": _HOLLOW[place % len(_HOLLOW)],
        "size": 9,
        "color": COLOURS["text"].on(theme),
        "line": {"width": 1.6, "color": COLOURS["text"].on(theme)},
    }
