"""Turn what providers and their SDKs report into one tree of errors.

`from_reply` reads a status, headers and body; `wrap` reads an exception by its shape, so that no SDK is imported
here. What is not a provider's doing (a TypeError in our code, say) is None and passes unchanged.
"""

from __future__ import annotations

import email.utils
import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from clew import errors
from clew.providers._json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

_OVERFLOW = re.compile(
    r"context.?(length|window|size)|maximum context|max context|prompt (is )?too long|too_many_prompt_tokens|"
    r"input token count|exceeds the (maximum|available|model's maximum)[^.]* (tokens|context)|"
    r"total length of all messages is too long|reduce the length|input is too long",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content.?filter|content management policy|ResponsibleAIPolicy|content_policy", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_(quota|balance|credits)|exceeded your current quota|credit balance|insufficient balance|billing|"
    r"out of credits|payment required",
    re.IGNORECASE,
)
_KEY = re.compile(r"(incorrect|invalid|missing|wrong) api.?key|api key not valid|api_key_invalid", re.IGNORECASE)
_NO_MODEL = re.compile(r"model_not_found|model .*(not found|does not exist)", re.IGNORECASE)
_DURATION = re.compile(r'"retryDelay":\s*"([\d.]+)s"')

_BY_STATUS: dict[int, type[errors.ModelError]] = {
    401: errors.ModelAuthenticationError,
    402: errors.ModelQuotaError,
    403: errors.ModelPermissionDeniedError,
    404: errors.ModelNotFoundError,
    408: errors.ModelTimeoutError,
    429: errors.ModelRateLimitError,
    503: errors.ModelOverloadedError,
    529: errors.ModelOverloadedError,
}
_BY_KIND: dict[str, type[errors.ModelError]] = {
    "authentication_error": errors.ModelAuthenticationError,
    "permission_error": errors.ModelPermissionDeniedError,
    "not_found_error": errors.ModelNotFoundError,
    "rate_limit_error": errors.ModelRateLimitError,
    "rate_limit_exceeded": errors.ModelRateLimitError,
    "billing_error": errors.ModelQuotaError,
    "overloaded_error": errors.ModelOverloadedError,
    "server_error": errors.ModelAPIError,
    "api_error": errors.ModelAPIError,
    "timeout_error": errors.ModelTimeoutError,
}


def from_reply(
    provider: str, status: int | None, body: bytes | str | Any, headers: Mapping[str, str] | None = None
) -> errors.ModelError:
    """Return the error that a reply means.

    status: HTTP status, or None for an error inside a stream. body: bytes, text or the decoded JSON of the reply.
    """
    message, kind, text = _read(body)
    if status is None or status == 200:
        status = None
    label = f"{provider}: {message}" + (f" (HTTP {status})" if status else "")
    return _class_of(provider, status, kind, text)(
        label, provider=provider, status_code=status, retry_after=retry_after(headers or {}, text)
    )


def _read(body: bytes | str | Any) -> tuple[str, str, str]:
    """Return (message, the provider's own code or type, the whole as text)."""
    text = body.decode(errors="replace") if isinstance(body, bytes) else body
    value: Any = text
    if isinstance(text, str):
        try:
            value = msgspec.json.decode(text.encode())
        except msgspec.DecodeError:
            return text.strip()[:2000] or "no reason given", "", text
    else:
        text = msgspec.json.encode(value).decode()
    if is_array(value) and value:
        value = value[0]
    inner = value.get("error", value) if is_object(value) else value
    if isinstance(inner, str):
        return inner, str(value.get("code", "")) if is_object(value) else "", text
    if not is_object(inner):
        return text[:2000], "", text
    message = inner.get("message") or inner.get("detail") or text[:2000]
    kinds = (inner.get("code"), inner.get("type"), inner.get("status"))
    kind = next((k for k in kinds if isinstance(k, str) and k in _BY_KIND), "")
    kind = kind or next((k for k in kinds if isinstance(k, str) and k and not k.isdigit()), "")
    return str(message), kind, text


def _class_of(provider: str, status: int | None, kind: str, text: str) -> type[errors.ModelError]:
    if status is None or 400 <= status < 500:
        if status in (None, 400, 402, 403, 413, 422, 429) and (found := _finer(provider, status, text)):
            return found
        if status in (None, 400) and kind in _BY_KIND:
            return _BY_KIND[kind]
    if status is None:
        return (
            errors.ModelInvalidRequestError if "invalid" in kind or '"status_code":4' in text else errors.ModelAPIError
        )
    if status >= 500:
        return (
            errors.ModelOverloadedError if kind == "overloaded_error" else _BY_STATUS.get(status, errors.ModelAPIError)
        )
    return _BY_STATUS.get(status, errors.ModelInvalidRequestError)


def _finer(provider: str, status: int | None, text: str) -> type[errors.ModelError] | None:
    if status == 429 or (_QUOTA.search(text) and not _OVERFLOW.search(text)):
        # Google words its per-minute limits as a quota too, with the time to wait
        lasting = "PerDay" in text if provider == "google" else True
        return errors.ModelQuotaError if _QUOTA.search(text) and lasting and not _DURATION.search(text) else None
    for pattern, cls in (
        (_FILTER, errors.ModelContentFilterError),
        (_OVERFLOW, errors.ContextOverflowError),
        (_KEY, errors.ModelAuthenticationError),
        (_NO_MODEL, errors.ModelNotFoundError),
    ):
        if status != 403 and pattern.search(text):
            return cls
    return None


def retry_after(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return the seconds to wait that a reply asks for, or None.

    Reads `retry-after-ms`, `Retry-After` (seconds or a date) and Google's RetryInfo in the body.
    """
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(ms) / 1000)
        if (value := headers.get("retry-after")) is not None:
            return max(0.0, float(value))
    except ValueError:
        when = email.utils.parsedate_tz(headers.get("retry-after", ""))
        if when is not None:
            return max(0.0, email.utils.mktime_tz(when) - time.time())
    match = _DURATION.search(text)
    return float(match.group(1)) if match else None


_TIMEOUTS = {"APITimeoutError", "TimeoutException", "TimeoutError"}
_CONNECTIONS = {"APIConnectionError", "TransportError", "StreamError", "ConnectionError", "OSError", "ClientError"}


def wrap(error: BaseException, provider: str) -> errors.ModelError | None:
    """Return the ModelError that an exception of an SDK or its HTTP client means; None when it means none of ours."""
    if isinstance(error, errors.ModelError):
        return error
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    if not isinstance(status, int) or status < 0:
        status = getattr(error, "code", None)
    names = {cls.__name__ for cls in type(error).__mro__}
    if (
        isinstance(status, int)
        and not isinstance(error, OSError)
        and names & {"APIError", "APIStatusError", "ResponseError"}
    ):
        body = _body_of(error, response)
        return from_reply(provider, status, body, getattr(response, "headers", None))
    if names & _TIMEOUTS:
        return errors.ModelTimeoutError(f"{provider}: no answer in time ({_say(error)})", provider=provider)
    if names & _CONNECTIONS:
        return errors.ModelConnectionError(f"{provider}: {_say(error)}", provider=provider)
    if names & {"APIError", "ResponseError"}:
        body = getattr(error, "body", None) or {"error": {"message": str(error)}}
        return from_reply(provider, None, body)
    return None


def _body_of(error: BaseException, response: Any) -> Any:
    places = ((error, "details"), (error, "body"), (response, "text"), (error, "error"))
    values: list[Any] = [getattr(holder, name, None) for holder, name in places]
    found: list[Any] = [v for v in values if v and isinstance(v, str | bytes | dict | list)]
    return found[0] if found else str(error)


def _say(error: BaseException) -> str:
    cause = error.__cause__
    text = str(error) or type(error).__name__
    return f"{text} {type(cause).__name__}: {cause}".strip() if cause is not None and str(cause) not in text else text


def cut(provider: str, message: str = "the stream ended before the answer did") -> errors.ModelConnectionError:
    """Return the error for a stream that stopped in the middle."""
    return errors.ModelConnectionError(f"{provider}: {message}", provider=provider)


def cannot_carry(wire: str, what: str, instead: str = "") -> errors.ModelInvalidRequestError:
    """Return the error for content that a wire has no place for; nothing was sent."""
    hint = f"; {instead}" if instead else ""
    return errors.ModelInvalidRequestError(f"{wire} can't carry {what}{hint}", provider=wire.split()[0])
