"""The replay player: an episode drawn in the browser from its scenes, stepped with the keyboard.

    data = build_player_data(store.episodes.packed_scenes(id), steps, decisions, unlocks)     # cache it per episode
    frame = player(data, key=f"player-{id}", start_step=frame_of_the_url)

**Frames.** Frame 0 is the world after reset; frame k (k >= 1) is the world after step k - 1, so an episode of n steps
has frames 0..n. What `player` returns, takes and displays, and what a URL carries as `step=k`, is the frame. What
`build_player_data` is given counts steps and decisions from 0, as everything in `core` does.

**Rerun.** A move reruns the page (or the fragment around the player) 60 ms after the last one; while playing, four
times a second at most and only when the page has finished drawing. A page that has put `first_frame_mark(True)` on
itself is rerun once the first frame is painted, or cannot be.

**Text.** Reasoning, action and achievement names are data from a trace. They reach the page as text nodes only.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import streamlit as st
from crafter import constants
from PIL import Image
from streamlit.components.v2 import component

from core.env.rules import SEMANTIC_NAMES, VITALS
from core.scenes import ITEMS, TEXTURES, read_packed

__all__ = ["DecisionHud", "PlayerData", "Seek", "StepHud", "build_player_data", "first_frame_mark", "player"]

_NAME = "craftscope.player"
_HERE = Path(__file__).parent
_SCRIPTS = ("scenes.js", "painter.js", "timeline.js", "player.js")  # one module, in this order
_TILE = 16
_ATLAS_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class StepHud:
    """What the player says of one environment step."""

    action: str
    env_reward: float


@dataclass(frozen=True, slots=True)
class DecisionHud:
    """What the player says of one decision. Its steps are `step_start` up to, not including, `step_end`.

    reward: the decision's shaped reward.
    error: why it led to nothing, in a few words; empty where it did not fail.
    """

    step_start: int
    step_end: int
    reward: float
    reasoning: str = ""
    error: str = ""


class Seek(TypedDict):
    """Go to frame `step`. A seek is obeyed once for each `nonce`, so give every new one another nonce."""

    step: int
    nonce: int


@dataclass(frozen=True, slots=True)
class PlayerData:
    """An episode as it is sent to the browser. Make it with `build_player_data`; it can be pickled and cached.

    frames: how many frames there are (steps + 1).
    scenes: the packed scenes of `core.scenes`, gzip, base64.
    hud: what is said about steps and decisions, JSON columns, gzip, base64.
    digest: names the content, so that the browser reads it once.
    """

    frames: int
    scenes: str
    hud: str
    digest: str


def first_frame_mark(is_awaited: bool) -> str:
    """For `st.html`, before the player. An element in every run: were it there in some, what follows would be drawn
    anew beside what it replaces."""
    return (
        '<style>[data-testid="stElementContainer"]:has(.cs-first-frame) { display: none; }</style>'
        f'<span class="cs-first-frame{" cs-is-awaited" * is_awaited}"></span>'
    )


def build_player_data(
    packed: bytes,
    steps: Sequence[StepHud],
    decisions: Sequence[DecisionHud],
    unlocks: Sequence[tuple[int, str]],
) -> PlayerData:
    """Put an episode together for the player.

    packed: `TraceStore.packed_scenes`: the scene after reset first, then one a step.
    steps: one a step, in order. decisions: in order, index 0 first.
    unlocks: (index of the step that unlocked it, achievement), as in `Episode.unlock_steps`.
    An episode that is running may have been read between two writes: frames without a step show no action, and steps,
    decisions and unlocks without a frame are left out.

    Raises InvalidInput where the scenes are damaged.
    """
    frames = len(read_packed(packed))
    shown = max(frames - 1, 0)
    actions = sorted({step.action for step in steps[:shown]})
    codes = {action: code for code, action in enumerate(actions)}
    visible = [decision for decision in decisions if decision.step_start <= shown]
    hud: dict[str, Any] = {
        "actions": actions,
        "action": [codes[step.action] for step in steps[:shown]],
        "envReward": [_finite(step.env_reward) for step in steps[:shown]],
        "start": [decision.step_start for decision in visible],
        "end": [min(decision.step_end, shown) for decision in visible],
        "reward": [_finite(decision.reward) for decision in visible],
        "reasoning": [decision.reasoning for decision in visible],
        "error": [decision.error for decision in visible],
        "unlocks": sorted([index + 1, name] for index, name in unlocks if index < shown),
    }
    text = json.dumps(hud, allow_nan=False, separators=(",", ":")).encode()
    digest = hashlib.blake2b(packed + text, digest_size=12).hexdigest()
    return PlayerData(frames=frames, scenes=_compressed(packed), hud=_compressed(text), digest=digest)


def player(
    data: PlayerData,
    *,
    key: str,
    start_step: int,
    seek: Seek | None = None,
    present: bool = False,
    exit_url: str | None = None,
) -> int:
    """Draw the player; returns the frame it shows, 0..frames - 1.

    key: one a view of an episode. start_step: the frame to begin at; looked at only when the player appears, which it
    does anew after another page was shown, so hand it the frame that was returned last.
    seek: go to a frame from Python. One that is there when the player appears is taken as already done.
    present: fill the whole window with frame and captions. exit_url: where its way out leads, an address in this
    dashboard; the frame is added as `step`.
    """
    start, done, moved_to = _position(data, key=key, start_step=start_step, seek=seek)
    state = _component()(
        key=key,
        data={
            "digest": data.digest,
            "frames": data.frames,
            "scenes": data.scenes,
            "hud": data.hud,
            "atlas": _atlas(),
            "materials": list(SEMANTIC_NAMES),
            "textures": list(TEXTURES),
            "items": list(ITEMS),
            "vitals": list(VITALS),
            "start": start,
            "seek": dict(seek) if seek else None,
            "done": done,
            "present": present,
            "exitUrl": exit_url,
        },
        default={"step": start},
        on_step_change=_nothing,
        on_painted_change=_nothing,
    )
    return _within(data, state.step if moved_to is None else moved_to)


def _position(data: PlayerData, *, key: str, start_step: int, seek: Seek | None) -> tuple[int, int | None, int | None]:
    """Where the browser begins, the nonce of the seek that was done before, and where a new seek leads.

    The beginning stays what it was when the player appeared: were it to follow the frame, every move would change
    the data and send the whole episode again. A seek may be new already when the browser first hears of the player.
    """
    start_key, nonce_key, done_key = f"{key}.start", f"{key}.nonce", f"{key}.done"
    nonce = seek["nonce"] if seek else None
    if key not in st.session_state:  # Streamlit forgets a component's state once it is not drawn
        st.session_state[start_key] = _within(data, start_step)
        st.session_state[nonce_key] = st.session_state[done_key] = nonce
    is_new = seek is not None and st.session_state.get(nonce_key) != nonce
    st.session_state[nonce_key] = nonce if seek else st.session_state.get(nonce_key)
    moved_to = seek["step"] if seek and is_new else None
    return st.session_state[start_key], st.session_state[done_key], moved_to


def _within(data: PlayerData, frame: Any) -> int:
    """The nearest frame that exists. What the browser reports is not trusted to be a number."""
    whole = int(frame) if isinstance(frame, int | float) and math.isfinite(frame) else 0
    return max(0, min(whole, data.frames - 1))


def _component() -> Any:
    # Registered at every use: a module outlives Streamlit's runtime where tests start several, and registering the
    # same texts again is free.
    html, css, js = _assets()
    return component(_NAME, html=html, css=css, js=js)


@functools.cache
def _assets() -> tuple[str, str, str]:
    """The component's html, css and js."""
    js = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return (_HERE / "player.html").read_text(encoding="utf-8"), (_HERE / "player.css").read_text(encoding="utf-8"), js


@functools.cache
def _atlas() -> dict[str, Any]:
    """Crafter's own textures in one picture: its data URL, the names in order, and how they are laid out."""
    files = sorted((Path(constants.root) / "assets").glob("*.png"))
    rows = math.ceil(len(files) / _ATLAS_COLUMNS)
    sheet = Image.new("RGBA", (_ATLAS_COLUMNS * _TILE, rows * _TILE))
    for index, file in enumerate(files):
        with Image.open(file) as texture:
            row, column = divmod(index, _ATLAS_COLUMNS)
            sheet.paste(texture.convert("RGBA").resize((_TILE, _TILE)), (column * _TILE, row * _TILE))
    png = io.BytesIO()
    sheet.save(png, "PNG", optimize=True)
    url = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
    return {"url": url, "names": [file.stem for file in files], "tile": _TILE, "columns": _ATLAS_COLUMNS}


def _compressed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, compresslevel=6, mtime=0)).decode()


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _nothing() -> None:
    """Streamlit keeps a state value only where a callback names it."""
