"""What calls cost: token counts before the call, usage and prices after it, budgets around it."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.callbacks._usage import UsageMetadataCallbackHandler, get_usage_metadata_callback
    from clew.usage._budget import Budget
    from clew.usage._estimate import estimate_tokens
    from clew.usage._prices import Prices, cost_of
    from clew.usage._tokens import TokenCount, Tokenizer, count_tokens, register_tokenizer, tokenizer_for

__all__ = [
    "Budget",
    "Prices",
    "TokenCount",
    "Tokenizer",
    "UsageMetadataCallbackHandler",
    "cost_of",
    "count_tokens",
    "estimate_tokens",
    "get_usage_metadata_callback",
    "register_tokenizer",
    "tokenizer_for",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "Budget": "._budget",
        "Prices": "._prices",
        "TokenCount": "._tokens",
        "Tokenizer": "._tokens",
        "UsageMetadataCallbackHandler": "clew.callbacks._usage",
        "cost_of": "._prices",
        "count_tokens": "._tokens",
        "estimate_tokens": "._estimate",
        "get_usage_metadata_callback": "clew.callbacks._usage",
        "register_tokenizer": "._tokens",
        "tokenizer_for": "._tokens",
    },
)
