"""The launch page for language models: connection, profiles, keys, estimate and budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core.policies.llm import CostEstimate
from core.policies.llm.prompt import default_system_prompt
from core.settings import load_settings
from core.store import TraceStore
from core.types import Budget, ModelProfile
from pages.components.launch.estimate import share_of_budget
from pages.components.text.escape import escape
from tests.support.launch_page import described, errors, link, query_value, summary
from tests.support.launch_page import opened as opened_on
from tests.support.model.server import ModelServer, calls, says
from tests.support.model.strict import Claude, strict_server
from tests.support.pages import captions, checked, texts

KEY = "sk-test-9f8e7d6c5b4a3210"


@pytest.fixture
def stored(data_dir: Path) -> Iterator[TraceStore]:
    """A store with the seed's world, so that it need not be generated."""
    with TraceStore.from_settings(load_settings()) as store:
        store.seeds.save(described(0, trees=12))
        yield store


def opened(**query: str) -> AppTest:
    return opened_on("0", **query)


def fill(at: AppTest, **fields: str) -> AppTest:
    for name, value in fields.items():
        at.text_input(key=f"launch_param_llm_{name}").set_value(value)
    return checked(at.run())


def key_choice(at: AppTest) -> Selectbox:
    return at.selectbox(key="launch_param_llm_key_name")


def with_model(url: str = "http://127.0.0.1:9", model: str = "tiny-model") -> AppTest:
    return fill(opened(by="llm"), base_url=url, model=model)


def badges(at: AppTest) -> str:
    return "\n".join(str(element.proto) for element in at.get("badge") or at.markdown)


def test_the_form_shows_missing_values_and_an_estimate(stored: TraceStore):
    at = opened(by="llm")
    assert at.button(key="launch_now").disabled
    assert errors(at) == []  # nothing is wrong yet
    assert any("Enter a base URL and a model, or choose a saved connection." in info.value for info in at.info)
    fill(at, base_url="ftp://127.0.0.1")
    assert any("Enter a model, or" in info.value for info in at.info)
    fill(at, model="tiny-model")
    assert any("The base URL is invalid" in error for error in errors(at))
    fill(at, base_url="http://127.0.0.1:9")
    assert errors(at) == [] and not at.button(key="launch_now").disabled
    said = summary(at)
    assert "<span>Max decisions</span><b>10</b>" in said
    assert "<span>Model calls, at most</span><b>10</b>" in said
    assert "<span>Cost, about</span><b>n/a</b>" in said
    assert "No price is known for this model" in captions(at)


def test_the_budget_and_retries_are_part_of_the_estimate(stored: TraceStore):
    at = with_model()
    at.number_input(key="launch_budget_calls").set_value(4)
    said = summary(checked(at.run()))
    assert "<span>Model calls, at most</span><b>4 (by the budget)</b>" in said
    assert "without it there would be 10 calls" in captions(at)
    at.number_input(key="launch_budget_calls").set_value(400)
    said = summary(checked(at.run()))
    assert "<span>Model calls, at most</span><b>10</b>" in said
    assert "without it" not in captions(at)
    assert at.number_input(key="launch_param_llm_ask_again").disabled
    checked(at.selectbox(key="launch_param_llm_on_bad_call").set_value("retry").run())
    assert not at.number_input(key="launch_param_llm_ask_again").disabled
    assert "Each decision may add 2 retries." in captions(at)


def test_a_known_price_is_an_estimate_in_dollars(stored: TraceStore):
    said = summary(with_model("https://api.openai.com/v1", "gpt-4o-mini"))
    cost = said.split("Cost, about</span><b>")[1].split("<")[0]
    assert cost.endswith(" USD") and 0 < float(cost.removesuffix(" USD")) < 0.1


def test_models_start_with_ten_decisions_and_other_policies_with_a_thousand(stored: TraceStore):
    at = opened()
    assert at.number_input(key="launch_max_decisions").value == 1_000
    checked(at.selectbox(key="launch_policy").set_value("llm").run())
    assert at.number_input(key="launch_max_decisions").value == 10
    assert at.number_input(key="launch_max_steps").value == 1_000
    checked(at.selectbox(key="launch_policy").set_value("random").run())
    assert at.number_input(key="launch_max_decisions").value == 1_000
    at.number_input(key="launch_max_decisions").set_value(77).run()  # a limit set by the user stays
    checked(at.selectbox(key="launch_policy").set_value("llm").run())
    assert at.number_input(key="launch_max_decisions").value == 77


def test_a_link_holds_a_decision_limit_that_is_not_the_default(stored: TraceStore):
    at = opened(by="llm", max_decisions="1000")
    assert at.number_input(key="launch_max_decisions").value == 1_000
    assert link(at)["max_decisions"] == "1000"
    assert "max_decisions" not in link(opened(by="llm"))


def test_a_link_never_holds_a_base_url(stored: TraceStore):
    at = with_model("http://127.0.0.1:9/secret-path", "tiny-model")
    assert not any("127.0.0.1" in value or "tiny-model" in value for value in link(at).values())
    other = opened(by="llm", base_url="http://evil.example", model="m")
    assert other.text_input(key="launch_param_llm_base_url").value == ""


def with_profile(stored: TraceStore, url: str = "http://127.0.0.1:9") -> None:
    stored.profiles.save(ModelProfile("local", url, "tiny-model", "A_KEY"))


def connection(at: AppTest) -> tuple[str | None, ...]:
    url, model = (at.text_input(key=f"launch_param_llm_{name}").value for name in ("base_url", "model"))
    return url, model, key_choice(at).value


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for a loopback server, one for another server, and an unset one for the first."""
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "A_KEY=127.0.0.1:9, B_KEY=127.0.0.1:10, C_KEY=127.0.0.1:9")
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("B_KEY", KEY)
    monkeypatch.delenv("C_KEY", raising=False)


def test_a_link_names_a_profile_and_the_form_is_filled_from_it(stored: TraceStore, keys: None):
    with_profile(stored)
    at = opened(by="llm", profile="local")
    assert at.selectbox(key="launch_param_llm_profile").value == "local"
    assert connection(at) == ("http://127.0.0.1:9", "tiny-model", "A_KEY")
    assert not at.warning and not at.button(key="launch_now").disabled
    assert link(at) == {"play": "42", "by": "llm", "episodes": "1", "profile": "local"}  # a reload has it too
    checked(at.selectbox(key="launch_policy").set_value("random").run())
    assert "profile" not in link(at)


def test_a_link_to_a_deleted_profile_is_reported_and_clears_the_connection(stored: TraceStore):
    at = with_model()
    del at.session_state["launch_now"]  # as on leaving the page
    at.query_params["by"] = "llm"
    at.query_params["profile"] = "*gone*"
    checked(at.run())
    (warning,) = at.warning
    said = warning.value.replace("\\", "")
    assert 'The link\'s "profile" is "*gone*": no saved connection has that name' in said
    assert said.endswith("Left empty.")
    assert connection(at) == ("", "", "")
    assert at.button(key="launch_now").disabled
    assert "profile" not in link(at)


def test_only_the_keys_of_the_typed_host_are_offered(stored: TraceStore, keys: None):
    at = with_model("http://127.0.0.1:9/v1")
    assert key_choice(at).options == ["No key", "A_KEY"] and key_choice(at).value == "A_KEY"
    assert r"Not set in the environment: C\_KEY" in captions(at)
    fill(at, base_url="http://127.0.0.1:9/v2")
    assert key_choice(at).value == "A_KEY"
    fill(at, base_url="http://127.0.0.1:10")
    assert key_choice(at).options == ["No key", "B_KEY"] and key_choice(at).value == "B_KEY"
    fill(at, base_url="http://127.0.0.1:11")
    assert key_choice(at).options == ["No key"] and key_choice(at).value == ""
    fill(at, base_url="http://127.0.0.1:9")
    checked(key_choice(at).set_value("").run())  # a key need not be sent
    assert key_choice(at).value == "" and errors(at) == []
    everything = "\n".join(str(element.proto) for element in at.main)
    assert not any(KEY[start : start + 6] in everything for start in range(len(KEY) - 5))


def test_a_new_server_does_not_get_the_key_of_the_old_one(stored: TraceStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_KEY", KEY)
    with ModelServer([says(calls("noop"))]) as first, ModelServer([says(calls("noop"))]) as second:
        monkeypatch.setenv("CRAFTSCOPE_KEYS", f"A_KEY={first.host}")
        at = with_model(first.url)
        checked(at.button(key="launch_llm_try").click().run())
        assert first.requests[0][1]["authorization"] == f"Bearer {KEY}"
        fill(at, base_url=second.url)
        checked(at.button(key="launch_llm_try").click().run())
        assert "✓ works" in badges(at)
        assert KEY not in second.requests[0][1]["authorization"]


@pytest.mark.parametrize("name", ["B_KEY", "NEVER_PAIRED_KEY"])
def test_a_profile_with_a_key_for_another_host_is_not_launched(stored: TraceStore, keys: None, name: str):
    stored.profiles.save(ModelProfile("old", "http://127.0.0.1:9", "m", name))
    at = opened(by="llm", profile="old")
    assert key_choice(at).value is None
    error = errors(at)[0].replace("\\", "")
    assert error.startswith(f"The key {name} ") and "Choose a key of this server, or none" in error
    assert at.button(key="launch_now").disabled
    checked(key_choice(at).set_value("A_KEY").run())
    assert errors(at) == [] and not at.button(key="launch_now").disabled
    stored.profiles.save(ModelProfile("new", "http://127.0.0.1:10", "m", "B_KEY"))
    checked(at.run())
    checked(at.selectbox(key="launch_param_llm_profile").set_value("new").run())
    assert connection(at) == ("http://127.0.0.1:10", "m", "B_KEY")
    assert errors(at) == []


def test_the_connection_is_tested_with_one_small_call(stored: TraceStore):
    refused = says({"error": {"message": "no"}}, status=401)
    with ModelServer([says(calls("noop")), refused]) as server:
        at = with_model(server.url)
        checked(at.button(key="launch_llm_try").click().run())
        assert len(server.requests) == 1
        assert "✓ works" in badges(at)
        assert any("answered in" in text and "valid tool call" in text for text in texts(at))
        fill(at, model="another")
        assert "Settings changed since the test" in captions(at)
        checked(at.button(key="launch_llm_try").click().run())
    assert "✕ failed" in badges(at)
    assert any("does not accept the API key" in text for text in texts(at))


def test_after_the_connection_test_the_estimate_tells_what_is_left_out(stored: TraceStore):
    with strict_server(Claude()) as server:
        at = with_model(server.url)
        assert at.number_input(key="launch_param_llm_temperature").value is None  # not sent
        at.number_input(key="launch_param_llm_temperature").set_value(0.5)
        at.number_input(key="launch_param_llm_top_p").set_value(0.9)
        checked(at.run())
        checked(at.button(key="launch_llm_try").click().run())
    assert "✓ works" in badges(at)
    assert escape("top_p is left out: the server refuses it") in captions(at)


def test_a_picture_names_the_providers_that_refuse_it(stored: TraceStore):
    at = with_model()
    assert "mistral-common" not in captions(at)
    checked(at.selectbox(key="launch_param_llm_observe").set_value("both").run())
    assert "Mistral's API and servers that use mistral-common refuse pictures" in captions(at)


def test_profiles_are_saved_filled_in_and_deleted(stored: TraceStore, keys: None):
    at = with_model("http://127.0.0.1:9", "tiny-model")
    at.text_input(key="launch_profile_name").set_value("local")
    checked(at.button(key="launch_profile_save").click().run())
    assert stored.profiles.all().rows == (ModelProfile("local", "http://127.0.0.1:9", "tiny-model", "A_KEY"),)
    assert "Profile saved" in texts(at)
    assert at.selectbox(key="launch_param_llm_profile").value == "local"

    fill(at, model="another")
    assert "differ from this profile" in captions(at)

    fresh = opened(by="llm")
    checked(fresh.selectbox(key="launch_param_llm_profile").set_value("local").run())
    assert connection(fresh) == ("http://127.0.0.1:9", "tiny-model", "A_KEY")
    checked(fresh.button(key="launch_profile_delete").click().run())
    assert stored.profiles.all().rows == ()
    assert fresh.text_input(key="launch_param_llm_model").value == "tiny-model"


def test_the_default_prompt_follows_the_max_actions_per_call(stored: TraceStore):
    at = with_model()
    prompt = at.text_area(key="launch_llm_prompt")
    assert prompt.value == default_system_prompt(5)
    at.number_input(key="launch_max_actions").set_value(3)
    checked(at.run())
    assert at.text_area(key="launch_llm_prompt").value == default_system_prompt(3)
    checked(at.text_area(key="launch_llm_prompt").set_value("Play well.").run())
    assert "Your own prompt" in captions(at)
    checked(at.button(key="launch_llm_prompt_back").click().run())
    assert at.text_area(key="launch_llm_prompt").value == default_system_prompt(3)


def test_a_launch_stores_prompt_settings_and_budget(stored: TraceStore):
    with ModelServer([says(calls("noop"))]) as server:
        at = with_model(server.url)
        at.text_area(key="launch_llm_prompt").set_value("Play well.")
        at.selectbox(key="launch_param_llm_on_bad_call").set_value("noop")
        at.number_input(key="launch_budget_calls").set_value(2)
        at.number_input(key="launch_budget_usd").set_value(1.5)
        checked(at.run())
        assert "<span>Budget</span><b>2 calls, 1.500 USD</b>" in summary(at)
        assert "A budget in dollars has no effect here" in captions(at)
        at.button(key="launch_now").click().run()
        run = stored.runs.get(query_value(at, "id"))
        stored.queue.request_stop(run_id=run.id)
    params = run.config["policy"]["params"]
    assert (params["system_prompt"], params["on_bad_call"], params["model"]) == ("Play well.", "noop", "tiny-model")
    assert run.config["budget"] == {"max_calls": 2, "max_tokens": None, "max_cost_usd": 1.5}
    assert KEY not in json.dumps(run.config)


def test_the_smallest_part_of_the_budget_counts():
    wanted = CostEstimate(calls=80, tokens_in=7_000, tokens_out=1_000, cost_usd=2.0)
    assert share_of_budget(Budget(), wanted) == 1
    assert share_of_budget(Budget(max_calls=24), wanted) == 0.3
    assert share_of_budget(Budget(max_calls=24, max_tokens=1_600), wanted) == 0.2
    assert share_of_budget(Budget(max_calls=24, max_cost_usd=0.5), wanted) == 0.25
    assert share_of_budget(Budget(max_cost_usd=0.5), replace(wanted, cost_usd=None)) == 1
