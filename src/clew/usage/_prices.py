"""What an answer costs, in US dollars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from clew.messages.ai import UsageMetadata

Prices: TypeAlias = Mapping[str, Mapping[str, float]]
"""Model name -> dollars per million tokens: "input", "output", and where they differ "cache_read", "cache_creation",
"reasoning"."""


def cost_of(
    model: str, usage: UsageMetadata | Mapping[str, Any], *, prices: Prices | None = None, provider: str | None = None
) -> float | None:
    """Return the price of one answer in dollars, or None when the model's price is not known: nothing is guessed.

    prices: your own table; names match exactly, or as the longest prefix ("gpt-4o" serves "gpt-4o-2024-08-06"). Without
    one, the table of the package `genai-prices` (extra `prices`) is used, as installed: nothing is fetched.
    provider: "openai", "anthropic", …, for names that several providers have.
    Raises: MissingDependencyError when neither is there.
    """
    said: Any = usage.get("total_cost")
    if said is not None:
        return float(said)
    if prices is not None:
        return _by_table(model, usage, prices)
    return _by_package(model, usage, provider)


def _by_table(model: str, usage: Mapping[str, Any], prices: Prices) -> float | None:
    row = prices.get(model)
    if row is None:
        prefix = max((name for name in prices if model.startswith(name + "-")), key=len, default=None)
        if prefix is None:
            return None
        row = prices[prefix]
    total = 0.0
    for side, details in (("input", "input_token_details"), ("output", "output_token_details")):
        plain = usage.get(f"{side}_tokens") or 0
        parts: dict[str, Any] = usage.get(details) or {}
        for kind, tokens in parts.items():
            if kind in row and isinstance(tokens, int):
                total += tokens * row[kind]
                plain -= tokens
        total += max(plain, 0) * row[side]
    return total / 1e6


def _by_package(model: str, usage: Mapping[str, Any], provider: str | None) -> float | None:
    from clew._lazy import need

    package = need("genai_prices", "prices", "the price of a call (or give prices=)")
    into: dict[str, Any] = usage.get("input_token_details") or {}
    out: dict[str, Any] = usage.get("output_token_details") or {}
    counts = {
        "input_tokens": usage.get("input_tokens") or 0,
        "output_tokens": usage.get("output_tokens") or 0,
        "cache_read_tokens": into.get("cache_read"),
        "cache_write_tokens": into.get("cache_creation"),
        "input_audio_tokens": into.get("audio"),
        "output_audio_tokens": out.get("audio"),
    }
    try:
        price = package.calc_price(
            package.Usage(**{name: count for name, count in counts.items() if count}),
            model_ref=model,
            provider_id=provider,
        )
    except LookupError:
        return None
    return float(price.total_price)
