"""One colour for each reward component, the same in every chart: the kind gives the range of hues, the name the hue.

The environment's reward has its own colour, so hues near it are not used. Neighbours in a list are often paid together,
so their hues and lightness are far apart.
"""

from __future__ import annotations

import colorsys
from typing import Final

from core import data
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.rewards.potentials import POTENTIALS
from pages.components.charts.figure import COLOURS, Theme

# kind -> (first hue, last hue) in degrees, and the names in the order of their hues
_FAMILIES: Final[dict[str, tuple[float, float, tuple[str, ...]]]] = {
    "indicator": (158, 158, ("any_achievement",)),
    "achievement": (88, 160, ACHIEVEMENTS),
    "achievement_count": (172, 204, ACHIEVEMENTS),
    "inventory": (238, 312, tuple(dict.fromkeys((*ITEMS, *data.inventory_weights())))),
    "potential": (324, 346, tuple(POTENTIALS)),
}
_OTHERS: Final = (20, 48)
_LIGHTNESS: Final[dict[Theme, tuple[float, ...]]] = {
    "light": (0.45, 0.58, 0.24, 0.34),
    "dark": (0.66, 0.57, 0.84, 0.75),
}
_SATURATION: Final[dict[Theme, float]] = {"light": 0.72, "dark": 0.68}
_OF_A_WHOLE_KIND: Final = 0.32  # saturation
_STRIDE: Final = 19  # coprime with the length of every list


def component_colour(kind: str, name: str, theme: Theme) -> str:
    """`#rrggbb` of a component on a light or dark background. An unknown name gets a hue derived from its letters.

    Without a name: a paler colour for several components of the kind together.
    """
    if kind == "environment":
        return COLOURS["env"].on(theme)
    first, last, names = _FAMILIES.get(kind, (*_OTHERS, ()))
    place = names.index(name) if name in names else sum(name.encode("utf-8", "replace"))
    count = max(len(names), 8)
    hue = first + (last - first) * (place * _STRIDE % count) / max(count - 1, 1)
    tones = _LIGHTNESS[theme]
    tone, saturation = tones[place % len(tones)], _SATURATION[theme]
    if not name:
        hue, tone, saturation = (first + last) / 2, sum(tones) / len(tones), _OF_A_WHOLE_KIND
    red, green, blue = colorsys.hls_to_rgb(hue / 360, tone, saturation)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
