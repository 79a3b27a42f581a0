"""Numbers and names as sentences want them."""

from __future__ import annotations

from collections.abc import Sequence

_KINDS = {
    "achievement": 'the unlock of "{}"',
    "achievement_count": 'the count of "{}"',
    "inventory": '"{}" in the inventory',
    "indicator": "the indicator of a first unlock",
    "environment": "the environment's reward",
    "potential": 'the potential "{}"',
}


def component(kind: str, name: str) -> str:
    """A component in words."""
    return _KINDS.get(kind, kind + ' "{}"').format(name)


def amount(value: float) -> str:
    """A reward: two digits after the point, more where it is small."""
    return f"{value:,.2f}" if abs(value) >= 0.095 or not value else f"{value:.2g}"


def share(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.0f} %"


def times(number: int, thing: str, things: str = "") -> str:
    """ "1 lap", "2 laps"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def listing(names: Sequence[str]) -> str:
    """ "a, b and c", with spaces for underscores."""
    plain = [name.replace("_", " ") for name in names]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} and {plain[-1]}"


def unlocks_worth(count: float) -> str:
    """`as much as an unlock does in the mean`, `7 times as much as an unlock does in the mean`."""
    many = "" if count == 1 else f"{count:g} times "
    return f"{many}as much as an unlock does in the mean"
