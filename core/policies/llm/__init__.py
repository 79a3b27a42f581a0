"""The policy that asks a language model: any server that speaks OpenAI's chat completions."""

from core.policies.llm.client import OpenAIClient
from core.policies.llm.connection_test import ConnectionTest, run_connection_test
from core.policies.llm.endpoint import endpoint_of, key_to_send, keys_for
from core.policies.llm.estimate import CostEstimate, estimate
from core.policies.llm.fields import refused_fields
from core.policies.llm.params import LlmParams
from core.policies.llm.policy import LlmPolicy, check_llm, make_llm
from core.policies.llm.prompt import crafting_hints
from core.policies.llm.redaction import KeyRemover

__all__ = [
    "ConnectionTest",
    "CostEstimate",
    "KeyRemover",
    "LlmParams",
    "LlmPolicy",
    "OpenAIClient",
    "check_llm",
    "crafting_hints",
    "endpoint_of",
    "estimate",
    "key_to_send",
    "keys_for",
    "make_llm",
    "refused_fields",
    "run_connection_test",
]
