"""Pictures sent to a model, from their `data:` URLs. Nothing is ever fetched."""

from __future__ import annotations

import base64
import binascii
import io
import re
from dataclasses import dataclass

import streamlit as st
from PIL import Image

from pages.components.text.escape import one_line
from pages.components.text.format import number

_DATA_URL = re.compile(r"data:image/[a-z+.\-]{1,20};base64,", re.IGNORECASE)
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MAX_CHARACTERS = 8_000_000
_MAX_PIXELS = 4_000_000
_MAX_URL_LENGTH = 200
_WIDTH_PX = 216


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture, encoded again as PNG. kind, n_bytes: format and size of the original."""

    png: bytes
    width: int
    height: int
    kind: str
    n_bytes: int

    @property
    def size_in_words(self) -> str:
        """`288 × 288 pixels, PNG, 12,345 bytes`."""
        return f"{self.width} × {self.height} pixels, {self.kind}, {number(self.n_bytes)} bytes"


def picture_of(url: str) -> SentPicture | str:
    """The picture of a `data:` URL, or a sentence why it is not shown."""
    match = _DATA_URL.match(url)
    if match is None:
        return f"Picture URL, not fetched: {one_line(url, _MAX_URL_LENGTH)}"
    if len(url) > _MAX_CHARACTERS:
        return f"Picture of {len(url):,} characters: too large to show"
    try:
        data = base64.b64decode(url[match.end() :], validate=True)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                return f"Picture of {width:,} × {height:,} pixels: too large to show"
            out = io.BytesIO()
            image.convert("RGB").save(out, "PNG", compress_level=1)
            return SentPicture(out.getvalue(), width, height, image.format or "", len(data))
    except (binascii.Error, ValueError, OSError, SyntaxError, Image.DecompressionBombError):
        return f"Picture of {len(url):,} characters: invalid data"


def show_picture(url: str) -> None:
    picture = picture_of(url)
    if isinstance(picture, str):
        st.text(picture)
        return
    st.image(picture.png, width=min(_WIDTH_PX, picture.width), output_format="PNG", alt="The picture that was sent")
    st.caption(picture.size_in_words)
