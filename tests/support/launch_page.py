"""The Launch page in Streamlit's AppTest."""

from __future__ import annotations

import io
import json

from PIL import Image
from streamlit.testing.v1 import AppTest

from core.dataset import RADIUS, difficulty_of
from core.env.rules import ENGINE_VERSION
from core.types import EnvConfig, SeedDescription
from tests.support import pages


def described(seed: int, *, trees: int, hostiles: int = 0, diamond: int | None = 30) -> SeedDescription:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), (20, 160, 20)).save(picture, "PNG")
    return SeedDescription(
        seed=seed,
        world_episode=1,
        env=EnvConfig(),
        engine_version=ENGINE_VERSION,
        radius=RADIUS,
        trees=trees,
        cows=seed % 3,
        hostiles=hostiles,
        difficulty=difficulty_of(trees=trees, hostiles=hostiles),
        start=(32, 32),
        inventory={"health": 9},
        distances={"water": 5, "stone": 6, "coal": 7, "iron": 8, "diamond": diamond},
        picture_png=picture.getvalue(),
    )


def opened(worlds: str = "0-3", **query: str) -> AppTest:
    """worlds: seeds that the gallery shows."""
    return pages.opened("launch", state={"launch_shown": worlds}, **query)


def summary(at: AppTest) -> str:
    (text,) = [
        element.proto.body
        for element in at.get("html")
        if "cs-summary" in element.proto.body and "<div" in element.proto.body
    ]
    return text


def link(at: AppTest) -> dict[str, str]:
    """What the form writes into the URL."""
    (component,) = [each for each in at.get("bidi_component") if each.proto.component_name.endswith("url")]
    return json.loads(component.proto.json)["fields"]


def query_value(at: AppTest, name: str) -> str:
    """A query parameter; a list where the test wrote it, a text where the page did."""
    value = at.query_params[name]
    return value[0] if isinstance(value, list) else value


def errors(at: AppTest) -> list[str]:
    return [error.value for error in at.error]
