"""What a language-model policy can be told. All of it is stored with the episode; a key is named, never held."""

from __future__ import annotations

from dataclasses import dataclass

from core.params import choice, integer, number, text

ON_BAD_CALL = ("stop", "retry", "noop")
OBSERVE = ("text", "picture", "both")
MOST_OF_A_PROMPT = 100_000


@dataclass(frozen=True, slots=True)
class LlmParams:
    """One connection, how to sample, and what to do where an answer cannot be used.

    key_name is the name of the environment variable (or Streamlit secret) that holds the key; empty for a server that
    wants none. It has to be paired with the server: see `endpoint.check_key`.
    """

    base_url: str = text("", label="Base URL", description="The server's, such as https://api.openai.com/v1.", most=500)
    model: str = text("", label="Model", description="The name that the server knows it by.")
    key_name: str = text(
        "",
        label="API key",
        description="The name of the environment variable that holds the key. The key itself is never stored.",
    )
    profile: str = text("", label="Profile", description="The connection profile that this was filled from.")
    temperature: float = number(0.2, label="Temperature", description="0 is steady, 2 is wild.", low=0, high=2)
    top_p: float = number(0.95, label="Top p", description="Share of likely words that are considered.", low=0, high=1)
    max_tokens: int = integer(
        512,
        label="Most tokens of an answer",
        description="Longer ones are cut by the server.",
        low=1,
        high=1_000_000,
    )
    history: int = integer(
        8, label="Decisions remembered", description="How many earlier decisions each prompt holds.", low=0, high=16
    )
    observe: str = choice("text", label="Sees", description="The world as text, as a picture, or both.", names=OBSERVE)
    system_prompt: str = text(
        "",
        label="System prompt",
        description="Empty: the rules of the game, made from the game's own data.",
        most=MOST_OF_A_PROMPT,
    )
    extra: str = text(
        "",
        label="More fields",
        description='A JSON object that is added to each request, such as {"reasoning_effort": "low"}.',
        most=10_000,
    )
    on_bad_call: str = choice(
        "stop",
        label="A call that cannot be used",
        description="Stop the episode; ask again, then stop; or do nothing for one step and go on. A wrong key, an "
        "unknown model and an empty account always stop it.",
        names=ON_BAD_CALL,
    )
    ask_again: int = integer(
        2, label="Times to ask again", description="Where a call that cannot be used is asked again.", low=1, high=20
    )
    http_retries: int = integer(
        2,
        label="HTTP retries",
        description="How often a request is repeated after a 429, a 5xx or a broken connection.",
        low=0,
        high=20,
    )
    call_timeout_s: float = number(
        120, label="Seconds for a call", description="All retries of a call together.", low=1, high=3_600
    )
