"""The Lab's form state, and the comparison in its URL: the edited reward configuration and what it is compared with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import streamlit as st

from core.errors import InvalidReward, StoreError
from core.rewards import checked_reward, to_changes
from core.types import RewardConfig
from pages.components.browser.url import write_to_url
from pages.components.links.values import fits_in_url
from pages.components.rewards.form import DEFAULT
from pages.components.rewards.start import config_in, start_from_episode, start_from_link
from pages.components.shared.form_state import FormState
from pages.components.text.escape import escape, one_line

LAB: Final = FormState("lab_")

COMPARED: Final = "compare_with"  # the field with what the edited configuration is compared with
PLAYED: Final = "played"  # its value for the rewards as played

_REWARDS, _AGAINST = "rewards", "against"  # URL parameters
_STARTED: Final = "started"
_UNKNOWN, _UNKNOWN_AT = "unknown", "unknown_at"
_PROBLEMS, _PROBLEMS_AT = "link_problems", "link_problems_at"
_MAX_NAME_LENGTH = 40


def start_with_url(comparable: Collection[str]) -> None:
    """Fills the form from the URL, once a session. comparable: the accepted values of `COMPARED`."""
    if LAB.get(_STARTED) is not None:
        return
    LAB.put(_STARTED, False)  # `start_with_episode` may still fill the form
    problems: list[str] = []
    LAB.put(_PROBLEMS, problems)
    against = st.query_params.get(_AGAINST, PLAYED)
    if against in comparable:
        LAB.put(COMPARED, against)
    else:
        problems.append(f"The link compares with “{one_line(against, _MAX_NAME_LENGTH)}”, which is not saved here.")
    text = st.query_params.get(_REWARDS)
    if text is None:
        return
    LAB.put(_STARTED, True)
    try:
        start_from_link(LAB, config_in(text))
    except InvalidReward as error:
        problems.append(f"Invalid reward configuration in the link: {error} The form shows the defaults.")


def start_with_episode(episode_id: str) -> None:
    """Fills the form with the episode's configuration, if the session started by a link without one."""
    if LAB.get(_STARTED):
        return
    try:
        start_from_episode(LAB, episode_id)
    except (StoreError, InvalidReward):
        return  # keep the defaults; the scope picker reports an episode that cannot be read


def update_url(config: RewardConfig) -> None:
    """Puts the comparison into the URL. config: the edited configuration, checked."""
    LAB.put(_STARTED, True)
    against = LAB.get(COMPARED, PLAYED)
    changes = to_changes(config)
    is_in_url = config != checked_reward(DEFAULT) and fits_in_url(changes)
    write_to_url(
        "lab",
        "comparison",
        {
            _REWARDS: changes if is_in_url else None,
            _AGAINST: None if against == PLAYED else against,
        },
    )


def report_problem(sentence: str) -> None:
    """Replaces what `link_problems` returns."""
    LAB.put(_PROBLEMS, [f"{sentence} The results compare with the rewards as played."])
    LAB.put(_PROBLEMS_AT, None)


def link_problems(config: RewardConfig) -> str:
    """What was invalid in the link or the comparison; empty as soon as the configuration or the comparison changes."""
    problems: list[str] | None = LAB.get(_PROBLEMS)
    if not problems:
        return ""
    now = (config.config_hash, LAB.get(COMPARED, PLAYED))
    if LAB.get(_PROBLEMS_AT) is None:
        LAB.put(_PROBLEMS_AT, now)
    return " ".join(problems) if LAB.get(_PROBLEMS_AT) == now else ""


def remember_unknown(name: str, accepted: Collection[str]) -> None:
    """Remembers an unknown value of the URL parameter `name` for `show_unknown`.

    Call it before the widget of that name, which removes the value from the URL. An invalid widget state is replaced
    by the first of `accepted`.
    """
    if name in st.session_state and st.session_state[name] not in accepted:
        st.session_state[name] = next(iter(accepted))
    given = st.query_params.get(name)
    if given and given not in accepted:
        asked = f"Unknown {name} in the link: “{one_line(given, _MAX_NAME_LENGTH)}”."
        LAB.put(f"{_UNKNOWN}_{name}", f"{asked} Accepted: {', '.join(accepted)}.")
        LAB.put(f"{_UNKNOWN_AT}_{name}", None)


def show_unknown(name: str, chosen: str) -> None:
    """Shows what `remember_unknown` found, until another value than `chosen` is chosen."""
    require_choice(name)
    text: str | None = LAB.get(f"{_UNKNOWN}_{name}")
    if not text:
        return
    if LAB.get(f"{_UNKNOWN_AT}_{name}") is None:
        LAB.put(f"{_UNKNOWN_AT}_{name}", chosen)
    if LAB.get(f"{_UNKNOWN_AT}_{name}") == chosen:
        st.warning(escape(f"{text} Showing “{chosen}”."))
    else:
        LAB.put(f"{_UNKNOWN}_{name}", None)


def require_choice(name: str) -> None:
    """Reruns if the widget of that name holds nothing: `remember_unknown` then sets its value."""
    if not st.session_state.get(name):
        st.rerun()
