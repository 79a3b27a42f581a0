"""The words by which servers' errors are told apart: codes, types and phrases of messages, in lower case.

Collected from OpenAI, Azure, Groq, OpenRouter, Gemini, DeepSeek, Mistral, Anthropic's compatible endpoint, vLLM,
SGLang, llama.cpp, Ollama, LM Studio and text-generation-inference.
"""

from __future__ import annotations

import re


def _any(*signs: str) -> re.Pattern[str]:
    return re.compile("|".join(signs))


TOOL_USE_FAILED = _any(
    "tool_use_failed",
    "output_parse_failed",
    "failed to call a function",
    "tool call validation failed",
    "failed to parse input at pos",  # llama.cpp's parser, on the model's own text (ggml-org/llama.cpp#23838)
    "malformed_function_call",  # Gemini (googleapis/python-genai#1836)
    "error parsing tool call",  # Ollama sends 500 when its parser fails on the model's own text (ollama/ollama#17638)
)
QUOTA_CODE = _any(
    "insufficient_(?:quota|balance|funds|credits?)",
    r"billing_\w{1,30}",
    "quota_(?:exceeded|exhausted)",
    "payment_required",
    "credits?_exhausted",
    r"^1113\b",  # z.ai and Zhipu: no balance
)
QUOTA = _any(
    "exceeded your current quota",
    "insufficient (?:quota|balance|credits?|funds)",
    "requires more credits",
    "(?:out of|not enough|no) credits",
    "used all available credits",
    "credit balance is too low",
    "billing (?:hard )?limit",
    "check your (?:plan and )?billing",
    "payment required",
    "spend(?:ing)? limit",
    "余额不足",  # Zhipu: insufficient balance
    "key limit exceeded",  # OpenRouter, status 403
    "quota (?:has been )?(?:exhausted|exceeded)",
)
RATE_LIMIT = _any("rate_?limit", "rate limit", "resource_exhausted", "too many requests", r"^1302\b")
THROTTLED = _any("please wait", "slow down", "too many requests", "rate_limit", "rate limit (?:reached|exceeded)")
CONTEXT = _any(
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size",
    "(?:maximum|max|model'?s|available|with|than the|of) context (?:length|size|window|limit)",
    "context (?:length|size|window|limit) (?:is |was )?exceeded",
    r"exceeds? (?:the )?(?:\w{1,20} )?context",
    "context (?:the )?overflows",  # LM Studio
    "model_max_prompt_tokens_exceeded",  # Copilot
    r"exceeds the limit of \d",
    "range of input length",  # DashScope
    "exceeded model token limit",  # Moonshot
    "prompt exceeds max length",  # z.ai
    r"context window exceeds limit",  # MiniMax
    "maximum prompt length",  # xAI
    "maximum model length",
    "max_(?:model|seq)_len",
    "(?:prompt|input|request|messages?) (?:is|are|was) too (?:long|large)",
    "too many (?:input )?tokens",
    "reduce the length of",
    "reduce your message size",
    "exceeds the maximum (?:number of tokens|allowed length|input length|prompt length)",
    "longer than the (?:maximum )?model",
    r"too large for model with \d{1,9} maximum",
    "inputs`? (?:tokens|must have less than)",
)
CONTENT_FILTER = _any(
    "content_filter",
    "content_policy_violation",
    "content management policy",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "(?:input_)?moderation_blocked",
    "prompt_blocked",
    "safety system",
    r"violat\w{1,5} (?:our |the )?(?:usage |content )?polic",
    "was flagged",
    "inappropriate content",
)
AUTH = _any(
    "(?:invalid|incorrect|missing)[ _]api[ _]key",
    "api_key_invalid",
    "api key not valid",
    "no auth credentials",
    "authentication[ _](?:error|fail)",
    "unauthorized",
)
MODEL = _any(
    r"model_not_(?:found|available)",
    "model_decommissioned",
    "invalid_model",
    "unknown[_ ]model",
    "deploymentnotfound",
    "deployment for this resource does not exist",
    "no such model",
    "(?:not a valid|invalid) model",
    r"model (?:not found|not exist|\S{1,200} (?:was |is )?not found|\S{1,200} does not exist)",
    r"model \S{1,200} (?:is )?not (?:available|loaded)",
    r"model \S{1,200} has been (?:decommissioned|deprecated|retired)",
    r"models/\S{1,200} is not found",
    r"no endpoints found for \S{1,200}/",
    "does not have access to model",
    "^model: ",
    "try pulling it",
    "no models? loaded",
)
NOT_FOUND = _any("not_?found")
NO_TOOLS = _any("no endpoints found that support tool use")  # OpenRouter, status 404
BAD_REQUEST = _any("invalid_request", "context_length", "bad_?request", "invalid_argument")
TIMEOUT = _any("timeout", "timed out", "deadline[_ ]exceeded")
