"""A comparison in the address: the rewards that are tried, and what they are held against."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import streamlit as st

from core.errors import InvalidReward, StoreError
from core.rewards import checked, to_changes
from core.types import RewardConfig
from pages.components.browser.url import keep_in_address
from pages.components.lab.shared.form import LAB
from pages.components.links.values import fits
from pages.components.rewards.form import DEFAULT
from pages.components.rewards.start import config_in, start_from_episode, start_from_link
from pages.components.text.escape import escape, one_line

COMPARED: Final = "compare_with"
"""The field with what the rewards are held against."""
PLAYED: Final = "played"

_REWARDS, _AGAINST = "rewards", "against"
_BEGUN: Final = "begun"
_UNKNOWN, _UNKNOWN_AT = "unknown", "unknown_at"
_TROUBLES, _SAID_AT = "link_troubles", "link_troubles_at"
_MAX_NAME_LENGTH = 40


def begin_with_link(comparable: Collection[str]) -> None:
    """On the first visit of a session: what the link says. comparable: what rewards can be held against."""
    if LAB.get(_BEGUN) is not None:
        return
    LAB.put(_BEGUN, False)  # an episode may still have something to say
    troubles: list[str] = []
    LAB.put(_TROUBLES, troubles)
    against = st.query_params.get(_AGAINST, PLAYED)
    if against in comparable:
        LAB.put(COMPARED, against)
    else:
        troubles.append(f"The link compares with “{one_line(against, _MAX_NAME_LENGTH)}”, which is not saved here.")
    text = st.query_params.get(_REWARDS)
    if text is None:
        return
    LAB.put(_BEGUN, True)
    try:
        start_from_link(LAB, config_in(text))
    except InvalidReward as error:
        troubles.append(f"The link's rewards cannot be used: {error} The form shows the defaults.")


def note_unknown(name: str, accepted: Collection[str]) -> None:
    """Keep what the address asks for and nobody has. Call it before the widget of that name is drawn, which takes such
    a value out of the address.

    Where the widget holds nothing (an address can say so), it holds the first of `accepted` from now on.
    """
    if name in st.session_state and st.session_state[name] not in accepted:
        st.session_state[name] = next(iter(accepted))
    given = st.query_params.get(name)
    if given and given not in accepted:
        asked = f"The link asks for {name} “{one_line(given, _MAX_NAME_LENGTH)}”."
        LAB.put(f"{_UNKNOWN}_{name}", f"{asked} There are: {', '.join(accepted)}.")
        LAB.put(f"{_UNKNOWN_AT}_{name}", None)


def mark_something(name: str) -> None:
    """Call it after the widget of that name is drawn: where it holds nothing, draw it with what `note_unknown` says."""
    if not st.session_state.get(name):
        st.rerun()


def say_unknown(name: str, chosen: str) -> None:
    """Say what `note_unknown` has kept, until something else is chosen."""
    mark_something(name)
    said: str | None = LAB.get(f"{_UNKNOWN}_{name}")
    if not said:
        return
    if LAB.get(f"{_UNKNOWN_AT}_{name}") is None:
        LAB.put(f"{_UNKNOWN_AT}_{name}", chosen)
    if LAB.get(f"{_UNKNOWN_AT}_{name}") == chosen:
        st.warning(escape(f"{said} What follows is “{chosen}”."))
    else:
        LAB.put(f"{_UNKNOWN}_{name}", None)


def begin_with_episode(episode_id: str) -> None:
    """On the first visit by a link to an episode, without rewards: start from what that was played with."""
    if LAB.get(_BEGUN):
        return
    try:
        start_from_episode(LAB, episode_id)
    except (StoreError, InvalidReward):
        return  # the defaults are as good a start, and whoever asked for the episode says what is wrong


def keep_link(config: RewardConfig) -> None:
    """Put the comparison into the address. config: the rewards that are tried, checked."""
    LAB.put(_BEGUN, True)
    against = LAB.get(COMPARED, PLAYED)
    is_told = config != checked(DEFAULT) and has_room_for(config)
    keep_in_address(
        "lab",
        "comparison",
        {
            _REWARDS: to_changes(config) if is_told else None,
            _AGAINST: None if against == PLAYED else against,
        },
    )


def has_room_for(config: RewardConfig) -> bool:
    """Whether an address can hold these rewards; one that is longer is refused by servers, without a page."""
    return fits(to_changes(config))


def say_trouble(sentence: str) -> None:
    """Let `link_troubles` say something else from now on."""
    LAB.put(_TROUBLES, [f"{sentence} The results compare with the rewards as played."])
    LAB.put(_SAID_AT, None)


def link_troubles(config: RewardConfig) -> str:
    """What of the link, or of what was compared with, cannot be used, until something else is tried or compared."""
    troubles: list[str] | None = LAB.get(_TROUBLES)
    if not troubles:
        return ""
    now = (config.config_hash, LAB.get(COMPARED, PLAYED))
    if LAB.get(_SAID_AT) is None:
        LAB.put(_SAID_AT, now)
    return " ".join(troubles) if LAB.get(_SAID_AT) == now else ""
