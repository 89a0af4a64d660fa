"""One tree of errors out of what providers and SDKs report."""

# ruff: noqa: E501 - tables of wire data, one case a line
from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest

from clew import errors
from clew.providers import _errors
from clew.providers._retry import LONGEST_WAIT, pause


@pytest.mark.parametrize(("status", "body", "name"), [
    (400, '{"error": {"message": "bad", "code": "context_length_exceeded"}}', "ContextOverflowError"),
    (400, '{"error":{"code":400,"message":"request (6031 tokens) exceeds the available context size (4096 tokens)"}}', "ContextOverflowError"),
    (413, '{"error": {"message": "input is too long for requested model"}}', "ContextOverflowError"),
    (400, '{"error": {"message": "x", "code": "content_filter"}}', "ModelContentFilterError"),
    (400, '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}', "ModelQuotaError"),
    (402, '{"error": {"message": "Insufficient Balance"}}', "ModelQuotaError"),
    (400, '{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}', "ModelAuthenticationError"),
    (408, "{}", "ModelTimeoutError"),
    (409, '{"error": {"message": "conflict"}}', "ModelInvalidRequestError"),
    (422, '{"detail": "no"}', "ModelInvalidRequestError"),
    (429, '{"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}', "ModelRateLimitError"),
    (429, '{"error": {"message": "slow", "code": "insufficient_quota"}}', "ModelQuotaError"),
    (502, "<html>bad gateway</html>", "ModelAPIError"),
    (504, "", "ModelAPIError"),
    (529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "ModelOverloadedError"),
    (None, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "ModelOverloadedError"),
    (None, '{"error": "model runner crashed"}', "ModelAPIError"),
])  # fmt: skip
def test_replies_have_their_class(status: int | None, body: str, name: str) -> None:
    error = _errors.from_reply("openai", status, body)
    assert type(error).__name__ == name and error.provider == "openai" and error.status_code == status


def test_the_message_says_what_the_provider_said() -> None:
    for body in (
        '{"error": {"message": "why 7"}}',
        '{"error": "why 7"}',
        '{"message": "why 7"}',
        '[{"error": {"message": "why 7"}}]',
        "why 7",
    ):
        assert "why 7" in str(_errors.from_reply("x", 400, body))


@pytest.mark.parametrize(("headers", "seconds"), [
    ({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250", "retry-after": "7"}, 0.25), ({"retry-after": "soon"}, None),
    ({"retry-after": "-3"}, 0.0), ({}, None),
])  # fmt: skip
def test_waits_are_read_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert _errors.retry_after(headers) == seconds


def test_a_date_to_wait_for_is_seconds_from_now() -> None:
    found = _errors.retry_after({"retry-after": email.utils.formatdate(time.time() + 30, usegmt=True)})
    assert found is not None and 25 < found <= 31


def test_other_exceptions_are_not_ours() -> None:
    assert _errors.wrap(TypeError("bug"), "x") is None and _errors.wrap(KeyError("bug"), "x") is None


def test_connection_errors_of_any_client_are_found() -> None:
    class TransportError(Exception): ...

    class ReadTimeout(TransportError): ...

    class TimeoutException(TransportError): ...

    assert isinstance(_errors.wrap(TransportError("x"), "p"), errors.ModelConnectionError)
    assert isinstance(_errors.wrap(ConnectionRefusedError("x"), "p"), errors.ModelConnectionError)
    assert isinstance(_errors.wrap(TimeoutException("x"), "p"), errors.ModelTimeoutError)
    assert isinstance(_errors.wrap(TimeoutError("x"), "p"), errors.ModelTimeoutError)


def failing(**kw: Any) -> errors.ModelError:
    return errors.ModelRateLimitError("x", **kw)


def test_waits_double_up_to_eight_seconds_and_end() -> None:
    waits = [pause(failing(), attempt, 9) for attempt in range(1, 10)]
    for wait, most in zip(waits, (0.5, 1, 2, 4, 8, 8, 8, 8, 8), strict=True):
        assert wait is not None and 0.75 * most <= wait <= most
    assert pause(failing(), 10, 9) is None


def test_the_providers_word_goes_first_unless_it_is_too_long() -> None:
    assert pause(failing(retry_after=3.5), 1, 2) == 3.5
    assert pause(failing(retry_after=LONGEST_WAIT + 1), 1, 2) is None
    assert pause(errors.ModelInvalidRequestError("x", retry_after=1.0), 1, 2) is None
    assert pause(errors.ModelQuotaError("x"), 1, 2) is None
