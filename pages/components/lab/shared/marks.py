"""Marks and axes of the Lab's charts, and the colours of policies. Published results are hollow grey marks.

A policy's place decides its colour and mark. It follows from the name, so that new policies do not change the colours
of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

from pages.components.charts.figure import COLOURS, Colour, Theme, inert

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


@dataclass(frozen=True, slots=True)
class PolicyStyle:
    """Colours and markers of policies on one theme. places: see `policy_places`."""

    places: Mapping[str, int]
    theme: Theme

    def colour(self, policy: str) -> str:
        return _POLICIES[self.places[policy] % len(_POLICIES)].on(self.theme)

    def marker(self, policy: str, **more: object) -> dict[str, Any]:
        """A Plotly marker; each repetition of the colours has its own symbol."""
        return {
            "size": 9,
            "color": self.colour(policy),
            "symbol": _SHAPES[self.places[policy] // len(_POLICIES) % len(_SHAPES)],
            "line": {"width": 1, "color": COLOURS["ground"].on(self.theme)},
            **more,
        }


def published_marker(place: int, theme: Theme, size: int = 9) -> dict[str, Any]:
    """The Plotly marker of the published row at this place among the rows shown."""
    text = COLOURS["text"].on(theme)
    return {"symbol": _HOLLOW[place % len(_HOLLOW)], "size": size, "color": text, "line": {"width": 1.6, "color": text}}


def marks(
    x: Iterable[float | None], y: Iterable[float | None], marker: dict[str, Any], hovers: Sequence[str], **more: object
) -> dict[str, Any]:
    """A Plotly trace of marks, each with its hover text."""
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,  # otherwise marks at 0 are cut in half
        "x": list(x),
        "y": list(y),
        "marker": marker,
        "hovertext": hovers,
        "hovertemplate": "%{hovertext}<extra></extra>",
        **more,
    }


def error_bars(
    values: Sequence[float], lows: Sequence[float | None], highs: Sequence[float | None], colour: str
) -> dict[str, Any]:
    """Horizontal lines through marks, from low to high; None: no line to that side."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if high is None else max(0.0, high - value) for value, high in zip(values, highs, strict=True)],
        "arrayminus": [0.0 if low is None else max(0.0, value - low) for value, low in zip(values, lows, strict=True)],
        "color": colour,
        "thickness": 1.8,
        "width": 0,
    }


def row_axis(labels: Sequence[str], **more: object) -> dict[str, Any]:
    """A Plotly y axis with a label for each row, row 0 on top."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": [inert(label) for label in labels],
        "range": [len(labels) - 0.5, -0.6],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        **more,
    }
