"""The parameters of the language-model policy. All are stored with the episode; the key only by its name."""

from __future__ import annotations

from dataclasses import dataclass

from core.params import choice, integer, number, text

ON_BAD_CALL = ("stop", "retry", "noop")
OBSERVE = ("text", "picture", "both")
LOGPROBS = ("no", "yes")
MAX_PROMPT = 100_000


@dataclass(frozen=True, slots=True)
class LlmParams:
    """The connection, how to sample, and what to do on an invalid answer.

    key_name: the environment variable (or Streamlit secret) with the key; empty for a server without keys. It has to be
    paired with the server: see `endpoint.check_key`.
    """

    base_url: str = text(
        "", label="Base URL", description="The server, such as https://api.openai.com/v1.", max_length=500
    )
    model: str = text("", label="Model", description="The name that the server uses for it.")
    key_name: str = text(
        "",
        label="API key",
        description="The environment variable with the key. The key itself is never stored.",
    )
    profile: str = text("", label="Profile", description="The connection profile that this was filled from.")
    temperature: float | None = number(
        None, label="Temperature", description="Empty: not sent, the server's default applies.", low=0, high=2
    )
    top_p: float | None = number(
        None,
        label="Top p",
        description="Empty: not sent. Some models take this or a temperature, not both.",
        low=0,
        high=1,
    )
    seed: int | None = integer(
        None,
        label="Seed",
        description="The server's sampling seed. Empty: not sent. Most servers do not guarantee the same answer again.",
        low=0,
        high=2**31 - 1,
    )
    max_tokens: int = integer(
        512, label="Max output tokens", description="Longer answers are cut off.", low=1, high=1_000_000
    )
    logprobs: str = choice(
        "no",
        label="Token logprobs",
        description="Asks for the log-probability of each token of the answer. Left out where the server refuses it.",
        names=LOGPROBS,
    )
    history: int = integer(
        8,
        label="Decisions remembered",
        description="How many earlier decisions a request contains at most. Beyond that, the older half is dropped at "
        "once, so that the server's prompt cache stays useful.",
        low=0,
        high=16,
    )
    observe: str = choice(
        "text",
        label="Observation",
        description="The world as text, as a picture, or both. Mistral's API and servers that use mistral-common (vLLM "
        "with Mistral's models) refuse pictures here: a picture needs a user message after a tool's result.",
        names=OBSERVE,
    )
    system_prompt: str = text(
        "",
        label="System prompt",
        description="Empty: the rules of the game.",
        max_length=MAX_PROMPT,
    )
    extra: str = text(
        "",
        label="More fields",
        description='A JSON object that is added to each request, such as {"reasoning_effort": "low"}.',
        max_length=10_000,
    )
    on_bad_call: str = choice(
        "stop",
        label="On an invalid answer",
        description="Stop the episode; call again, then stop; or do nothing for one step and continue. A wrong key, an "
        "unknown model and an empty account always stop it.",
        names=ON_BAD_CALL,
    )
    ask_again: int = integer(
        2,
        label="Retries after an invalid answer",
        description="How often the model is called again for one decision.",
        low=1,
        high=20,
    )
    http_retries: int = integer(
        2,
        label="HTTP retries",
        description="How often a request is repeated after a 429, a 5xx or a broken connection.",
        low=0,
        high=20,
    )
    call_timeout_s: float = number(
        120, label="Max seconds per call", description="All HTTP retries of a call together.", low=1, high=3_600
    )
