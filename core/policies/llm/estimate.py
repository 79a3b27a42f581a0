"""What a launch will come to, before anything is asked: rough, from lengths of text, and said to be so."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.errors import InvalidConfig
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.params import LlmParams
from core.policies.llm.prices import cost_usd
from core.policies.llm.prompt import default_system_prompt
from core.policies.tools import tool_schema

CHARACTERS_A_TOKEN = 4
OBSERVATION_CHARACTERS = 1_040  # of `as_text` with the usual view; a test measures it
PICTURE_TOKENS = 300
ANSWER_TOKENS = 80  # five actions and a sentence of reasoning; thinking comes on top
_RESULT_TOKENS = 40  # what a remembered decision is told of its outcome


@dataclass(frozen=True, slots=True)
class Estimate:
    """calls: at most, unless answers are asked for again. tokens_*, cost_usd: about, if all of these calls are made.

    cost_usd is None where no price is known.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.tokens_in + self.tokens_out


def estimate(params: LlmParams, *, episodes: int, decisions: int, max_actions: int) -> Estimate:
    """What `episodes` of at most `decisions` decisions each come to."""
    text = params.system_prompt or default_system_prompt(max_actions)
    always = _tokens(len(text) + len(json.dumps(tool_schema(max_actions))))
    observation = _tokens(OBSERVATION_CHARACTERS)
    now = (observation if params.observe != "picture" else 0) + (PICTURE_TOKENS if params.observe != "text" else 0)
    answer = min(ANSWER_TOKENS, params.max_tokens)
    # The first calls remember less than `history` decisions: 0, 1, 2, ...
    ramp = min(params.history, decisions)
    remembered = ramp * (ramp - 1) // 2 + (decisions - ramp) * params.history
    tokens_in = decisions * (always + now) + remembered * (observation + answer + _RESULT_TOKENS)
    calls = episodes * decisions
    return Estimate(calls, episodes * tokens_in, calls * answer, _cost(params, calls, tokens_in / decisions, answer))


def _cost(params: LlmParams, calls: int, tokens_in: float, tokens_out: int) -> float | None:
    """Of as many calls of the mean length: prices may depend on how long a single prompt is."""
    try:
        base_url = endpoint_of(params.base_url).base_url
    except InvalidConfig:
        return None
    one = cost_usd(
        base_url=base_url, model=params.model, tokens_in=round(tokens_in), tokens_out=tokens_out, tokens_cached=None
    )
    return None if one is None else calls * one


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
