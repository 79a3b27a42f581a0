"""The policy that asks a language model: any server that speaks OpenAI's chat completions."""

from core.policies.llm.estimate import Estimate, estimate
from core.policies.llm.params import LlmParams
from core.policies.llm.policy import LlmPolicy, check_llm, make_llm, refused_fields
from core.policies.llm.trial import Trial, try_connection

__all__ = [
    "Estimate",
    "LlmParams",
    "LlmPolicy",
    "Trial",
    "check_llm",
    "estimate",
    "make_llm",
    "refused_fields",
    "try_connection",
]
