"""The settings of the language-model policy: connection, sampling, prompt, retries and budget."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

import streamlit as st

from core.errors import InvalidConfig
from core.params import read_params
from core.policies.llm import ConnectionTest, LlmParams, run_connection_test
from core.policies.llm.prompt import default_system_prompt
from core.types import Budget
from pages.components.launch.connection import key_field, profile_picker
from pages.components.launch.state import LAUNCH, PREFIX
from pages.components.shared.param_field import param_field
from pages.components.text.escape import safe_text
from pages.components.text.format import number

_FIELDS: dict[str, Field[Any]] = {spec.name: spec for spec in fields(LlmParams)}
_OBSERVATIONS = {"text": "Text", "picture": "Picture", "both": "Text and picture"}
_ON_BAD_CALL = {"stop": "Stop the episode", "retry": "Ask again, then stop", "noop": "Skip one step (noop), go on"}
_NO_PICTURES = (
    "Mistral's API and servers that use mistral-common refuse pictures here: they accept them only in a user message, "
    "and no user message after a tool result."
)
_PROMPT = f"{PREFIX}llm_prompt"
_DEFAULT_PROMPT = f"{PREFIX}llm_prompt_default"
_CONNECTION_TEST = f"{PREFIX}llm_connection_test"


def model_settings() -> dict[str, Any]:
    """The policy's parameters as entered, not checked."""
    params: dict[str, Any] = {}
    st.markdown("**Connection**")
    params["profile"] = profile_picker()
    url, model = st.columns([3, 2])
    with url:
        params["base_url"] = _field("base_url", placeholder="https://api.openai.com/v1 or http://127.0.0.1:8080")
    with model:
        params["model"] = _field("model", placeholder="such as gpt-4o-mini")
    params["key_name"] = key_field()
    test_place = st.container()
    st.markdown("**Sampling**")
    _row(params, "temperature", "top_p", "seed", "max_tokens", "logprobs")
    st.markdown("**Prompt**")
    observation, history = st.columns(2)
    with observation:
        params["observe"] = _field("observe", labels=_OBSERVATIONS)
    with history:
        params["history"] = _field("history")
    if params["observe"] != "text":
        st.caption(_NO_PICTURES)
    params["system_prompt"] = _system_prompt()
    params["extra"] = _field("extra", height=68, placeholder='{"reasoning_effort": "low"}')
    st.markdown("**Errors and retries**")
    bad, again = st.columns(2)
    with bad:
        params["on_bad_call"] = _field("on_bad_call", labels=_ON_BAD_CALL)
    with again:
        params["ask_again"] = _field("ask_again", disabled=params["on_bad_call"] != "retry")
    retries, seconds = st.columns(2)
    with retries:
        params["http_retries"] = _field("http_retries")
    with seconds:
        params["call_timeout_s"] = _field("call_timeout_s", format="%.0f", step=10.0)
    with test_place:
        _test_button(params)
    return params


def missing_settings(params: dict[str, Any]) -> str:
    """A message about what to enter before the rest can be checked; empty if nothing is missing."""
    names = {"base_url": "a base URL", "model": "a model"}
    missing = [words for name, words in names.items() if not params[name].strip()]
    return f"Enter {' and '.join(missing)}, or choose a saved connection." if missing else ""


def budget_form() -> Budget:
    """An empty field means no limit."""
    st.markdown("**Budget**")
    row = st.columns(3)
    optional: dict[str, Any] = {"value": None, "placeholder": "no limit", "persist_state": "session"}
    calls = row[0].number_input("Max calls", min_value=1, step=10, key=f"{PREFIX}budget_calls", **optional)
    tokens = row[1].number_input("Max tokens", min_value=1, step=1_000, key=f"{PREFIX}budget_tokens", **optional)
    dollars = row[2].number_input(
        "Max US dollars", min_value=0.0001, step=0.1, format="%.4f", key=f"{PREFIX}budget_usd", **optional
    )
    st.caption(
        "Shared by all episodes of this run. Checked before each call; calls in flight may exceed it. Tokens: as "
        "counted by the server."
    )
    return Budget(calls, tokens, dollars)


def _field(name: str, **more: Any) -> Any:
    return param_field(LAUNCH, "llm", _FIELDS[name], **more)


def _row(params: dict[str, Any], *names: str) -> None:
    for column, name in zip(st.columns(len(names)), names, strict=True):
        with column:
            params[name] = _field(name)


def _system_prompt() -> str:
    """The field starts with the default prompt; if unedited, it is stored as empty."""
    default = default_system_prompt(int(st.session_state[f"{PREFIX}max_actions"]))
    if st.session_state.get(_PROMPT, None) in (None, "", st.session_state.get(_DEFAULT_PROMPT)):
        st.session_state[_PROMPT] = default
    st.session_state[_DEFAULT_PROMPT] = default
    text = st.text_area(
        _FIELDS["system_prompt"].metadata["label"],
        key=_PROMPT,
        persist_state="session",
        height=200,
        help="The default explains the rules of the game and the action limit. Clear the field to restore it.",
    )
    if text == default:
        st.caption(f"Default: the rules of the game, about {number(len(text) // 4)} tokens")
        return ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Your own prompt, about {number(len(text) // 4)} tokens", width="content")
        st.button("Restore default", key=f"{PREFIX}llm_prompt_back", on_click=_back_to_default, type="tertiary")
    return text


def fill_prompt(text: str) -> None:
    """Sets the prompt, in a callback; empty for the default."""
    st.session_state[_PROMPT] = text or None


def _back_to_default() -> None:
    st.session_state[_PROMPT] = None


def _test_button(params: dict[str, Any]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button(
            "Test connection",
            key=f"{PREFIX}llm_try",
            help="One small call, at most 15 seconds. It may cost a fraction of a cent.",
        ):
            with st.spinner("Calling the model…"):
                st.session_state[_CONNECTION_TEST] = (_tested(params), _run_test(params))
        tested, result = st.session_state.get(_CONNECTION_TEST, (None, None))
        if result is None:
            return
        if tested != _tested(params):
            st.caption("Settings changed since the test", width="content")
            return
        if result.ok:
            st.badge("✓ works", color="green")
        elif result.reached:
            st.badge("! invalid answer", color="orange")
        else:
            st.badge("✕ failed", color="red")
    st.text(safe_text(result.sentence, 1_000))


def _tested(params: dict[str, Any]) -> dict[str, Any]:
    """The settings that a connection test depends on."""
    return {name: params[name] for name in ("base_url", "model", "key_name", "temperature", "top_p", "seed", "extra")}


def _run_test(params: dict[str, Any]) -> ConnectionTest:
    try:
        return run_connection_test(read_params(LlmParams, params, 'policy "llm"'))
    except InvalidConfig as error:
        return ConnectionTest(False, False, str(error))
