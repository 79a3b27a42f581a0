"""The cost of a call by its tokens, and of a launch, estimated from lengths of text.

Prices come with `genai-prices`, offline; the version of the table is stored with each cost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version

from genai_prices import Usage, calc_price

from core.errors import InvalidConfig
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.fields import refused_fields
from core.policies.llm.params import LlmParams
from core.policies.llm.prompt import default_system_prompt, remembered_count
from core.policies.tools import tool_schema
from core.types import LeftOut

PRICE_VERSION = f"genai-prices {version('genai-prices')}"
CHARACTERS_A_TOKEN = 4
OBSERVATION_CHARACTERS = 640  # of `observation_text` with the usual view; a test measures it
PICTURE_TOKENS = 300
ANSWER_TOKENS = 80  # five actions and a sentence of reasoning; thinking comes on top
_RESULT_TOKENS = 20  # the result of a remembered decision


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """calls: at most, without retries. tokens_*, cost_usd: about, if all of these calls are made.

    cost_usd is None if no price is known. left_out: fields that this server has refused in this process, in the
    connection test for example, and that are not sent.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def estimate(params: LlmParams, *, episodes: int, decisions: int, max_actions: int) -> CostEstimate:
    """The calls, tokens and cost of `episodes` of at most `decisions` decisions each."""
    text = params.system_prompt or default_system_prompt(max_actions)
    always = _tokens(len(text) + len(json.dumps(tool_schema(max_actions))))
    observation = _tokens(OBSERVATION_CHARACTERS)
    now = (observation if params.observe != "picture" else 0) + (PICTURE_TOKENS if params.observe != "text" else 0)
    answer = min(ANSWER_TOKENS, params.max_tokens)
    remembered = _remembered(decisions, params.history)
    tokens_in = decisions * (always + now) + remembered * (answer + _RESULT_TOKENS)
    calls = episodes * decisions
    try:
        base_url = endpoint_of(params.base_url).base_url
    except InvalidConfig:
        base_url = ""
    # The cost of a call of mean length: prices may depend on the length of a single prompt.
    one = cost_usd(
        base_url=base_url,
        model=params.model,
        tokens_in=round(tokens_in / decisions),
        tokens_out=answer,
        tokens_cached=None,
    )
    left_out = refused_fields(params.base_url, params.model).all
    return CostEstimate(calls, episodes * tokens_in, calls * answer, None if one is None else calls * one, left_out)


def cost_usd(
    *, base_url: str, model: str, tokens_in: int | None, tokens_out: int | None, tokens_cached: int | None
) -> float | None:
    """US dollars; None, never 0, if the price of the model or the tokens are unknown."""
    if tokens_in is None or tokens_out is None:
        return None
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=tokens_cached or None)
    try:
        return float(calc_price(usage, model_ref=model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None


def _remembered(decisions: int, max_remembered: int) -> int:
    """The remembered decisions of all prompts together: one more each time, then a cycle of the same counts."""
    growing = sum(range(min(decisions, max_remembered + 1)))
    cycle = [remembered_count(max_remembered + 1 + at, max_remembered) for at in range((max_remembered + 1) // 2)]
    rounds, rest = divmod(max(0, decisions - max_remembered - 1), max(1, len(cycle)))
    return growing + rounds * sum(cycle) + sum(cycle[:rest])


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
