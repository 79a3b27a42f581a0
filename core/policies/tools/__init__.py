"""The tool that policies call, and how its calls are read. Every policy's actions go through here.

schema          the tool as servers see it
response        reads a server's whole answer: its message, calls, usage and errors
stream          joins a streamed answer
text_formats    finds calls in the text of an answer, and takes thinking out of it
arguments       reads a call's arguments and decides which actions they mean
errors          tells servers' errors apart, and when to ask again
untrusted       JSON values of unknown type
"""

from core.policies.tools.arguments import RawCall, ReadCall, call_interact, read_tool_call, read_tool_calls
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
