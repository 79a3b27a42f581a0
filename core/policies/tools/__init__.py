"""The tool that policies call, and how its calls are read. Every policy's actions go through here.

calls           the tool, and what a call of it means
response        reads a server's whole answer: its message, calls, usage and errors
stream          joins a streamed answer
text_calls      finds thinking and calls in the text of an answer
families        the marks of each family of models: add a model family here
errors          tells servers' errors apart, and when to ask again
values          JSON and Python values of unknown type
"""

from core.policies.tools.calls import TOOL_NAME, RawCall, call_interact, read_tool_call, read_tool_calls, tool_schema
from core.policies.tools.response import ParsedResponse, Usage, assistant_message, ended_by_a_limit, parse_response

__all__ = [
    "TOOL_NAME",
    "ParsedResponse",
    "RawCall",
    "Usage",
    "assistant_message",
    "call_interact",
    "ended_by_a_limit",
    "parse_response",
    "read_tool_call",
    "read_tool_calls",
    "tool_schema",
]
