"""The policy that asks a language model: any server that speaks OpenAI's chat completions."""

from core.policies.llm.params import LlmParams
from core.policies.llm.policy import LlmPolicy, check_llm, make_llm

__all__ = ["LlmParams", "LlmPolicy", "check_llm", "make_llm"]
