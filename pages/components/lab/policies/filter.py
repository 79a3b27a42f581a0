"""The filters of the Policies view, kept in the URL, and the policy that each episode counts for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.analysis.statistics import Rows, setting_text, varying_settings
from core.errors import InvalidInput, StoreError
from core.plan import parse_seeds
from core.store import EpisodeSummary
from pages.components.lab.shared.lab_text import distinct, policy_names
from pages.components.lab.shared.marks import policy_places
from pages.components.links.filters import show_ignored, unknown_in_url
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import name_text, seeds_text, short_id

POLICIES_KEY = "across_policies"
SEEDS_KEY = "across_seeds"
RUNS_KEY = "across_runs"
SPLIT_KEY = "across_split"

_MAX_NAME_LENGTH = 40
_MAX_SETTING_LENGTH = 24
_MAX_RUNS = 200
_MAX_SEEDS = 1_000_000


@dataclass(frozen=True)
class Chosen:
    """The episodes that match the filters.

    key: a cache key of this choice. rows: int64 (E,), indices into `StoredFacts.episodes`. policies: the policy of each
    row. places: of every policy, see `policy_places`.
    """

    key: str
    rows: Rows
    policies: tuple[str, ...]
    places: Mapping[str, int]

    def by_policy(self) -> dict[str, Rows]:
        """Policy -> its rows, for policies with episodes."""
        rows: dict[str, list[int]] = {policy: [] for policy in self.places}
        for row, policy in zip(self.rows.tolist(), self.policies, strict=True):
            rows[policy].append(row)
        return {policy: np.array(own, np.int64) for policy, own in rows.items() if own}


def filter_bar(episodes: Sequence[EpisodeSummary], stored_key: str) -> Chosen:
    """Draws the filters and returns the matching episodes. Invalid filters are reported and ignored.

    stored_key: a cache key of `episodes`.
    """
    names = policy_names(episodes)
    known = tuple(sorted(set(names)))
    runs = _run_labels(episodes)
    unknown_policies = unknown_in_url(POLICIES_KEY, known, what="policy")
    show_ignored(unknown_policies + unknown_in_url(RUNS_KEY, tuple(runs.values()), what="run"))
    with st.container(border=True):
        left, middle, right = st.columns([1.4, 1, 1.6], vertical_alignment="bottom")
        policies = left.multiselect("Policies", known, key=POLICIES_KEY, bind="query-params", placeholder="All")
        typed = middle.text_input("Seeds", key=SEEDS_KEY, bind="query-params", placeholder="All, or such as 0-9, 42")
        chosen_runs = right.multiselect(
            "Runs",
            list(runs),
            key=RUNS_KEY,
            bind="query-params",
            placeholder="All",
            format_func=lambda run: runs.get(run, short_id(run)),
            help=f"The newest {_MAX_RUNS} that have episodes here." if len(runs) == _MAX_RUNS else None,
        )
        seeds: frozenset[int] = frozenset()
        try:
            seeds = frozenset(parse_seeds(typed, _MAX_SEEDS)) if typed and typed.strip() else seeds
        except InvalidInput as error:
            reason = str(error)
            st.error(f"Seeds filter ignored: {escape(reason[:1].lower() + reason[1:])}")
        rows = _matching(episodes, names, policies, seeds, chosen_runs)
        policies = [names[row] for row in rows]
        parts = (stored_key, sorted(policies), sorted(seeds), sorted(chosen_runs))
        settings = _varying_settings(_cache_key(*parts), [episodes[row] for row in rows], policies)
        split = False
        if settings or st.session_state.get(SPLIT_KEY):
            split = st.toggle(
                "One row for each setting of a policy",
                key=SPLIT_KEY,
                bind="query-params",
                help="Show a policy that ran with different settings as one row, or one row per setting.",
            )
    if split:
        policies = _with_settings([episodes[row] for row in rows], policies, settings)
    places = policy_places(known)
    if split:
        places = _split(places, names, rows, policies)
    return Chosen(_cache_key(*parts, split), rows, tuple(policies), places)


def clear_filters() -> None:
    for key, value in ((POLICIES_KEY, []), (SEEDS_KEY, ""), (RUNS_KEY, [])):
        st.session_state[key] = value


def only_seeds(seeds: Sequence[int]) -> None:
    st.session_state[SEEDS_KEY] = seeds_text(seeds)


def _split(places: Mapping[str, int], names: Sequence[str], rows: Rows, policies: Sequence[str]) -> dict[str, int]:
    """The places after a split: the first variant of each policy keeps the policy's place, others get new ones."""
    variants: dict[str, list[str]] = {name: [] for name in places}
    for name, policy in sorted(set(zip((names[int(row)] for row in rows), policies, strict=True))):
        variants[name].append(policy)
    first = {its[0] if its else name: places[name] for name, its in variants.items()}
    return first | policy_places((policy for its in variants.values() for policy in its[1:]), first)


def _cache_key(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _matching(
    episodes: Sequence[EpisodeSummary],
    names: Sequence[str],
    policies: Sequence[str],
    seeds: frozenset[int],
    runs: Sequence[str],
) -> Rows:
    wanted_policies, wanted_runs = frozenset(policies), frozenset(runs)
    return np.array(
        [
            row
            for row, (episode, name) in enumerate(zip(episodes, names, strict=True))
            if (not wanted_policies or name in wanted_policies)
            and (not seeds or episode.seed in seeds)
            and (not wanted_runs or episode.run_id in wanted_runs)
        ],
        np.int64,
    )


def _run_labels(episodes: Sequence[EpisodeSummary]) -> dict[str, str]:
    """Run id -> label, for the newest runs of these episodes, newest first."""
    present = dict.fromkeys(episode.run_id for episode in reversed(episodes))
    try:
        names = {run.id: run.name for run in store().runs.newest(_MAX_RUNS).rows}
    except StoreError:  # show ids instead
        names = {}
    labels: dict[str, str] = {}
    for run in list(present)[:_MAX_RUNS]:
        name = one_line(names.get(run, ""), _MAX_NAME_LENGTH)
        labels[run] = distinct(f"{name} ({short_id(run)})" if name else f"Run {short_id(run)}", labels.values())
    return labels


@st.cache_data(max_entries=16, show_spinner=False)
def _varying_settings(
    key: str, _episodes: Sequence[EpisodeSummary], _policies: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Cached, because a setting may be a prompt of any length."""
    return varying_settings(_episodes, _policies)


def _with_settings(
    episodes: Sequence[EpisodeSummary], policies: Sequence[str], varying: Mapping[str, tuple[str, ...]]
) -> list[str]:
    labels: dict[tuple[str, ...], str] = {}
    result: list[str] = []
    for episode, policy in zip(episodes, policies, strict=True):
        names = varying.get(policy, ())
        key = (policy, *(setting_text(episode.spec.policy.params, name) for name in names))
        if key not in labels:
            values = (
                f"{name_text(one_line(n, 20))} {one_line(v, _MAX_SETTING_LENGTH)}"
                for n, v in zip(names, key[1:], strict=True)
            )
            labels[key] = distinct(one_line(" · ".join((policy, *values)), 2 * _MAX_NAME_LENGTH), labels.values())
        result.append(labels[key])
    return result
