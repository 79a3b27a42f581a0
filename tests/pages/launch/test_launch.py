"""The launch page: the form, its link, its errors, the seed gallery, and launching."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.env.rules import ACHIEVEMENTS, ENGINE_VERSION, ITEMS
from core.plan import LaunchPlan, make_run
from core.rewards import checked_reward, to_changes
from core.settings import load_settings
from core.store import TraceStore
from core.types import EnvConfig, EpisodeStatus, Limits, OnDone, PolicySpec, RewardConfig
from pages.components.launch.estimate import longest_s, throughput_of
from pages.components.text.escape import escape
from tests.requests.test_request import a_request
from tests.support import pages
from tests.support.launch_page import described, errors, link, opened, query_value, summary
from tests.support.launches import wait_until_over
from tests.support.pages import captions, checked


@pytest.fixture
def stored(data_dir: Path) -> Iterator[TraceStore]:
    """A store with the worlds of seeds 0-3, so that none has to be generated."""
    with TraceStore.from_settings(load_settings()) as store:
        store.seeds.save(described(0, trees=12))
        store.seeds.save(described(1, trees=3, diamond=9))
        store.seeds.save(described(2, trees=0, hostiles=4))
        store.seeds.save(described(3, trees=20, diamond=None))
        yield store


def shown(at: AppTest) -> list[str]:
    """The seeds of the gallery, in its order."""
    return [box.label for box in at.checkbox if str(box.key).startswith("launch_pick_")]


def picked(at: AppTest) -> str:
    """The line with the picked seeds."""
    (line,) = [markdown.value for markdown in at.markdown if markdown.value.startswith("Picked")]
    return line.replace("\\", "")


def test_the_form_opens_with_a_picked_seed_and_can_be_launched(stored: TraceStore):
    stored.seeds.save(described(42, trees=5))
    at = opened("42, 0-3")
    assert at.text_input(key="launch_seeds").value == "42"
    assert at.checkbox(key="launch_pick_42").value
    assert picked(at) == "Picked: **42** (1 seed)"
    assert at.button(key="launch_now").label == "Launch 1 episode"
    assert not at.button(key="launch_now").disabled
    assert "1 seed × 1 = 1" in summary(at)
    assert "No time estimate yet" in captions(at)


def test_a_link_fills_the_form(stored: TraceStore):
    at = opened(seeds="0-2", policy="random", episodes="3", max_steps="50", on_done="reset")
    assert at.text_input(key="launch_seeds").value == "0-2"
    assert at.selectbox(key="launch_policy").value == "random"
    assert at.number_input(key="launch_max_steps").value == 50
    assert at.radio(key="launch_on_done").value == OnDone.RESET.value
    assert "3 seeds × 3 = 9 or more" in summary(at)


EDITED = RewardConfig(
    strategy="consistent",
    enabled=False,
    indicator_lambda=None,
    step_beta=0.25,
    weights={"eat_cow": 2.5},
    k_limits={"eat_cow": 0},
    achievement_count_weights={"collect_drink": 0.0},
    default_inventory_weight=0.125,
)
EVERYTHING = {
    "play": "0, 2",
    "by": "farmer",
    "episodes": "2",
    "name": "*Stone* & more",
    "max_steps": "50",
    "max_decisions": "40",
    "max_seconds": "90",
    "max_ops": "70",
    "on_done": "reset",
    "width": "32",
    "height": "48",
    "length": "900",
    "max_actions": "3",
    "farmer.farm": "stone",
    "farmer.max_actions": "2",
    "rewards": to_changes(EDITED),
}


def test_a_link_with_every_field_survives_the_form(stored: TraceStore):
    at = opened(**EVERYTHING)
    assert not at.warning
    assert link(at) == EVERYTHING
    assert at.selectbox(key="launch_param_farmer_farm").value == "stone"
    assert at.selectbox(key="launch_start").value == "link"
    assert at.text_input(key="launch_name").value == "*Stone* & more"
    assert checked_reward(EDITED).config_hash in summary(at)


def test_edits_survive_in_the_link(stored: TraceStore):
    at = opened()
    at.number_input(key="launch_default_count_weight").set_value(0.5)
    at.number_input(key="launch_max_ops").set_value(600)
    checked(at.selectbox(key="launch_policy").set_value("farmer").run())
    checked(at.selectbox(key="launch_param_farmer_farm").set_value("stone").run())
    assert not at.query_params  # a parameter set here would be another entry of the browser's history
    again = opened(**link(at))
    expected = RewardConfig(strategy="per_achievement", default_achievement_count_weight=0.5)
    assert expected.config_hash in summary(at) and expected.config_hash in summary(again)
    assert again.selectbox(key="launch_param_farmer_farm").value == "stone"
    assert again.number_input(key="launch_max_ops").value == 600
    assert link(again) == link(at)


def test_a_saved_reward_configuration_of_a_link_is_shown_by_name(stored: TraceStore):
    stored.rewards.save("mine", checked_reward(EDITED))
    at = opened(rewards=to_changes(EDITED))
    assert at.selectbox(key="launch_start").value == "saved:mine"


def test_invalid_and_hostile_values_of_a_link_are_reported_and_replaced(stored: TraceStore):
    image = "![x](http://host/y)"
    at = opened(
        **{
            "by": "farmer",
            "rewards": '{"weights": {"' + image + '": 1}}',
            "farmer.farm": image,
            "farmer.max_actions": "0",
            "max_actions": "0",
            "on_done": "resett",
            "episodes": "many",
            "budget_usd": "-1",
            "farmer.seeds": "1",
            "llm.base_url": "http://host",
            "utm_source": "mail",
        }
    )
    said = [warning.value for warning in at.warning]
    assert not any("![" in sentence or "](" in sentence for sentence in said)
    unescaped = [sentence.replace("\\", "") for sentence in said]
    for part in (
        "Invalid reward configuration in the link: ",
        'The link\'s "farmer.farm" is "![x]',
        '"farmer.max_actions"',
        '"on_done" is "resett": unknown name; did you mean "reset"?',
        '"episodes" is "many": it is not a whole number',
    ):
        assert any(part in sentence for sentence in unescaped)
    for name in ("farmer.seeds", "llm.base_url"):
        assert f'Unknown setting in the link: "{name}".' in unescaped
    assert any('"max_actions" is "0"' in sentence for sentence in unescaped)
    assert any('"budget_usd" is "-1"' in s and s.endswith("Left empty.") for s in unescaped)
    assert len(said) == 9
    assert RewardConfig(strategy="per_achievement").config_hash in summary(at)
    assert at.selectbox(key="launch_param_farmer_farm").value == "water"
    assert link(at) == {"play": "42", "by": "farmer", "episodes": "1"}
    assert checked(at.run()).warning
    assert not checked(at.number_input(key="launch_default_count_weight").set_value(0.5).run()).warning


def test_an_invalid_reward_configuration_is_reported_after_a_reload(stored: TraceStore):
    at = opened()
    checked(at.number_input(key="launch_lambda").set_value(1e12).run())
    again = opened(**link(at))
    assert any(
        "Invalid reward configuration in the link" in warning.value.replace("\\", "") for warning in again.warning
    )
    assert again.number_input(key="launch_lambda").value == 1.0


def test_values_too_long_for_a_url_are_left_out_and_reported(stored: TraceStore):
    at = opened()
    checked(at.text_input(key="launch_name").set_value("é" * 2_000).run())
    assert link(at) == {"play": "42", "by": "scripted", "episodes": "1", "without": "name"}
    (warning,) = opened(**link(at)).warning
    assert "This link does not include the “name”" in warning.value


def test_texts_of_a_language_model_are_not_in_the_link_and_reported_missing(stored: TraceStore):
    at = opened(by="llm")
    for name, text in (("base_url", "http://me:secret@127.0.0.1:9"), ("model", "tiny")):
        at.text_input(key=f"launch_param_llm_{name}").set_value(text)
    at.text_area(key="launch_llm_prompt").set_value("Play my own way.")
    at.text_area(key="launch_param_llm_extra").set_value('{"token": "secret"}')
    at.number_input(key="launch_param_llm_temperature").set_value(0.75)
    at.number_input(key="launch_budget_calls").set_value(4)
    checked(at.run())
    assert link(at) == {
        "play": "42",
        "by": "llm",
        "episodes": "1",
        "llm.temperature": "0.75",
        "budget_calls": "4",
        "without": "llm.base_url,llm.model,llm.system_prompt,llm.extra",
    }
    del at.session_state["launch_now"]  # as on leaving the page
    for name, text in link(at).items():
        at.query_params[name] = text
    assert not checked(at.run()).warning  # this session has them still
    again = opened(**link(at))
    assert again.number_input(key="launch_param_llm_temperature").value == 0.75
    assert again.number_input(key="launch_budget_calls").value == 4
    (warning,) = again.warning
    for label in ("Base URL", "Model", "System prompt", "More fields"):
        assert f"“{label}”" in warning.value


def test_the_form_keeps_its_values_when_the_user_comes_back(stored: TraceStore):
    at = opened()
    at.text_input(key="launch_seeds").set_value("3")
    checked(at.number_input(key="launch_max_steps").set_value(123).run())
    checked(at.switch_page("pages/traces.py").run())
    checked(at.switch_page("pages/launch.py").run())
    assert at.text_input(key="launch_seeds").value == "3"
    assert at.number_input(key="launch_max_steps").value == 123


@pytest.mark.parametrize(
    ("text", "said"),
    [("seven", "seven"), ("9-0", "reversed"), ("0-2147483647", "Too many seeds"), ("-1", "-1")],
)
def test_invalid_seeds_are_reported_and_block_the_launch(stored: TraceStore, text: str, said: str):
    at = opened()
    checked(at.text_input(key="launch_seeds").set_value(text).run())
    assert any(escape(said) in error for error in errors(at))
    assert at.button(key="launch_now").disabled


def test_cleared_picks_are_no_error_but_block_the_launch(stored: TraceStore):
    at = opened()
    checked(at.button(key="launch_clear_picks").click().run())
    assert not at.error
    assert any(markdown.value.startswith("No seeds yet") for markdown in at.markdown)
    assert "No seeds yet" in captions(at)
    assert at.button(key="launch_now").disabled


@pytest.mark.parametrize(
    ("field", "problem"),
    [("max_steps", "max_steps is 0"), ("episodes", "episodes_per_seed is 0"), ("width", "area")],
)
def test_a_number_of_zero_is_reported_beside_its_field_and_blocks_the_launch(
    stored: TraceStore, field: str, problem: str
):
    at = opened()
    checked(at.number_input(key=f"launch_{field}").set_value(0).run())
    assert any(escape(problem) in error for error in errors(at))
    assert at.button(key="launch_now").disabled


def test_a_world_smaller_than_the_view_gets_a_warning(stored: TraceStore):
    at = opened()
    assert not at.warning
    checked(at.number_input(key="launch_width").set_value(8).run())
    assert "view (9 × 7)" in at.warning[0].value
    assert not at.button(key="launch_now").disabled


def test_the_summary_names_the_reward_configuration_of_the_form(stored: TraceStore):
    at = opened()
    assert RewardConfig(strategy="per_achievement").config_hash in summary(at)
    checked(at.number_input(key="launch_default_count_weight").set_value(0.5).run())
    edited = RewardConfig(strategy="per_achievement", default_achievement_count_weight=0.5)
    assert edited.config_hash in summary(at)
    checked(at.radio(key="launch_strategy").set_value("consistent").run())
    assert RewardConfig(strategy="consistent").config_hash in summary(at)
    checked(at.number_input(key="launch_lambda").set_value(0.0).run())
    assert "Lambda 0 counts as 1" in captions(at)
    checked(at.toggle(key="launch_reward_enabled").set_value(False).run())
    assert "<b>off</b>" in summary(at)


def test_a_click_on_a_world_picks_its_seed_and_another_unpicks_it(stored: TraceStore):
    at = opened(seeds="42")
    checked(at.checkbox(key="launch_pick_1").check().run())
    assert at.text_input(key="launch_seeds").value == "42, 1"
    checked(at.checkbox(key="launch_pick_2").check().run())
    assert at.text_input(key="launch_seeds").value == "42, 1, 2"
    checked(at.checkbox(key="launch_pick_1").uncheck().run())
    assert at.text_input(key="launch_seeds").value == "42, 2"
    assert "2 seeds × 1 = 2" in summary(at)
    checked(at.text_input(key="launch_seeds").set_value("1-2").run())
    assert [at.checkbox(key=f"launch_pick_{seed}").value for seed in range(4)] == [False, True, True, False]


def test_picked_seeds_outside_the_gallery_can_be_shown(stored: TraceStore):
    at = opened(seeds="2, 7")
    assert picked(at) == "Picked: **2, 7** (2 seeds)"
    checked(at.button(key="launch_show_picked").click().run())
    assert at.text_input(key="launch_shown").value == "7, 0-3"
    assert at.checkbox(key="launch_pick_7").value
    assert "launch_show_picked" not in {str(button.key) for button in at.button}


def test_the_gallery_starts_with_the_seeds_of_the_link(stored: TraceStore):
    for seed in range(4, 15):
        stored.seeds.save(described(seed, trees=5))
    at = pages.opened("launch", seeds="3")
    assert shown(at) == [f"Seed {seed}" for seed in range(3, 15)]
    assert at.checkbox(key="launch_pick_3").value


def test_the_gallery_is_sorted_and_filtered(stored: TraceStore):
    at = opened()
    assert shown(at) == ["Seed 0", "Seed 1", "Seed 2", "Seed 3"]
    checked(at.selectbox(key="launch_sort").set_value("Nearest diamond").run())
    assert shown(at) == ["Seed 1", "Seed 0", "Seed 2", "Seed 3"]  # the world without one comes last
    at.session_state["launch_difficulty"] = ["medium", "hard"]
    assert shown(checked(at.run())) == ["Seed 1", "Seed 2"]
    at.session_state["launch_difficulty"] = []
    checked(at.multiselect(key="launch_traits").set_value(["10 trees or more"]).run())
    assert shown(at) == ["Seed 0", "Seed 3"]
    checked(at.multiselect(key="launch_traits").set_value(["10 trees or more", "Diamond within 20"]).run())
    assert shown(at) == []
    assert any("No world here" in info.value for info in at.info)


def test_other_worlds_are_shown_on_demand_and_can_be_picked_before_they_are_generated(stored: TraceStore):
    at = opened()
    checked(at.button(key="launch_next_seeds").click().run())
    assert at.text_input(key="launch_shown").value == "4-15"
    assert len(shown(at)) == 12
    checked(at.checkbox(key="launch_pick_5").check().run())
    assert at.text_input(key="launch_seeds").value == "42, 5"
    checked(at.text_input(key="launch_shown").set_value("0-5000").run())
    assert any("Too many seeds" in error for error in errors(at))


def test_a_launch_stores_the_run_and_starts_a_worker(stored: TraceStore):
    at = opened(seeds="42", policy="random", episodes="2", max_steps="5")
    at.text_input(key="launch_name").set_value("  Two short ones ").run()
    checked(at.button(key="launch_now").click().run())
    (run,) = stored.runs.newest().rows
    assert run.name == "Two short ones"
    assert query_value(at, "id") == run.id
    assert at.title[0].value == "Two short ones"
    checked(at.switch_page("pages/launch.py").run())
    assert at.text_input(key="launch_name").value == ""  # a name is for one launch
    rows = wait_until_over(stored, run.id)
    assert [(row.status, row.n_steps) for row in rows] == [(EpisodeStatus.COMPLETED, 5)] * 2
    assert rows[0].spec.policy_seed != rows[1].spec.policy_seed


def test_the_time_estimate_uses_stored_episodes(recorded: TraceStore):
    at = opened(policy="scripted")
    (takes,) = [caption for caption in at.caption if caption.value.startswith("Takes up to")]
    assert "2 scripted episodes" in takes.proto.help
    assert "ms per step" in takes.proto.help


def test_the_time_estimate_counts_rounds_of_workers_and_the_time_limit(recorded: TraceStore):
    rows = recorded.episodes.page().rows
    throughput = throughput_of(rows)
    assert throughput is not None
    assert throughput.episodes == len([row for row in rows if row.n_steps >= 20])
    one = longest_s(throughput, rollouts=1, max_steps=100, max_time_s=3600, at_once=2)
    assert longest_s(throughput, rollouts=3, max_steps=100, max_time_s=3600, at_once=2) == pytest.approx(2 * one)
    assert longest_s(throughput, rollouts=2, max_steps=10**9, max_time_s=60, at_once=2) == 60
    assert throughput_of(()) is None


def test_a_reload_just_after_a_launch_links_to_the_run(stored: TraceStore):
    plan = LaunchPlan(
        seeds=(42,),
        episodes_per_seed=1,
        policy=PolicySpec("scripted"),
        reward=RewardConfig(strategy="per_achievement"),
        limits=Limits(),
        env=EnvConfig(),
        on_done=OnDone.TERMINATE,
        max_actions_per_call=5,
    )
    stored.runs.create(make_run(plan, engine_version=ENGINE_VERSION, achievements=ACHIEVEMENTS, items=ITEMS))
    assert "Same configuration launched" in captions(opened())
    assert "Same configuration launched" not in captions(opened(play="3"))


def test_a_trainers_request_fills_the_form(stored: TraceStore):
    at = opened("42")
    request = a_request(
        env={"seed": 3},
        ops=["agent", "env"],
        extra=1,
        config={"model": "tiny", "max_llm_calls": 4, "temperature": 0.5, "system_prompt": "Be brief.", "history": 2},
    )
    at.file_uploader(key="launch_request_file").upload("request.json", json.dumps(request).encode())
    checked(at.run())
    assert at.text_input(key="launch_seeds").value == "3"
    assert at.selectbox(key="launch_policy").value == "llm"
    assert at.text_input(key="launch_param_llm_base_url").value == request["policy"]["config"]["inference_url"]
    assert at.number_input(key="launch_param_llm_temperature").value == 0.5
    assert at.text_area(key="launch_llm_prompt").value == "Be brief."
    assert at.number_input(key="launch_max_decisions").value == 2
    warnings = " ".join(warning.value for warning in at.warning)
    assert "a run id of its own" in warnings and "unknown field" in warnings


def test_a_request_that_is_wrong_is_reported_and_changes_nothing(stored: TraceStore):
    at = opened("42")
    body = json.dumps(a_request(mode="rl")).encode()
    at.file_uploader(key="launch_request_file").upload("request.json", body)
    checked(at.run())
    assert any("mode rl needs it" in error for error in errors(at))
    assert at.selectbox(key="launch_policy").value == "scripted"
