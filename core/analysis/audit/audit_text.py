"""Numbers and names as sentences want them."""

from __future__ import annotations

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
    known = _KINDS.get(kind)
    return f'{kind} "{name}"' if known is None else known.replace("{}", name)


def amount(value: float) -> str:
    """A reward: two digits after the point, more where it is small, an exponent where it is beyond 1e15."""
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.2f}" if abs(value) >= 0.095 or not value else f"{value:.2g}"


def share(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.0f} %"


def unlocks_worth(count: float, *, is_paid: bool = True) -> str:
    """`as much as an unlock does in the mean`, `7 times as much as an unlock does in the mean`.

    is_paid: whether the configuration pays for unlocks; where it does not, what Crafter itself pays is the measure.
    """
    many = "" if count == 1 else f"{count:g} times "
    if not is_paid:
        return f"{many}the 1 that Crafter itself pays for an unlock, as this configuration pays nothing for one"
    return f"{many}as much as an unlock does in the mean"
