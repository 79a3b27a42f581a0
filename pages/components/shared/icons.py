"""Crafter's 16x16 textures as inline icons."""

from __future__ import annotations

import base64
import functools
import io

import numpy as np
from PIL import Image

from core.env.render import textures

_TEXTURE_PX = 16


def icon(name: str, *, title: str = "") -> str:
    """An `<img>` for `st.html`. Both arguments must be our own words, not data."""
    return f'<img class="cs-icon" src="{_data_url(name)}" alt="{title or name}" title="{title or name}">'


@functools.cache
def _data_url(name: str) -> str:
    picture = textures().get(name, (_TEXTURE_PX, _TEXTURE_PX)).transpose(1, 0, 2)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
