"""The What if view: every edit re-scores all episodes, and shows changes from pairs down to decisions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import NumberInput

from core.env.rules import ACHIEVEMENTS
from core.errors import InvalidInput, StoreError
from core.rewards import RewardConfig, checked_reward, to_changes, to_document
from core.settings import load_settings
from core.store import EpisodeFilter, TraceStore
from core.store.rewards import Rewards
from core.types import Limits
from pages.components.charts.download import Table
from pages.components.lab.shared.example import EXAMPLE_POLICIES, SEEDS, STEPS
from pages.components.lab.shared.link import LAB
from pages.components.lab.what_if import pairs, why
from pages.components.shared.empty import sample_run
from tests.support.lab_episodes import DEFAULTS, FARMED, HONEST, record_changes, record_group, record_pair
from tests.support.launch_page import summary
from tests.support.launches import record_queue
from tests.support.pages import checked as without_exception
from tests.support.pages import opened, said
from tests.support.records import make_run, record_episode

DRINK = "lab_pays_achievement_count_collect_drink_"  # and what else sets the field apart
NO_DRINK = RewardConfig(
    "per_achievement", achievement_count_weights=DEFAULTS.achievement_count_weights | {"collect_drink": 0.0}
)
HOSTILE = "![x](http://example.org/x.png) <b>\u202e"


@pytest.fixture
def store(data_dir: Path) -> Iterator[TraceStore]:
    with TraceStore.from_settings(load_settings()) as opened_store:
        yield opened_store


@pytest.fixture(scope="module")
def pair_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an honest and a farmed episode of one world."""
    folder = tmp_path_factory.mktemp("pair")
    record_pair(folder)
    return folder


@pytest.fixture
def pair(data_dir: Path, pair_folder: Path) -> Iterator[TraceStore]:
    """The pages' own copy of that folder, as a store."""
    shutil.copytree(pair_folder, data_dir, dirs_exist_ok=True)
    with TraceStore.from_settings(load_settings()) as opened_store:
        yield opened_store


def lab(**query: str) -> AppTest:
    return opened("lab", state=None, **query)


def run(page_or_widget: Any) -> AppTest:
    return without_exception(page_or_widget.run())


def url_fields(at: AppTest) -> dict[str, str | None]:
    """What the form puts into the URL."""
    (found,) = [json.loads(c.proto.json) for c in at.get("bidi_component") if "fields" in c.proto.json]
    return found["fields"]


def metrics(at: AppTest) -> dict[str, tuple[str, str]]:
    return {metric.label: (metric.value, metric.delta) for metric in at.metric}


def drink(at: AppTest) -> NumberInput:
    """The weight field of drinking under the pair."""
    (field,) = [field for field in at.number_input if (field.key or "").startswith(DRINK)]
    return field


def pay_nothing_for_drinking(at: AppTest) -> AppTest:
    return run(drink(at).set_value(0.0))


def table(at: AppTest, column: str) -> pd.DataFrame:
    """The one table with that column."""
    (found,) = [frame.value for frame in at.dataframe if column in frame.value.columns]
    return found


def popover(at: AppTest, label: str):
    return next(block for block in at.get("popover") if block.proto.popover.label == label)


# ------------------------------------------------------------------------------------------- the way to the exploit


def test_a_pair_where_fewer_achievements_earn_more_is_shown_before_any_edit(pair: TraceStore):
    at = lab()
    assert "In **1** of 1 same-world pair, **fewer achievements earn more**" in said(at)
    assert list(table(at, "second")["second"]) == ["farmer farmed01 · 1"]
    assert "farmer farmed01 (1 achievement) is ahead of scripted honest01 (5 achievements)" in said(at)
    assert drink(at).value == 0.06  # what pays most there can be changed there


def test_one_number_swaps_the_pair_and_one_click_undoes_it(pair: TraceStore):
    at = pay_nothing_for_drinking(lab())
    figures = metrics(at)
    assert figures["Total return"] == ("+6.23", "−6.18")
    assert figures["Mean return"][1] == "−3.09"
    assert (figures["Ranks"], figures["Pairs"]) == (("2", "of 2 change"), ("1", "of 1 swap"))
    row = table(at, "first_returns").iloc[0]
    assert (row["first"], row["second"]) == ("farmer farmed01", "scripted honest01")
    assert row["first_returns"].startswith("+7.12 → +1.00")
    text = said(at)
    assert "Re-scored 27 decisions of 2 episodes in " in text
    assert "Swapped: farmer farmed01" in text
    assert "Changed:** collect drink, weight per repeat: 0.06 → 0." in text
    run(at.button(key="lab_undo").click())
    assert metrics(at)["Pairs"] == ("0", "of 1 swap")
    assert drink(at).value == 0.06


def test_changed_decisions_are_listed_with_components_and_links(pair: TraceStore):
    at = pay_nothing_for_drinking(lab())
    links = {(link.proto.label, link.proto.query_string) for link in at.get("page_link")}
    assert ("Decision 1, step 2 →", "id=farmed01&step=2&tab=Ledger") in links
    assert ("Decision 2, step 3 →", "id=honest01&step=3&tab=Ledger") in links
    text = said(at)
    assert "collect drink count +5 × 0.06 → × 0" in text
    assert "farmer farmed01: −6.12 in 22 of 22 decisions" in text
    assert "… and 16 more with smaller changes" in text


def test_every_strategy_can_be_edited_and_scored(pair: TraceStore):
    at = lab()
    for strategy in ("consistent", "environment", "potential_based"):
        run(at.selectbox(key="lab_strategy").set_value(strategy))
    assert at.selectbox(key="lab_param_strategy_potential_based_potential").value == "achievements"
    run(at.number_input(key="lab_param_strategy_potential_based_gamma").set_value(0.5))
    assert "strategy: Per achievement → Potential-based" in said(at)


def test_lambda_zero_counts_as_one_and_the_result_of_an_invalid_lambda_is_the_last_valid_one(pair: TraceStore):
    at = run(pay_nothing_for_drinking(lab()).number_input(key="lab_lambda").set_value(0.0))
    assert "Lambda 0 counts as 1" in said(at)
    assert metrics(at)["Total return"][1] == "−6.18"
    run(at.number_input(key="lab_lambda").set_value(1e101))
    assert "indicator_lambda is 1e+101; give a number from" in said(at)
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")
    assert at.button(key="lab_launch").disabled


def test_weight_fields_show_the_values_of_the_table_when_they_return(pair: TraceStore):
    at = lab()
    at.session_state["lab_results"] = "Episodes"
    run(at)
    run(at.segmented_control(key="scope").set_value("One episode"))
    assert not [field for field in at.number_input if (field.key or "").startswith("lab_pays_")]
    run(at.segmented_control(key="scope").set_value("Everything stored"))
    assert drink(at).value == 0.06
    assert "Changed:" not in said(at)
    run(drink(at).set_value(0.5))
    assert "Changed:** collect drink, weight per repeat: 0.06 → 0.5." in said(at)
    run(at.button(key="lab_undo").click())
    assert drink(at).value == 0.06


def test_the_pair_below_a_list_is_one_of_the_list(pair: TraceStore):
    record_changes(pair, "honest02", HONEST, seed=4)
    record_changes(pair, "farmed02", FARMED, policy="farmer", seed=4, minutes=1)
    at = lab()
    at.session_state["lab_pair"] = ("honest01", "farmed01")
    run(at)
    assert "**The pair on seed 13**" in said(at)
    at = lab(scope="A selection", seeds="4")
    assert list(table(at, "second")["second"]) == ["farmer farmed02 · 1"]
    assert "**The pair on seed 4**" in said(at)
    at.session_state["lab_pair"] = ("honest01", "farmed01")  # chosen before the filter excluded it
    run(at)
    assert "**The pair on seed 4**" in said(at)


# -------------------------------------------------------------------------------------------------- groups, warnings


def test_episodes_alone_in_their_groups_have_no_advantage(pair: TraceStore):
    at = lab()
    assert metrics(at)["Advantages"] == ("n/a", "no groups")
    at.session_state["lab_results"] = "Advantages"
    run(at)
    assert "Each of the 2 episodes is alone in its group (seed and run)" in said(at)


def test_advantages_that_change_their_sign_are_listed(store: TraceStore):
    record_group(store, "group", {"grouped1": HONEST, "grouped2": FARMED})
    at = lab()
    at.session_state["lab_results"] = "Advantages"
    run(at)
    assert "Sign changes: 0 (1 group of several episodes)" in said(at)
    unchanged = table(at, "effect")
    assert sorted(zip(unchanged["before"], unchanged["after"], unchanged["effect"], strict=True)) == [
        ("+1.00", "+1.00", "more likely"),
        ("−1.00", "−1.00", "less likely"),
    ]
    at.session_state["lab_results"] = "Pairs"
    at = pay_nothing_for_drinking(run(at))
    at.session_state["lab_results"] = "Advantages"
    run(at)
    assert metrics(at)["Advantages"] == ("2", "of 2 change sign")
    changes = table(at, "effect")
    assert sorted(zip(changes["before"], changes["after"], strict=True)) == [("+1.00", "−1.00"), ("−1.00", "+1.00")]
    assert "GRPO compares an episode with its group" in said(at)


def test_different_limits_and_configurations_are_reported(pair: TraceStore):
    pair.runs.create(make_run("limited", ["limited1"], seed=13, limits=Limits(max_steps=5)))
    record_episode(pair, "limited1")
    at = lab()
    assert "The episodes have 2 different reward configurations and 2 different limits." in said(at)
    assert "not on one scale" in said(at)
    run(at.selectbox(key="lab_compare_with").set_value("defaults"))
    assert "not on one scale" not in said(at)


def test_without_a_pair_a_link_to_the_launch_form_is_shown(store: TraceStore):
    record_changes(store, "honest01", HONEST, seed=1)
    record_changes(store, "honest02", HONEST, seed=2)
    at = lab()
    assert "No two episodes here share a world" in said(at)
    assert "lab_example_pairs" in {b.key for b in at.button}


def test_progress_is_shown_while_the_example_is_played(store: TraceStore, no_workers: None):
    record_changes(store, "other001", HONEST, seed=1)
    for kind in ("honest", "farming"):
        example = make_run(kind, [f"{kind[-6:]}{at}" for at in range(2)])
        store.runs.create(replace(example, name=f"Lab example: {kind}"))
    at = lab()
    assert "Playing the example: 0 of 4 episodes finished" in said(at)
    assert "No two episodes here" not in said(at)
    assert "lab_example_pairs" not in {b.key for b in at.button}


def test_farming_earns_more_than_honest_play_in_the_example(store: TraceStore):
    for name, policy in EXAMPLE_POLICIES:
        store.runs.create(sample_run(name, policy, SEEDS[:1], STEPS))
    record_queue(store)
    assert "In **1** of 1 same-world pair, **fewer achievements earn more**" in said(lab())


def test_an_empty_store_offers_the_example(store: TraceStore):
    at = lab()
    assert "lab_example_empty" in {b.key for b in at.button}


def test_loaded_and_unfinished_episodes_are_counted(pair: TraceStore, no_workers: None):
    pair.runs.create(make_run("waiting", ["waiting01", "waiting02"]))
    assert "2 episodes with 27 decisions; 2 queued or running" in said(lab())


# ------------------------------------------------------------------------------------------------------------- scope


def test_a_link_to_an_episode_starts_from_its_configuration(store: TraceStore):
    record_changes(store, "doubled1", HONEST, reward=RewardConfig("per_achievement", 2.0))
    record_changes(store, "honest01", HONEST)
    at = lab(episode="doubled1")
    assert at.number_input(key="lab_lambda").value == 2.0
    assert metrics(at) == {"Return": ("+10.58", "0.00")}
    assert "Re-scored 5 decisions of 1 of 2 episodes" in said(at)
    run(at.number_input(key="lab_lambda").set_value(1.0))
    assert metrics(at) == {"Return": ("+5.29", "−5.29")}
    assert "λ 2 → 1" in said(at)


def test_one_of_the_newest_episodes_is_chosen_from_a_list(pair: TraceStore):
    at = lab(scope="One episode")
    newest = next(box for box in at.selectbox if box.label.startswith("or one of the newest 2"))
    assert newest.options == ["farmer farmed01 · seed 13 · +7.12", "scripted honest01 · seed 13 · +5.29"]
    run(newest.set_value("honest01"))
    assert at.text_input(key="episode").value == "honest01"
    assert metrics(at) == {"Return": ("+5.29", "0.00")}
    run(at.text_input(key="episode").set_value("farmed"))
    newest = next(box for box in at.selectbox if box.label.startswith("or one of the newest 2"))
    assert newest.value == "farmed01"


def test_an_episode_that_cannot_be_scored_is_reported(pair: TraceStore, no_workers: None):
    pair.runs.create(make_run("waiting", ["waiting01"]))
    at = lab(scope="One episode")
    assert "Enter an episode id" in said(at)
    for asked, answer in (("nothing1", "nothing1"), (HOSTILE, "example"), ("waiting01", "is still running")):
        run(at.text_input(key="episode").set_value(asked))
        assert answer in said(at)
        assert "![x](" not in "".join(element.value for element in at.info)


def test_a_selection_uses_the_filters_of_the_traces_page(pair: TraceStore):
    at = lab(scope="A selection", policy="farmer")
    assert metrics(at) == {"Return": ("+7.12", "0.00")}
    at = lab(scope="A selection", seeds="99")
    assert "No finished episode matches these filters" in said(at)


def test_a_selection_holds_what_the_traces_page_lists(pair: TraceStore):
    for wanted in (
        EpisodeFilter(),
        EpisodeFilter(policies=("farmer",)),
        EpisodeFilter(seeds=(13, 7)),
        EpisodeFilter(seeds=(7,)),
        EpisodeFilter(achievements=("collect_drink", "wake_up")),
        EpisodeFilter(min_reward=6.0),
        EpisodeFilter(max_reward=6.0),
        EpisodeFilter(run_id="run-of-honest01"),
    ):
        assert set(pair.rewards.played_ids(wanted)) == {row.id for row in pair.episodes.page(wanted).rows}


# ----------------------------------------------------------------------------------- saved, taken along, launched with


def test_a_configuration_is_saved_with_all_returns(pair: TraceStore):
    at = pay_nothing_for_drinking(lab())
    at.text_input(key="lab_save_name").set_value("  no pay for drinking ")
    at.checkbox(key="lab_save_returns").check()
    run(at.button(key="lab_save").click())
    (saved,) = pair.rewards.saved().rows
    assert (saved.name, saved.config, saved.n_scored) == ("no pay for drinking", checked_reward(NO_DRINK), 2)
    assert pair.rewards.scorings(saved.config.config_hash) == pytest.approx({"honest01": 5.23, "farmed01": 1.0})
    assert "Saved as “no pay for drinking”. The returns of 2 episodes are stored with it." in said(at)
    assert at.selectbox(key="lab_start").value == "saved:no pay for drinking"
    assert "**Differs from the defaults:** collect drink, weight per repeat: 0.06 → 0." in said(at)
    assert "**1** of 1 same-world pair swaps its order" in said(at)
    assert pair.episodes.get("farmed01").shaped_return == pytest.approx(7.12)  # nothing stored is overwritten


def test_a_configuration_is_saved_even_if_its_returns_cannot_be(pair: TraceStore, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> NoReturn:
        raise StoreError("The database is busy.")

    at = lab()
    monkeypatch.setattr(Rewards, "save_scorings", fail)
    at.text_input(key="lab_save_name").set_value("mine")
    at.checkbox(key="lab_save_returns").check()
    run(at.button(key="lab_save").click())
    assert "Saved as “mine”. The returns were not stored: The database is busy." in said(at)
    assert [saved.name for saved in pair.rewards.saved().rows] == ["mine"]


def test_a_configuration_too_long_for_a_url_is_reported(pair: TraceStore):
    pair.rewards.save("long", RewardConfig("per_achievement", weights={f"collect_{n}": 0.5 for n in range(400)}))
    at = lab()
    run(at.selectbox(key="lab_start").set_value("saved:long"))
    assert not url_fields(at).get("rewards")
    assert "Too long for a URL" in said(at)


def test_returns_that_differ_only_by_rounding_are_equal():
    episodes = [
        SimpleNamespace(policy="farmer", id="f" * 32, n_achievements=3),
        SimpleNamespace(policy="random", id="0" * 32, n_achievements=2),
    ]

    def order(before: tuple[float, float], after: tuple[float, float]) -> str:
        given = SimpleNamespace(
            episodes=episodes,
            before=SimpleNamespace(returns=np.array(before)),
            after=SimpleNamespace(returns=np.array(after)),
            changes_nothing=False,
        )
        return pairs.order_text(cast(Any, given), 0, 1)

    nearly = 4.3999999999999995
    assert order((24.84, 7.04), (nearly, 4.4)).endswith(" 24.84 to 7.04. Now they are equal: 4.40 to 4.40.")
    assert "was even with" in order((4.4, nearly), (1.0, 2.0))
    assert order((4.4, nearly), (1.0, 2.0)).endswith(" Now it is behind: 1.00 to 2.00.")
    assert order((3.0, 2.0), (1.0, 2.0)).startswith("Swapped: ")


def test_used_and_invalid_names_are_reported(pair: TraceStore):
    pair.rewards.save("taken", checked_reward(DEFAULTS))
    at = pay_nothing_for_drinking(lab())
    for name, answer in (("taken", "is not overwritten"), ("", "1 to 80 characters")):
        at.text_input(key="lab_save_name").set_value(name)
        run(at.button(key="lab_save").click())
        assert answer in "".join(error.value for error in popover(at, "Save…").error)
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")


def test_a_saved_configuration_can_be_loaded_compared_and_deleted(pair: TraceStore):
    pair.rewards.save(HOSTILE.replace("\u202e", ""), checked_reward(NO_DRINK))
    pair.rewards.save("defaults again", checked_reward(DEFAULTS))
    name = HOSTILE.replace("\u202e", "")
    at = lab()
    run(at.selectbox(key="lab_start").set_value(f"saved:{name}"))
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")
    run(at.selectbox(key="lab_compare_with").set_value("saved:defaults again"))
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")
    assert "The two differ in: collect drink, weight per repeat: 0.06 → 0" in said(at)
    run(at.selectbox(key="lab_compare_with").set_value(f"saved:{name}"))
    assert metrics(at)["Pairs"] == ("0", "of 1 swap")
    run(at.button(key="lab_forget").click())
    assert [entry.name for entry in pair.rewards.saved().rows] == ["defaults again"]
    assert at.selectbox(key="lab_compare_with").value == "played"
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")  # the form keeps it
    assert "![x](" not in "".join(c.value for c in at.caption)


def test_the_configuration_of_a_run_can_be_loaded(store: TraceStore):
    record_changes(store, "doubled1", HONEST, reward=RewardConfig("per_achievement", 2.0))
    at = lab()
    run(at.selectbox(key="lab_start").set_value("run:run-of-doubled1"))
    assert at.number_input(key="lab_lambda").value == 2.0


def test_json_of_a_trainer_is_imported_and_other_text_reported(pair: TraceStore):
    at = lab()
    at.text_area(key="lab_pasted").set_value('{"weigths": {}}')
    run(at.button(key="lab_use_pasted").click())
    assert 'did you mean "weights"?' in "".join(error.value for error in popover(at, "Import…").error)
    at.text_area(key="lab_pasted").set_value(to_document(NO_DRINK))
    run(at.button(key="lab_use_pasted").click())
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")
    assert at.selectbox(key="lab_start").value == "imported"


def test_an_inactive_mode_and_unknown_names_are_kept_and_shown(pair: TraceStore):
    at = lab()
    config = RewardConfig("per_achievement", mode="off", inventory_weights={"bow": 1.0})
    at.text_area(key="lab_pasted").set_value(to_document(config))
    run(at.button(key="lab_use_pasted").click())
    assert "The mode “off” pays nothing" in said(at)
    assert metrics(at)["Total return"][0] == "0.00"
    run(at.button(key="lab_activate").click())
    assert metrics(at)["Total return"][0] == "+12.41"


def test_the_configuration_is_passed_to_the_launch_form(pair: TraceStore):
    at = pay_nothing_for_drinking(lab(scope="A selection", policy="farmer", view="What if"))
    run(at.button(key="lab_launch").click())
    assert at.title[0].value == "Launch"
    assert at.selectbox(key="launch_start").value == "lab"
    assert checked_reward(NO_DRINK).config_hash in summary(at)


def test_launch_starts_from_a_saved_configuration(pair: TraceStore):
    pair.rewards.save("no drinking", checked_reward(NO_DRINK))
    at = run(opened("launch").selectbox(key="launch_start").set_value("saved:no drinking"))
    assert checked_reward(NO_DRINK).config_hash in summary(at)


def test_the_two_forms_share_nothing(pair: TraceStore):
    at = pay_nothing_for_drinking(lab())
    run(at.switch_page("pages/launch.py"))
    assert at.number_input(key="launch_lambda").value == 1.0
    assert checked_reward(DEFAULTS).config_hash in summary(at)
    run(at.switch_page("pages/lab.py"))
    assert metrics(at)["Pairs"] == ("1", "of 1 swap")  # the edit is still there


def test_launch_offers_every_strategy_with_its_parameters_and_its_link_carries_them(pair: TraceStore):
    given = {"potential_based.potential": "vitals", "potential_based.gamma": "0.995"}
    at = opened("launch", state=None, strategy="potential_based", **given)
    assert at.selectbox(key="launch_param_strategy_potential_based_potential").value == "vitals"
    assert at.number_input(key="launch_param_strategy_potential_based_gamma").value == 0.995
    fields = url_fields(at)
    assert (fields["potential_based.gamma"], fields["potential_based.potential"]) == ("0.995", "vitals")
    assert "potential_based.scale" not in fields


def test_an_invalid_parameter_in_a_link_is_reported(pair: TraceStore):
    given = {"potential_based.potential": "vitalz", "potential_based.gamma": "7"}
    at = opened("launch", state=None, strategy="potential_based", **given)
    warnings = "".join(warning.value for warning in at.warning).replace("\\", "")
    assert "it is not a number from 0 to 1" in warnings
    assert 'did you mean "vitals"?' in warnings


def test_a_link_holds_the_comparison(pair: TraceStore):
    pair.rewards.save("mine", RewardConfig("per_achievement", weights={"eat_cow": 3.0}))
    at = lab(rewards=to_changes(NO_DRINK), against="saved:mine")
    (differ,) = [line for line in said(at).splitlines() if line.startswith("The two differ in")]
    assert differ == "The two differ in: eat cow, unlock weight: 3 → 1; collect drink, weight per repeat: 0.06 → 0"
    assert at.selectbox(key="lab_start").value == "link"
    assert at.selectbox(key="lab_compare_with").value == "saved:mine"


@pytest.mark.parametrize(
    ("rewards", "what"),
    [
        ("{", "not JSON"),
        ('{"weights": {"![x](http://example.org/x.png)": 1}}', "example.org"),
        ("[" * 100_000, "brackets in a row"),
    ],
)
def test_an_invalid_configuration_in_a_link_is_reported_and_defaults_are_used(
    pair: TraceStore, rewards: str, what: str
):
    at = lab(rewards=rewards)
    assert "Invalid reward configuration in the link" in said(at)
    assert what in said(at)
    assert drink(at).value == 0.06
    assert "in the link" in said(run(at))
    run(drink(at).set_value(0.5))
    assert "in the link" not in said(at)


def test_exported_configurations_can_be_imported_with_unknown_names(pair: TraceStore):
    foreign = checked_reward(RewardConfig("per_achievement", weights={"collect_gold": 2.0}))
    pair.rewards.save("foreign", foreign)
    changed = replace(foreign, default_inventory_weight=0.5)
    at = lab(rewards=to_changes(changed))
    assert "in the link" not in said(at)
    assert url_fields(at)["rewards"] == to_changes(changed)
    at.text_area(key="lab_pasted").set_value(to_document(foreign))
    run(at.button(key="lab_use_pasted").click())
    assert "Imported." in said(at)


def test_a_linked_configuration_that_is_saved_is_shown_by_its_name(pair: TraceStore):
    pair.rewards.save("mine", checked_reward(NO_DRINK))
    at = lab(rewards=to_changes(NO_DRINK))
    assert at.selectbox(key="lab_start").value == "saved:mine"
    assert drink(at).value == 0.0


def test_a_link_that_compares_with_an_unknown_configuration_is_reported(pair: TraceStore):
    at = lab(against="saved:theirs")
    assert "“saved:theirs”, which is not saved here" in said(at)
    assert at.selectbox(key="lab_compare_with").value == "played"
    run(at.selectbox(key="lab_compare_with").set_value("defaults"))
    assert "not saved here" not in said(at)


def test_edits_are_kept_over_the_configuration_in_the_url(pair: TraceStore):
    at = lab(rewards=to_changes(NO_DRINK))
    run(drink(at).set_value(0.5))
    assert drink(run(at)).value == 0.5


def test_a_deleted_comparison_is_reported(pair: TraceStore):
    pair.rewards.save("mine", RewardConfig("consistent"))
    at = lab(against="saved:mine")
    pair.rewards.delete_saved("mine")
    at = run(at)
    assert "“mine” was deleted. The results compare with the rewards as played." in said(at)
    assert at.selectbox(key="lab_compare_with").value == "played"


@pytest.mark.parametrize(("name", "default"), [("view", "What if"), ("scope", "Everything stored")])
def test_an_unknown_choice_in_a_link_is_reported_until_another_is_made(pair: TraceStore, name: str, default: str):
    at = lab(**{name: HOSTILE})
    asked = f"Unknown {name} in the link"
    (warning,) = [warning.value for warning in at.warning if asked in warning.value.replace("\\", "")]
    assert f"Showing “{default}”" in warning.replace("\\", "")
    assert "![x](" not in warning and "\u202e" not in warning
    assert asked in said(run(at))
    other = {"view": "Audit", "scope": "A selection"}[name]
    run(at.segmented_control(key=name).set_value(other))
    assert asked not in said(at)
    run(at.segmented_control(key=name).set_value(default))
    assert asked not in said(at)


def test_an_empty_choice_in_the_session_becomes_the_default(pair: TraceStore):
    at = lab()
    for name, default in (("view", "What if"), ("scope", "Everything stored")):
        for held in (None, "", "nonsense"):
            at.session_state[name] = held
            run(at)
            assert at.segmented_control(key=name).value == default
            assert metrics(at)["Pairs"][1] == "of 1 swap"


def test_the_results_tab_is_in_the_url(pair: TraceStore):
    at = lab(lab_results="Episodes")
    assert "The chosen episode" in said(at)
    assert "The pair on seed" not in said(at)


@pytest.mark.parametrize("view", ["What if", "Policies"])
def test_returns_that_cannot_be_compared_are_reported_on_a_working_page(
    pair: TraceStore, monkeypatch: pytest.MonkeyPatch, view: str
):
    def refuse(*given: object, **more: object) -> NoReturn:
        raise InvalidInput("returns are no finite numbers")

    monkeypatch.setattr("pages.components.lab.what_if.rescored.compare", refuse)
    monkeypatch.setattr("pages.components.lab.policies.numbers.summarise", refuse)
    at = lab(view=view)
    assert "returns are no finite numbers" in said(at)
    assert at.segmented_control(key="view").value == view
    if view == "What if":
        assert at.number_input(key="lab_lambda").value == 1.0
        assert not at.button(key="lab_launch").disabled
    else:
        assert at.multiselect(key="across_policies").options == ["farmer", "scripted"]


def test_the_value_of_a_replaced_field_is_ignored(monkeypatch: pytest.MonkeyPatch):
    """A browser may report it once more, after an edit of the table."""
    state: dict[str, object] = {"gone": 0.06, "there": 0.5}
    monkeypatch.setattr(st, "session_state", state)
    LAB.put(why.field_of("achievement_count", "collect_drink"), "there")
    set_from = partial(why.set_from_field, "achievement_count", "collect_drink")
    set_from("gone", 0.04)
    set_from("there", 0.5)  # what it began with
    assert LAB.get("tables_revision") is None
    state["there"] = 7.0
    set_from("there", 0.5)
    assert LAB.get("tables_revision") == 1
    assert LAB.get("achievements_kept")["count"][ACHIEVEMENTS.index("collect_drink")] == 7.0


def test_the_component_csv_of_a_pair_names_its_episodes(pair: TraceStore, monkeypatch: pytest.MonkeyPatch):
    saved: list[Table] = []
    monkeypatch.setattr(
        "pages.components.lab.what_if.why.charts.show", lambda *_, download, **more: saved.append(download.table())
    )
    lab()
    heading, *rows = saved[-1]
    assert heading[:5] == ("episode", "policy", "seed", "kind", "component")
    assert {row[:3] for row in rows} == {("farmed01", "farmer", 13), ("honest01", "scripted", 13)}
