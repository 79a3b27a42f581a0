"""The "Map" tab: the whole world and the path that was walked through it."""

from __future__ import annotations

import base64
import io

import streamlit as st
from PIL import Image

from core.env import CrafterEnv
from core.env.rules import ENGINE_VERSION
from core.types import EnvConfig, EpisodeSpec
from pages.components import charts
from pages.components.episode.map_chart import world_map
from pages.components.player.episode_data import EpisodeData

_WIDEST_PX = 640
_FINEST_CELL_PX = 10


def show_map(spec: EpisodeSpec, track: EpisodeData, frame: int, key: str) -> None:
    """Draw the tab. The picture takes about a second to make, once for each world."""
    if not track.positions:
        st.text("No position was recorded.")
        return
    picture = _world_picture(spec.seed, spec.world_episode, spec.env, ENGINE_VERSION)
    reached = min(frame, len(track.positions) - 1)
    figure = world_map(picture, spec.env.area, track.positions, reached, charts.theme())
    st.caption(
        f"The ground is the world after reset, not at step {reached:,}: what was collected, built or moved since is "
        "not drawn. Yellow line: the path up to this step. White line: what follows. White ring: the start. Red dot: "
        "the player at this step."
    )
    charts.show(figure, key=f"map-{key}", alt="The world after reset from above with the path walked")


@st.cache_data(max_entries=32, show_spinner="Drawing the world, about a second…")
def _world_picture(seed: int, world_episode: int, env: EnvConfig, engine_version: str) -> str:
    """The world after reset as a data URL. engine_version: another engine may make another world."""
    world = CrafterEnv.from_config(env, observe=False)
    world.reset(seed=seed, options={"episode": world_episode})
    cell = max(1, min(_FINEST_CELL_PX, _WIDEST_PX // max(env.area)))
    png = io.BytesIO()
    Image.fromarray(world.world_image(cell)).save(png, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
