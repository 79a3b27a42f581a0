"""The tool that policies call, and how its calls are read. Every policy's actions go through here.

schema      the tool as a server is told about it
calls       one call's arguments, several calls (with actions and literals)
text        calls left in the text of an answer (with thinking, dialects, plain and objects)
response    a server's whole answer (with message, stream, failures and retry_after)
"""

from core.policies.tools.calls import RawCall, ReadCall, call_interact, read_tool_call, read_tool_calls
from core.policies.tools.response import ParsedResponse, Usage, assistant_message, ended_by_a_limit, parse_response
from core.policies.tools.schema import TOOL_NAME, tool_schema

__all__ = [
    "TOOL_NAME",
    "ParsedResponse",
    "RawCall",
    "ReadCall",
    "Usage",
    "assistant_message",
    "call_interact",
    "ended_by_a_limit",
    "parse_response",
    "read_tool_call",
    "read_tool_calls",
    "tool_schema",
]
