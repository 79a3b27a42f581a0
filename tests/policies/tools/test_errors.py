"""Which error a server sent, and when to ask again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from core.policies.tools import ParsedResponse, parse_response
from tests.support.model.answers import CALL, answered

GOOD = '{"actions": ["move_up", "do"]}'
PYTHON = "default_api.interact(actions=['move_up', 'do'])"


def parsed(body: Any, *, status: Any, headers: Any = None) -> ParsedResponse:
    return parse_response({"status": status, "headers": headers, "body": body})


def failed(status: int, message: str, code: Any = None, **rest: Any) -> ParsedResponse:
    return parsed({"error": {"message": message, "code": code, **rest}}, status=status)


ERRORS: list[tuple[str, int, dict[str, Any]]] = [
    ("rate_limited", 429, {"code": "rate_limit_exceeded", "message": "Rate limit reached for model `x` on tokens per"
     " day. Try again in 7m12s. Need more tokens? Visit https://console.groq.com/settings/billing"}),
    ("quota_exhausted", 429, {"code": "insufficient_quota", "message": "You exceeded your current quota, please check"
     " your plan and billing details."}),
    ("rate_limited", 429, {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota,"
     " please check your plan and billing details. Please retry in 34.5s."}),
    ("rate_limited", 429, {"message": "Provider returned error", "metadata": {"raw": "is rate-limited upstream"}}),
    ("quota_exhausted", 402, {"message": "Insufficient Balance", "code": "invalid_request_error"}),
    ("quota_exhausted", 402, {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}),
    ("quota_exhausted", 403, {"message": "Key limit exceeded (monthly limit).", "code": 403}),
    ("quota_exhausted", 400, {"message": "Your credit balance is too low to access the API."}),
    ("auth", 401, {"message": "Incorrect API key provided: sk-abc***xyz.", "code": "invalid_api_key"}),
    ("auth", 403, {"message": "Not here", "code": "unsupported_country_region_territory"}),
    ("auth", 400, {"message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}),
    ("not_found", 404, {"message": "File Not Found", "code": 404, "type": "not_found_error"}),
    ("model_not_found", 404, {"message": "The model `x` does not exist", "code": "model_not_found"}),
    ("model_not_found", 404, {"message": 'model "x" not found, try pulling it first', "type": "api_error"}),
    ("model_not_found", 404, {"message": "model: x", "type": "not_found_error"}),
    ("model_not_found", 404, {"message": "No endpoints found for acme/x.", "code": 404}),
    ("model_not_found", 400, {"message": "acme/x is not a valid model ID", "code": 400}),
    ("model_not_found", 400, {"message": "Model Not Exist", "code": "invalid_request_error"}),
    ("model_not_found", 403, {"message": "Project has no access to it", "code": "model_not_found"}),
    ("model_not_found", 400, {"message": "It is gone.", "code": "model_decommissioned"}),
    ("context_overflow", 400, {"message": "Too much.", "code": "context_length_exceeded"}),
    ("context_overflow", 400, {"message": "This model's maximum context length is 8192 tokens."}),
    ("context_overflow", 400, {"message": "x", "code": 400, "type": "exceed_context_size_error"}),
    ("context_overflow", 500, {"message": "the request exceeds the available context size", "code": 500}),
    ("context_overflow", 400, {"message": "Please reduce the length of the messages or completion."}),
    ("context_overflow", 400, {"message": "The decoder prompt is longer than the maximum model length of 8."}),
    ("context_overflow", 400, {"message": "The input (9 tokens) is longer than the model's context length (8)."}),
    ("context_overflow", 400, {"message": "Trying to keep the first 15857 tokens when context the overflows."}),
    ("context_overflow", 413, {"message": "Request too large for model `x`", "code": "rate_limit_exceeded"}),
    ("context_overflow", 400, {"message": "请求超过最大长度", "code": "1261"}),
    ("context_overflow", 400, {"message": "invalid params, context window exceeds limit (2013)"}),
    ("context_overflow", 400, {"message": "This model's maximum prompt length is 131072 but the request contains 1."}),
    ("context_overflow", 400, {"message": "prompt token count of 70000 exceeds the limit of 64000"}),
    ("rate_limited", 400, {"message": "Too many tokens, please wait before trying again."}),
    ("rate_limited", 429, {"message": "您的账户已达到速率限制", "code": "1302"}),
    ("rate_limited", 429, {"message": "rate limit exceeded(RPM) (1002)"}),
    ("quota_exhausted", 429, {"message": "余额不足", "code": "1113"}),
    ("quota_exhausted", 429, {"message": "insufficient balance (1008)", "type": "insufficient_balance_error"}),
    ("quota_exhausted", 403, {"message": "Your team has used all available credits or reached its spending limit."}),
    ("quota_exhausted", 400, {"message": "Access denied, please check your account.", "code": "Arrearage"}),
    ("quota_exhausted", 429, {"message": "Your account is suspended", "type": "exceeded_current_quota_error"}),
    ("quota_exhausted", 402, {"message": "You have no quota", "code": "quota_exceeded"}),
    ("model_not_found", 400, {"message": "The requested model is not supported.", "code": "model_not_supported"}),
    ("provider_error", 404, {"message": "No endpoints found that support tool use. To learn more, visit: https://x"}),
    ("provider_error", 400, {"message": '"auto" tool choice requires --enable-auto-tool-choice to be set'}),
    ("content_filter", 400, {"message": "The response was filtered", "code": "content_filter"}),
    ("content_filter", 403, {"message": "No.", "code": 403, "metadata": {"flagged_input": "x"}}),
    ("tool_use_failed", 400, {"message": "Model output was not a usable call.", "code": "tool_use_failed"}),
    ("tool_use_failed", 500, {"message": "error parsing tool call: raw='{', err=unexpected end"}),
    ("tool_use_failed", 500, {"message": "failed to parse JSON: unexpected end of JSON input"}),
    ("tool_use_failed", 500, {"message": "XML syntax error on line 8: element <function> closed by </parameter>"}),
    ("tool_use_failed", 500, {"message": "expected element type <function> but have <parameter>"}),
    ("provider_error", 400, {"message": "Unsupported parameter: 'max_tokens'", "code": "unsupported_parameter"}),
    ("provider_error", 400, {"message": "The model `x` does not support tool calling."}),
    ("timeout", 408, {"message": "Request timed out."}),
    ("timeout", 504, {"message": "Gateway"}),
    ("provider_error", 500, {"message": "The server had an error", "type": "server_error"}),
    ("provider_error", 503, {"message": "Loading model", "code": 503, "type": "unavailable_error"}),
    ("provider_error", 529, {"message": "Overloaded", "type": "overloaded_error"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "status", "error"), ERRORS)
def test_an_error_is_classified_by_its_code_status_or_message(kind: str, status: int, error: dict[str, Any]):
    read = parsed({"error": error}, status=status)
    assert (read.error_kind, read.actions) == (kind, ())
    assert read.error_detail[0].isupper()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, "404 page not found", "not_found"),
        (404, {"detail": "Not Found"}, "not_found"),
        (404, {"error": "model 'x' not found"}, "model_not_found"),
        (
            404,
            {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError"},
            "model_not_found",
        ),
        (405, {"detail": "Method Not Allowed"}, "not_found"),
        (429, "", "rate_limited"),
        (401, None, "auth"),
        (502, "<html>Bad Gateway</html>", "provider_error"),
        (524, "<html>A timeout occurred</html>", "timeout"),
        (400, {"error": "The number of tokens to keep is greater than the context length"}, "context_overflow"),
        (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}], "auth"),
        (301, "", "provider_error"),
        (None, None, "connection"),
        (0, None, "connection"),
        ("503", "busy", "provider_error"),
    ],
)
def test_an_error_without_the_usual_object_is_classified(status: Any, body: Any, kind: str):
    assert parsed(body, status=status).error_kind == kind


def test_a_rejected_request_is_not_reported_as_a_server_failure():
    assert "does not take the request" in failed(400, "gemma does not support tools").error_detail
    assert "The server failed" in failed(500, "timed out waiting for the runner").error_detail


def test_the_message_of_a_server_is_shown_without_keys():
    assert '"Check the API key settings"' in failed(503, "Check the  API key settings").error_detail
    assert "sk-" not in failed(401, "Incorrect API key provided: sk-abc***xyz.").error_detail
    leaked = failed(500, "upstream said: key sk-proj-1234567890abcdef is bad, so is gsk_abcdefgh1234").error_detail
    assert "1234" not in leaked
    assert "a1b2" not in failed(500, "subscription " + "a1b2" * 8).error_detail
    assert "upstream said" in leaked


@pytest.mark.parametrize(
    "read",
    [
        failed(400, "x", "tool_use_failed", failed_generation=f"<function=interact>{GOOD}</function>"),  # Groq
        failed(500, f"Failed to parse input at pos 395: <tool_call>{CALL}</tool_call>"),  # llama.cpp
        failed(500, f"error parsing tool call: raw='{GOOD}]', err=invalid character ']' after top-level value"),
        failed(500, f"error parsing tool call: raw='{CALL}', err=unknown"),
        answered(f"Malformed function call: print({PYTHON})", finish="MALFORMED_FUNCTION_CALL"),
        answered(f"print({PYTHON})", finish="function_call_filter: MALFORMED_FUNCTION_CALL"),
    ],
)
def test_a_complete_call_that_the_server_could_not_read_is_executed(read: ParsedResponse):
    assert (read.actions, read.error_kind, read.warning) == (("move_up", "do"), None, "tool_use_failed")


def test_a_cut_call_in_the_error_of_a_parser_is_not_completed():
    for message in ("error parsing tool call: raw='{0}', err=unexpected end", "Failed to parse input at pos 9: {0}"):
        read = failed(500, message.replace("{0}", GOOD[:-8]))
        assert (read.actions, read.error_kind) == ((), "tool_use_failed")


@pytest.mark.parametrize(
    "text", ["", None, "I walk.", '<function=interact>{"actions": ["mo', f"<function=fly>{GOOD}</function>"]
)
def test_a_cut_or_unknown_failed_generation_is_an_error(text: Any):
    read = failed(400, "Failed to call a function.", "tool_use_failed", failed_generation=text)
    assert (read.actions, read.error_kind) == ((), "tool_use_failed")


def test_a_redirect_names_its_target_without_a_key():
    read = parsed("", status=307, headers={"Location": "https://user:pw@host.example/v1?key=abc#top"})
    assert read.error_kind == "provider_error"
    assert "It redirects to https://host.example/v1" in read.error_detail
    assert "pw" not in read.error_detail and "abc" not in read.error_detail


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"RETRY-AFTER": 3}, 3.0),
        ({"retry-after-ms": "350", "retry-after": "1"}, 0.35),
        ({"retry-after": "1.5s"}, 1.5),
        ({"retry-after": ["4"]}, 4.0),
        ({"retry-after": format_datetime(NOW, usegmt=True), "date": format_datetime(NOW - timedelta(seconds=9))}, 9.0),
        ({"retry-after": format_datetime(NOW - timedelta(days=900), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e999"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_wait_of_a_retry_after_header(headers: Any, seconds: float | None):
    assert parsed({"error": {"message": "slow"}}, status=429, headers=headers).retry_after_s == seconds


def test_a_date_counts_from_now_if_the_server_sends_no_date_of_its_own():
    headers = {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)}
    waited = parsed("", status=503, headers=headers).retry_after_s
    assert waited is not None
    assert 50 < waited <= 60


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.2s.", 1.2),
        ("Please try again in 350ms. Visit", 0.35),
        ("Please try again in 7m12.5s.", 432.5),
        ("Please try again in 1h2m3s", 3723.0),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Retry after 5 seconds", 5.0),
        ("try again in a moment", None),
    ],
)
def test_the_wait_in_a_message(message: str, seconds: float | None):
    read = failed(429, message)
    assert read.retry_after_s == (None if seconds is None else pytest.approx(seconds))


def test_the_wait_in_a_field_of_the_error():
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
    assert failed(429, "quota", details=[info]).retry_after_s == 34.0
    assert failed(429, "slow", metadata={"headers": {"Retry-After": "2"}}).retry_after_s == 2.0
    assert failed(429, "slow", retry_after=1.5).retry_after_s == 1.5
