"""The figure of the "Map" tab: the whole world and the path that was walked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from pages.components.charts.figure import Theme, styled


def world_map(
    picture_url: str,
    area: tuple[int, int],
    positions: Sequence[tuple[int, int]],
    frame: int,
    theme: Theme,
) -> go.Figure:
    """The world with the path walked up to a frame drawn in yellow, the rest of it in white.

    picture_url: the whole world as a data URL. area: its width and height in cells. positions: (x, y) at each frame.
    """
    width, height = area
    picture = {
        "source": picture_url,
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": 0,
        "sizex": width,
        "sizey": height,
        "sizing": "stretch",
        "layer": "below",
    }
    walked, ahead = _moves(positions[: frame + 1], 0), _moves(positions[frame:], frame)
    traces = [
        _path(ahead, "rgba(11,14,19,0.6)", 4, is_shadow=True),
        _path(ahead, "#ffffff", 2),
        _path(walked, "rgba(11,14,19,0.75)", 5, is_shadow=True),
        _path(walked, "#fde047", 2.5),
        _place(positions[0], "start", "#ffffff", "circle-open"),
        _place(positions[frame], f"step {frame}", "#f43f5e", "circle"),
    ]
    return styled(
        traces,
        theme,
        height=600,
        x={"visible": False, "range": [0, width], "constrain": "domain"},
        y={
            "visible": False,
            "range": [height, 0],
            "scaleanchor": "x",
            "constrain": "domain",
            "constraintoward": "top",
        },
        images=[picture],
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
    )


def _moves(positions: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int, int]]:
    """(x, y, frame) wherever the position changed."""
    return [
        (*position, first + index)
        for index, position in enumerate(positions)
        if index == 0 or position != positions[index - 1]
    ]


def _path(moves: list[tuple[int, int, int]], colour: str, width: float, is_shadow: bool = False) -> dict[str, Any]:
    says: dict[str, Any] = (
        {"hoverinfo": "skip"} if is_shadow else {"hovertemplate": "step %{customdata}<extra></extra>"}
    )
    return {
        "type": "scatter",
        "x": [x + 0.5 for x, _, _ in moves],
        "y": [y + 0.5 for _, y, _ in moves],
        "customdata": [frame for _, _, frame in moves],
        "mode": "lines",
        "line": {"color": colour, "width": width},
        **says,
    }


def _place(cell: tuple[int, int], name: str, colour: str, symbol: str) -> dict[str, Any]:
    x, y = cell
    return {
        "type": "scatter",
        "x": [x + 0.5],
        "y": [y + 0.5],
        "mode": "markers",
        "marker": {"size": 12, "symbol": symbol, "color": colour, "line": {"width": 2.5, "color": "#ffffff"}},
        "hovertemplate": f"{name}, cell ({x}, {y})<extra></extra>",
    }
