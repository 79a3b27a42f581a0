"""The seed gallery: worlds to choose from, with a picture and what is near the start."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.dataset import RADIUS, RESOURCES, describe_seeds, known_description
from core.env.checks import MAX_SEED
from core.errors import InvalidInput
from core.plan import parse_seeds
from core.text import plural
from core.types import Difficulty, EnvConfig, SeedDescription
from pages.components.launch.link import DEFAULT_SEED
from pages.components.launch.state import LAUNCH, PREFIX
from pages.components.shared.icons import icon
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import seeds_text

SEEDS_KEY = f"{PREFIX}seeds"
_SHOWN_KEY = f"{PREFIX}shown"
_PAGE = 12
_MAX_SHOWN = 120

_BADGE_COLOURS: dict[Difficulty, Literal["green", "orange", "red", "gray"]] = {
    Difficulty.EASY: "green",
    Difficulty.MEDIUM: "orange",
    Difficulty.HARD: "red",
    Difficulty.CUSTOM: "gray",
}
_DIFFICULTY_HELP = (
    f"By what is within {RADIUS} cells of the start. Easy: at least 4 trees, no zombies or skeletons. "
    "Medium: at least 2 trees, at most 2 hostiles. Hard: at most 5 hostiles. Custom: all others."
)

_MAX_LINE_LENGTH = 120

_FAR = 10**6  # sorts a world that lacks the resource last


def _distance(description: SeedDescription, name: str) -> int:
    distance = description.distances.get(name)
    return _FAR if distance is None else distance


_SORTS: dict[str, Callable[[SeedDescription], int]] = {
    "Seed": lambda d: d.seed,
    "Easiest": lambda d: list(Difficulty).index(d.difficulty),
    "Most trees": lambda d: -d.trees,
    "Most cows": lambda d: -d.cows,
    "Fewest hostiles": lambda d: d.hostiles,
    **{f"Nearest {name}": lambda d, name=name: _distance(d, name) for name in RESOURCES},
}
_TRAITS: dict[str, Callable[[SeedDescription], bool]] = {
    "10 trees or more": lambda d: d.trees >= 10,
    "A cow nearby": lambda d: d.cows > 0,
    "No hostiles": lambda d: d.hostiles == 0,
    "Water within 8": lambda d: _distance(d, "water") <= 8,
    "Coal within 10": lambda d: _distance(d, "coal") <= 10,
    "Iron within 15": lambda d: _distance(d, "iron") <= 15,
    "Diamond within 20": lambda d: _distance(d, "diamond") <= 20,
}


def chosen_seeds() -> tuple[int, ...]:
    """The seeds in the form; empty if its text is invalid."""
    try:
        return parse_seeds(st.session_state[SEEDS_KEY])
    except InvalidInput:
        return ()


@dataclass(frozen=True)
class _PendingCard:
    """The placeholders of a card whose world is not generated yet."""

    picture: DeltaGenerator
    badge: DeltaGenerator
    traits: DeltaGenerator

    def show(self, description: SeedDescription) -> None:
        self.picture.image(description.picture_png, **_picture_options(description))
        self.badge.badge(description.difficulty.value, color=_BADGE_COLOURS[description.difficulty])
        self.traits.html(_traits(description))


def _picked_line() -> None:
    """Typed seeds and ticked worlds are the same selection."""
    picked = chosen_seeds()
    shown = frozenset(_shown_seeds())
    elsewhere = [seed for seed in picked if seed not in shown]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="launch-picked"):
        if picked:
            names = escape(one_line(seeds_text(picked), _MAX_LINE_LENGTH))
            st.markdown(f"Picked: **{names}** ({plural(len(picked), 'seed')})", width="content")
        else:
            st.markdown("No seeds yet. Select worlds, or type seeds on the right.", width="content")
        st.space("stretch")
        if elsewhere:
            label = f"Show {plural(len(elsewhere), 'hidden pick')}"
            st.button(label, key=f"{PREFIX}show_picked", on_click=_show_picked)
        st.button("Clear picks", key=f"{PREFIX}clear_picks", on_click=_pick, args=((),), disabled=not picked)


def seed_gallery(env: EnvConfig) -> Callable[[], None]:
    """Draws the gallery and returns a function that generates the missing worlds: call it after the rest of the page.

    Not in a polling fragment: a poll still running when the user leaves would draw on the next page. A click interrupts
    it after the current world; finished worlds are stored.
    """
    LAUNCH.keep("shown", _first_shown())
    _picked_line()
    _toolbar()
    try:
        shown = parse_seeds(st.session_state[_SHOWN_KEY], max_count=_MAX_SHOWN)
    except InvalidInput as error:
        st.error(escape(str(error)))
        return lambda: None
    found = {seed: known_description(store(), seed, env=env) for seed in shown}
    known = [description for description in found.values() if description is not None]
    missing = [seed for seed, description in found.items() if description is None]
    fitting = [description for description in known if _fits(description)]
    fitting.sort(key=_SORTS[st.session_state[f"{PREFIX}sort"]])
    status = st.empty()
    _show_status(status, len(fitting), len(known), missing)
    st.html(_legend())
    if not fitting and not missing:
        st.info("No world here matches these filters. Clear one, or show other seeds.")
    chosen = frozenset(chosen_seeds())
    st.html(_picked_style(chosen & found.keys()))
    with st.grid(min_column_width=175, key="seed-gallery"):
        for description in fitting:
            _card(description, description.seed in chosen)
        pending = {seed: _pending_card(seed, seed in chosen) for seed in missing}

    def generate_missing() -> None:
        for number, description in enumerate(describe_seeds(store(), missing, env=env), start=1):
            pending[description.seed].show(description)
            _show_status(status, len(fitting) + number, len(known) + number, missing[number:])
        if missing and not store().read_only:
            st.rerun()  # sort and filter them

    return generate_missing


def _toolbar() -> None:
    top = st.columns([2, 2, 3], vertical_alignment="bottom")
    top[0].text_input(
        "Worlds to show",
        key=_SHOWN_KEY,
        persist_state="session",
        placeholder=f"0-{_PAGE - 1}",
        help=f"Seeds and ranges, at most {_MAX_SHOWN}. Showing a world does not pick it.",
    )
    top[1].selectbox("Sort by", list(_SORTS), key=LAUNCH.keep("sort", "Seed"), persist_state="session")
    top[2].multiselect(
        "Show only worlds with",
        list(_TRAITS),
        key=LAUNCH.keep("traits", []),
        persist_state="session",
        placeholder="Anything",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.pills(
            "Difficulty",
            [difficulty.value for difficulty in Difficulty],
            selection_mode="multi",
            format_func=str.capitalize,
            key=LAUNCH.keep("difficulty", []),
            persist_state="session",
            help=_DIFFICULTY_HELP,
        )
        st.space("stretch")
        st.button(f"Next {_PAGE} worlds", key=f"{PREFIX}next_seeds", on_click=_show_next)


def _first_shown() -> str:
    """The picked seeds (such as those of a link) and the seeds after them."""
    picked = chosen_seeds()[:_PAGE]
    start = min(picked[0] if picked else DEFAULT_SEED, MAX_SEED - 2 * _PAGE)
    fill = (seed for seed in range(start, start + 2 * _PAGE) if seed not in picked)
    return seeds_text((*picked, *itertools.islice(fill, _PAGE - len(picked))))


def _shown_seeds() -> tuple[int, ...]:
    try:
        return parse_seeds(st.session_state[_SHOWN_KEY], max_count=_MAX_SHOWN)
    except InvalidInput:
        return ()


def _show_next() -> None:
    last = max(_shown_seeds(), default=-1)
    first = last + 1 if last + _PAGE <= MAX_SEED else 0
    st.session_state[_SHOWN_KEY] = f"{first}-{first + _PAGE - 1}"


def _show_picked() -> None:
    """Hidden picked seeds come first; the last shown ones make room."""
    shown = _shown_seeds()
    together = (*(seed for seed in chosen_seeds() if seed not in shown), *shown)
    st.session_state[_SHOWN_KEY] = seeds_text(together[:_MAX_SHOWN])


def _show_status(place: DeltaGenerator, fitting: int, known: int, missing: list[int]) -> None:
    """One line of fixed height, so that nothing below it moves."""
    total = known + len(missing)
    if missing:
        text = f"Generating world {missing[0]}: {known} of {total} ready. You can already pick worlds."
        bar = f'<i class="cs-on" style="--share: {100 * known / total:.0f}%"></i>'
    else:
        worlds = plural(total, "world")
        text, bar = worlds if fitting == total else f"{fitting} of {worlds}", "<i></i>"
    place.html(f'<div class="cs-making">{text}{bar}</div>')


def _legend() -> str:
    return (
        f'<div class="cs-legend">Within {RADIUS} cells of the start (the white diamond): '
        f"{icon('tree')}trees, {icon('cow')}cows, {icon('zombie')}zombies and skeletons.<br>"
        f"Cells from the start to the nearest: {', '.join(f'{icon(name)}{name}' for name in RESOURCES)}.</div>"
    )


def _picked_style(picked: Set[int]) -> str:
    """Frames the picked cards. `:has(:checked)` does not work: Chromium keeps it on a card reused for another seed."""
    cards = ", ".join(f".st-key-seed-card-{seed}" for seed in sorted(picked)) or ".cs-none"
    return f"<style>:is({cards}) {{ border-color: #10b981; box-shadow: 0 0 0 1px #10b981; }}</style>"


def _fits(description: SeedDescription) -> bool:
    difficulties = st.session_state[f"{PREFIX}difficulty"]
    if difficulties and description.difficulty.value not in difficulties:
        return False
    return all(_TRAITS[name](description) for name in st.session_state[f"{PREFIX}traits"])


def _card(description: SeedDescription, is_chosen: bool) -> None:
    with st.container(border=True, key=f"seed-card-{description.seed}", gap="xsmall"):
        st.image(description.picture_png, **_picture_options(description))
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            _pick_box(description.seed, is_chosen)
            st.space("stretch")
            st.badge(description.difficulty.value, color=_BADGE_COLOURS[description.difficulty])
        st.html(_traits(description))


def _picture_options(description: SeedDescription) -> dict[str, Any]:
    return {"width": "stretch", "output_format": "PNG", "alt": f"World of seed {description.seed}"}


def _pending_card(seed: int, is_chosen: bool) -> _PendingCard:
    with st.container(border=True, key=f"seed-card-{seed}", gap="xsmall"):
        picture = st.empty()
        picture.html('<div class="cs-world-pending cs-pending"></div>')
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            _pick_box(seed, is_chosen)
            st.space("stretch")
            badge = st.empty()
        traits = st.empty()
        traits.html('<div class="cs-traits cs-muted">not generated yet</div><div class="cs-traits">&nbsp;</div>')
    return _PendingCard(picture, badge, traits)


def _pick_box(seed: int, is_chosen: bool) -> None:
    key = f"{PREFIX}pick_{seed}"
    st.session_state[key] = is_chosen
    st.checkbox(f"Seed {seed}", key=key, on_change=_toggle, args=(seed,))


def _traits(description: SeedDescription) -> str:
    near = (("tree", "trees", description.trees), ("cow", "cows", description.cows))
    counts = [_trait(name, f"{what} within {RADIUS} cells", count) for name, what, count in near]
    counts.append(_trait("zombie", f"zombies and skeletons within {RADIUS} cells", description.hostiles))
    distances = [
        _trait(name, f"cells to the nearest {name}" if distance is not None else f"no {name} in this world", distance)
        for name, distance in description.distances.items()
    ]
    return f'<div class="cs-traits">{"".join(counts)}</div><div class="cs-traits">{"".join(distances)}</div>'


def _trait(name: str, title: str, value: int | None) -> str:
    return f'<span title="{title}">{icon(name, title=title)}{"none" if value is None else value}</span>'


def _toggle(seed: int) -> None:
    chosen = chosen_seeds()
    _pick(tuple(other for other in chosen if other != seed) if seed in chosen else (*chosen, seed))


def _pick(seeds: tuple[int, ...]) -> None:
    st.session_state[SEEDS_KEY] = seeds_text(seeds)
