"""The "Map" tab: the whole world and the path walked through it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from PIL import Image

from core.env import CrafterEnv
from core.env.rules import ENGINE_VERSION
from core.types import EnvConfig, EpisodeSpec
from pages.components import charts
from pages.components.charts.figure import Theme, styled
from pages.components.player.episode_data import EpisodeData

_MAX_PX = 640
_MAX_CELL_PX = 10


def show_map(spec: EpisodeSpec, data: EpisodeData, frame: int, key: str) -> None:
    if not data.positions:
        st.text("No position was recorded.")
        return
    picture = _world_picture(spec.seed, spec.world_episode, spec.env, ENGINE_VERSION)
    reached = min(frame, len(data.positions) - 1)
    figure = world_map(picture, spec.env.area, data.positions, reached, charts.theme())
    st.caption(
        f"The world after reset, not at step {reached:,}. Yellow: path so far. White: path ahead. White ring: start. "
        "Red dot: position at this step."
    )
    charts.show(figure, key=f"map-{key}", alt="The world after reset from above with the path walked")


@st.cache_data(max_entries=32, show_spinner="Drawing the world, about a second…")
def _world_picture(seed: int, world_episode: int, env: EnvConfig, engine_version: str) -> str:
    """The world after reset as a data URL. engine_version: part of the cache key, as its worlds may differ."""
    world = CrafterEnv.from_config(env, observe=False)
    world.reset(seed=seed, options={"episode": world_episode})
    cell = max(1, min(_MAX_CELL_PX, _MAX_PX // max(env.area)))
    png = io.BytesIO()
    Image.fromarray(world.world_image(cell)).save(png, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


def world_map(
    picture_url: str, area: tuple[int, int], positions: Sequence[tuple[int, int]], frame: int, theme: Theme
) -> go.Figure:
    """The world with the path on it. picture_url: a data URL. area: (width, height) in cells. positions: (x, y) at
    each frame."""
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
        y={"visible": False, "range": [height, 0], "scaleanchor": "x", "constrain": "domain", "constraintoward": "top"},
        images=[picture],
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
    )


def _moves(positions: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int, int]]:
    """(x, y, frame) of each change of position."""
    return [
        (*position, first + index)
        for index, position in enumerate(positions)
        if index == 0 or position != positions[index - 1]
    ]


def _path(moves: list[tuple[int, int, int]], colour: str, width: float, is_shadow: bool = False) -> dict[str, Any]:
    hover: dict[str, Any] = (
        {"hoverinfo": "skip"} if is_shadow else {"hovertemplate": "step %{customdata}<extra></extra>"}
    )
    return {
        "type": "scatter",
        "x": [x + 0.5 for x, _, _ in moves],
        "y": [y + 0.5 for _, y, _ in moves],
        "customdata": [frame for _, _, frame in moves],
        "mode": "lines",
        "line": {"color": colour, "width": width},
        **hover,
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
