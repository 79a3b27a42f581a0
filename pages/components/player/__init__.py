"""The replay player: an episode drawn in the browser from its scenes, stepped with the keyboard.

    data = build_player_data(store.episodes.packed_scenes(id), store.episodes.load(id))  # cache it per episode
    frame = player(data, key=f"player-{id}", start_step=frame_of_the_url)

**Frames.** Frame 0 is the world after reset; frame k (k >= 1) is the world after step k - 1, so an episode of n steps
has frames 0..n. `player` takes, shows and returns frames, and `step=k` in a URL is frame k. Steps and decisions of an
episode count from 0, as everywhere in `core`.

**Rerun.** A move reruns the page (or the fragment around the player) 60 ms after the last one; while playing, at most
four times a second and only when the page has finished drawing. A page that contains `first_frame_mark(True)` is rerun
once the first frame is painted or has failed.

**Text.** Reasoning, action and achievement names come from a trace. They reach the page as text nodes only.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import io
import json
import math
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypedDict

import streamlit as st
from crafter import constants
from PIL import Image
from streamlit.components.v2 import component

from core.env.rules import SEMANTIC_NAMES, VITALS
from core.scenes import ITEMS, TEXTURES, read_packed
from core.types import Decision, Episode
from pages.components.text.escape import safe_text

__all__ = ["PlayerData", "Seek", "build_player_data", "first_frame_mark", "player"]

_NAME = "craftscope.player"
_HERE = Path(__file__).parent
_SCRIPTS = ("scenes.js", "painter.js", "timeline.js", "player.js")  # one module, in this order
_TILE = 16
_ATLAS_COLUMNS = 8
_MAX_NAME_LENGTH = 60
_MAX_CAPTION_LENGTH = 1_000  # the Tool call tab shows all of it


class Seek(TypedDict):
    """Go to frame `step`. Each `nonce` is obeyed once, so a new seek needs a new one."""

    step: int
    nonce: int


@dataclass(frozen=True, slots=True)
class PlayerData:
    """An episode as it is sent to the browser. It can be pickled and cached.

    frames: number of frames (steps + 1).
    scenes: the packed scenes of `core.scenes`, gzip, base64.
    hud: columns about steps and decisions as JSON, gzip, base64.
    digest: of the content, so that the browser reads it once.
    """

    frames: int
    scenes: str
    hud: str
    digest: str


def first_frame_mark(is_awaited: bool) -> str:
    """For `st.html`, before the player. Draw it in every run: otherwise Streamlit draws the elements after it a second
    time, beside their old versions."""
    return (
        '<style>[data-testid="stElementContainer"]:has(.cs-first-frame) { display: none; }</style>'
        f'<span class="cs-first-frame{" cs-is-awaited" * is_awaited}"></span>'
    )


def build_player_data(packed: bytes, episode: Episode) -> PlayerData:
    """packed: its packed scenes, the one after reset first, then one per step.

    A running episode may have been read between two writes: frames without a step show no action; steps, decisions and
    unlocks without a frame are left out.

    Raises InvalidInput if the scenes are corrupt.
    """
    frames = len(read_packed(packed))
    shown = max(frames - 1, 0)
    steps = episode.steps[:shown]
    names = [safe_text(step.action, _MAX_NAME_LENGTH) for step in steps]
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    ends = list(accumulate(len(decision.steps) for decision in episode.decisions))
    starts = [0, *ends][: len(ends)]
    visible = episode.decisions[: sum(start <= shown for start in starts)]
    hud: dict[str, Any] = {
        "actions": list(codes),
        "action": [codes[name] for name in names],
        "envReward": [_finite(step.env_reward) for step in steps],
        "start": starts[: len(visible)],
        "end": [min(end, shown) for end in ends[: len(visible)]],
        "reward": [_finite(decision.reward.total) for decision in visible],
        "reasoning": [_reasoning(decision) for decision in visible],
        "error": [safe_text(d.error.detail, _MAX_CAPTION_LENGTH) if d.error else "" for d in visible],
        "unlocks": sorted(
            [step + 1, safe_text(name, _MAX_NAME_LENGTH)] for name, step in episode.unlock_steps.items() if step < shown
        ),
    }
    text = json.dumps(hud, allow_nan=False, separators=(",", ":")).encode()
    digest = hashlib.blake2b(packed + text, digest_size=12).hexdigest()
    return PlayerData(frames=frames, scenes=_compressed(packed), hud=_compressed(text), digest=digest)


def _reasoning(decision: Decision) -> str:
    return safe_text("\n".join(call.reasoning for call in decision.tool_calls if call.reasoning), _MAX_CAPTION_LENGTH)


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

    key: one per view of an episode.
    start_step: the first frame; read only when the player appears, which it also does after another page was shown.
    seek: go to a frame from Python. One that exists when the player appears counts as already done.
    present: fill the whole window with frame and captions.
    exit_url: a URL in this dashboard that the exit button leads to; the frame is added as `step`.
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
        # Streamlit keeps a state value only if it has a callback.
        on_step_change=lambda: None,
        on_painted_change=lambda: None,
    )
    return _within(data, state.step if moved_to is None else moved_to)


def _position(data: PlayerData, *, key: str, start_step: int, seek: Seek | None) -> tuple[int, int | None, int | None]:
    """The browser's first frame, the nonce of the last seek already done, and the frame of a new seek.

    The first frame stays what it was when the player appeared: if it followed the player, every move would change the
    data and send the whole episode again. A seek may come before the browser has mounted the player.
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
    """The nearest existing frame. The browser may report anything."""
    whole = int(frame) if isinstance(frame, int | float) and math.isfinite(frame) else 0
    return max(0, min(whole, data.frames - 1))


def _component() -> Any:
    # Registered at each use: tests start several Streamlit runtimes in one process, and registering again is cheap.
    html, css, js = _assets()
    return component(_NAME, html=html, css=css, js=js)


@functools.cache
def _assets() -> tuple[str, str, str]:
    """html, css, js"""
    js = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return (_HERE / "player.html").read_text(encoding="utf-8"), (_HERE / "player.css").read_text(encoding="utf-8"), js


@functools.cache
def _atlas() -> dict[str, Any]:
    """Crafter's textures in one picture: its data URL, the names in order, and the layout."""
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
