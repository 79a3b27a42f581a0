"""The rewards that are tried: edited, saved under a name, taken along as JSON, launched with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.analysis.rescore import StoredFacts, score
from core.errors import InvalidInput, InvalidReward, StoreError
from core.rewards import checked, to_document
from core.rewards.document import MAX_CHARACTERS
from core.store import SavedReward
from core.types import RewardConfig
from pages.components.lab.shared.form import LAB
from pages.components.launch.state import LAUNCH
from pages.components.rewards.form import DEFAULT, fill_reward_form, filled_from, reward_form
from pages.components.rewards.reward_text import differences
from pages.components.rewards.start import (
    FROM_LAB,
    IMPORTED,
    config_in,
    described,
    origin_of,
    saved_as,
    start_from,
    start_picker,
)
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number

_LAST_USABLE: Final = "last_usable"
_SAID: Final = "said"
_SAVED: Final = "just_saved"
_SAVING, _DELETING, _IMPORTING = "save_trouble", "forget_trouble", "import_trouble"
_SAVE_POPOVER, _IMPORT_POPOVER = "save_popover", "import_popover"
_MAX_NAMED = 4
_MAX_NAME_LENGTH = 60
_MAX_SENTENCE_LENGTH = 500
_MAX_MEGABYTES = 6
_STATE_PX = 48  # two lines; what is longer scrolls


@dataclass(frozen=True, slots=True)
class Edited:
    """What the form says. config: the last one that could be used. problem: why what it says now cannot be."""

    config: RewardConfig
    problem: str = ""


def editor(stored: StoredFacts, saved: Mapping[str, SavedReward]) -> Edited:
    """Draw it. stored: everything, whose returns can be kept. saved: configurations by name."""
    _go_on_from_what_was_saved()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Reward configuration**", width="content")
        st.space("stretch")
        undo = st.container(width="content")
    name = start_picker(LAB, saved, with_runs=True)
    if name:
        st.caption(escape(described(saved[name])))
    tools = st.container(horizontal=True, gap="small", key="lab-tools")
    # Of one height: the tables below must not move under a hand that goes from cell to cell.
    state = st.container(height=_STATE_PX, border=False, gap="xxsmall", key="lab-state")
    st.divider()
    given = reward_form(LAB, narrow=True)
    edited = _checked(given)
    with undo:
        st.button(
            "Undo changes",
            key=LAB.key("undo"),
            type="tertiary",
            on_click=_undo,
            disabled=not differences(filled_from(LAB), given),
            help="Restore what the form started from.",
        )
    with tools:
        _save(edited, stored)
        _import()
        st.download_button(
            "Export",
            data=to_document(edited.config),
            file_name=f"step_rewards_{edited.config.config_hash[:8]}.json",
            mime="application/json",
            key=LAB.key("export"),
            disabled=bool(edited.problem),
            on_click="ignore",
            help="The JSON that a trainer takes.",
        )
        _launch_button(edited)
        if name:
            _delete(name)
    with state:
        _show_what_was_said()
        _show_state(edited)
    return edited


def _checked(given: RewardConfig) -> Edited:
    try:
        config = checked(given)
    except InvalidReward as error:
        return Edited(LAB.get(_LAST_USABLE, DEFAULT), str(error))
    LAB.put(_LAST_USABLE, config)
    return Edited(config)


def _show_state(edited: Edited) -> None:
    """What is changed, or why it cannot be used."""
    if edited.problem:
        problem = escape(one_line(edited.problem, _MAX_SENTENCE_LENGTH))
        st.caption(f":red[**Invalid configuration.** Results show the last valid one. {problem}]")
        return
    changed = differences(filled_from(LAB), edited.config)
    if changed:
        st.caption(f"**Changed:** {_listed(changed)}.")
    elif own := differences(checked(DEFAULT), edited.config):  # after a save, an import, a link: what is in them
        st.caption(f"**Differs from the defaults:** {_listed(own)}.")
    else:
        st.caption("These are the defaults. Edits are re-scored at once.")


def _listed(lines: Sequence[str]) -> str:
    named = "; ".join(escape(one_line(line, 90)) for line in lines[:_MAX_NAMED])
    return f"{named}; and {number(len(lines) - _MAX_NAMED)} more" if len(lines) > _MAX_NAMED else named


def _undo() -> None:
    fill_reward_form(LAB, filled_from(LAB))


# ------------------------------------------------------------------------------------------------- under a name


def _save(edited: Edited, stored: StoredFacts) -> None:
    with st.popover("Save…", key=LAB.key(_SAVE_POPOVER), on_change="rerun"):
        st.text_input("Name", key=LAB.key("save_name"), max_chars=80, placeholder="such as: no pay for drinking")
        st.checkbox(
            f"Also store the returns of all {number(len(stored.episodes))} episodes",
            key=LAB.key("save_returns"),
            help="Their returns under this configuration. The returns as played do not change.",
        )
        # Not in a callback: that would be given the configuration of the run before, without what was edited since.
        if st.button("Save", key=LAB.key("save"), type="primary", disabled=bool(edited.problem) or store().read_only):
            _do_save(edited.config, stored)
            st.rerun()
        _show_trouble(_SAVING)
        st.caption("An existing name is not overwritten.")


def _do_save(config: RewardConfig, stored: StoredFacts) -> None:
    name = (LAB.get("save_name") or "").strip()
    said = ""
    LAB.put(_SAVING, "")
    toast = st.toast("Saving…")  # another program may be writing, which takes a while
    kept: dict[str, float] = {}
    try:
        if LAB.get("save_returns"):
            returns = score(stored.columns, config).returns
            kept = {episode.id: float(value) for episode, value in zip(stored.episodes, returns, strict=True)}
        name = store().rewards.save(name, config)
    except (InvalidInput, StoreError) as error:
        LAB.put(_SAVING, f"Not saved: {error}")
        toast.toast("Not saved.")
        return
    toast.toast("Saved.")
    try:
        if kept:
            store().rewards.save_scorings(config, kept)
            said = f" The returns of {number(len(kept))} episodes are stored with it."
    except (InvalidInput, StoreError) as error:
        said = f" The returns were not stored: {error}"
    LAB.put(_SAVED, (name, config))
    LAB.put(_SAID, f"Saved as “{name}”.{said}")


def _go_on_from_what_was_saved() -> None:
    """The form begins with it from now on. Its fields can be filled only before they are drawn."""
    if saved := st.session_state.pop(LAB.key(_SAVED), None):
        name, config = saved
        start_from(LAB, config, saved_as(name))
        LAB.put("save_name", "")
        LAB.put(_SAVE_POPOVER, False)


def _delete(name: str) -> None:
    with st.popover("Delete…", key=LAB.key("forget_popover")):
        st.text(f"Forget “{one_line(name, _MAX_NAME_LENGTH)}” and its stored returns?")
        st.caption("The returns as played stay. This cannot be undone.")
        st.button(
            "Delete for good", key=LAB.key("forget"), on_click=_do_delete, args=(name,), disabled=store().read_only
        )
        _show_trouble(_DELETING)


def _do_delete(name: str) -> None:
    LAB.put(_DELETING, "")
    try:
        store().rewards.forget(name)
    except (InvalidInput, StoreError) as error:
        LAB.put(_DELETING, f"Not deleted: {error}")
        return
    LAB.put(_SAID, f"“{name}” is deleted. The form still shows it.")


def _show_trouble(kind: str) -> None:
    """Inside the popover, where somebody looks who has just pressed its button."""
    if trouble := LAB.get(kind):
        st.error(escape(one_line(trouble, _MAX_SENTENCE_LENGTH)))


def _show_what_was_said() -> None:
    if said := st.session_state.pop(LAB.key(_SAID), ""):
        st.text(safe_text(said, _MAX_SENTENCE_LENGTH))


# ------------------------------------------------------------------------------------------- taken along, launched


def _import() -> None:
    with st.popover("Import…", key=LAB.key(_IMPORT_POPOVER), on_change="rerun"):
        key = LAB.key("file")
        st.file_uploader(
            "A trainer’s JSON file, loaded when chosen",
            type="json",
            key=key,
            max_upload_size=_MAX_MEGABYTES,
            on_change=_use_file,
            args=(key,),
        )
        st.text_area(
            "or paste it",
            key=LAB.key("pasted"),
            height=140,
            max_chars=MAX_CHARACTERS,
            placeholder='{"step_rewards": {"strategy": "per_achievement", …}}',
        )
        st.button("Use pasted JSON", key=LAB.key("use_pasted"), on_click=_use_pasted)
        _show_trouble(_IMPORTING)


def _use_file(key: str) -> None:
    LAB.put(_IMPORTING, "")
    if (file := st.session_state.get(key)) is not None:  # not where it was taken back
        _use(file.getvalue(), f"“{one_line(file.name, _MAX_NAME_LENGTH)}”")


def _use_pasted() -> None:
    _use((LAB.get("pasted") or "").encode("utf-8", "surrogatepass"))


def _use(content: bytes, what: str = "It") -> None:
    """Fill the form from a trainer's JSON. what: what it is called where it cannot be used; the field may show another
    file by then, one that it refuses by itself."""
    LAB.put(_IMPORTING, "")
    try:
        text = content.decode("utf-8")
        config = config_in(text)
    except UnicodeDecodeError:
        LAB.put(_IMPORTING, f"{what} was not imported: it is not text in UTF-8.")
        return
    except (InvalidReward, StoreError) as error:
        LAB.put(_IMPORTING, f"{what} was not imported: {error}")
        return
    start_from(LAB, config, IMPORTED)
    LAB.put("pasted", "")
    LAB.put(_IMPORT_POPOVER, False)
    LAB.put(_SAID, "Imported.")


def _launch_button(edited: Edited) -> None:
    clicked = st.button(
        "Launch →",
        key=LAB.key("launch"),
        disabled=bool(edited.problem),
        help="Opens the launch form with this configuration. Nothing starts yet.",
    )
    if clicked:
        is_as_saved = edited.config == filled_from(LAB) and origin_of(LAB).startswith(saved_as(""))
        start_from(LAUNCH, edited.config, origin_of(LAB) if is_as_saved else FROM_LAB)
        # Given, though empty: without it, what is bound to widgets here would be in the way.
        st.switch_page("pages/launch.py", query_params={})
