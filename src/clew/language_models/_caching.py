"""What a chat model asks a cache for, and what it makes of the reply.

The key is the whole request: the messages without what differs between equal conversations (ids, usage), and the model
with all parameters. Hits are free: their usage says `total_cost: 0`.
"""

from __future__ import annotations

from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clew import globals as _globals
from clew.caches._base import BaseCache, takes_compact_prompts
from clew.language_models._input import USUAL
from clew.language_models._params import canonical, params_text
from clew.language_models._turn import LC_ID_PREFIX
from clew.messages.ai import AIMessage
from clew.messages.base import BaseMessage
from clew.outputs import ChatGeneration, ChatResult, Generation

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_id: Any = attrgetter("id")
_encode = msgspec.msgpack.Encoder(enc_hook=lambda value: repr(canonical(value))).encode
_copy: Any = cast("Any", BaseMessage).__copy__


def resolve_cache(cache: BaseCache | bool | None) -> BaseCache | None:
    """Return the cache that a model with this `cache` field uses, or None.

    Raises: ValueError for True without a global cache.
    """
    if cache is None:
        return _globals.llm_cache
    if cache is False:
        return None
    if isinstance(cache, BaseCache):
        return cache
    shared = _globals.llm_cache
    if shared is None:
        raise ValueError("cache=True needs a global cache: call clew.globals.set_llm_cache(...), or give the model one")
    return shared


def prompt_key(cache: BaseCache, messages: Sequence[BaseMessage]) -> str:
    """Return the prompt under which a cache keeps the answer to these messages."""
    if takes_compact_prompts(cache):
        try:
            return _hashed(messages)
        except Exception:
            pass  # a message or value that msgspec does not know: the documented form
    from clew.load import dumps

    text = dumps([_bare(message) for message in messages])
    # an object that can't be written down is there by its repr, perhaps its address: no hit is better than a wrong one
    return text if '"not_implemented"' not in text else params_text({"prompt": text, "never": object()})


def _hashed(messages: Sequence[BaseMessage]) -> str:
    """Return a text that is the same for equal messages, ids and usage aside, and differs for others."""
    from hashlib import sha256

    has_ids = any(map(_id, messages))
    text = _encode([_bare(message) for message in messages] if has_ids else messages)
    if not has_ids and b"usage_metadata" in text:
        text = _encode([_bare(message) for message in messages])
    return sha256(text).hexdigest()


def _bare(message: BaseMessage) -> BaseMessage:
    if type(message) in USUAL:
        message = _copy(message)
    elif message.id is not None:
        message = message.model_copy()
    if type(message) is AIMessage:
        message.usage_metadata = None
    if message.id is not None:
        message.id = None
    return message


def readable(row: Any) -> list[ChatGeneration] | None:
    """Return the chat generations of a row, or None if it is no hit: only a list of generations is one."""
    if not isinstance(row, list) or not row:
        return None
    found: list[ChatGeneration] = []
    for each in row:  # pyright: ignore[reportUnknownVariableType] - checked here
        if isinstance(each, ChatGeneration):
            found.append(each)
        elif isinstance(each, Generation):
            found.append(ChatGeneration(message=AIMessage(each.text), generation_info=each.generation_info))
        else:
            _warn(each)
            return None
    return found


def _warn(row: Any) -> None:
    import logging

    logging.getLogger("clew.caches").warning("an unreadable cache row counts as a miss: %s", type(row).__name__)


def hit(generations: list[ChatGeneration], *, is_ours: bool = False) -> ChatResult:
    """Return a cached answer as a result of its own, its usage marked as free.

    is_ours: nobody else holds these generations, so they need not be copied.
    """
    return ChatResult(generations=[_free(generation, is_ours) for generation in generations])


def _free(generation: ChatGeneration, is_ours: bool) -> ChatGeneration:
    message = generation.message if is_ours else generation.message.model_copy(deep=True)
    if message.id is not None and message.id.startswith(LC_ID_PREFIX):
        message.id = None  # that of another run: two equal ids in one conversation would replace each other
    usage = getattr(message, "usage_metadata", None)
    if usage:
        message.usage_metadata = {**usage, "total_cost": 0}
    return ChatGeneration(message=message, generation_info=generation.generation_info)


@contextmanager
def unless_broken(cache: BaseCache) -> Generator[None, None, None]:
    """Let a cache that can't keep an answer say so in the log: the answer is paid for and must reach the caller."""
    try:
        yield
    except Exception as error:
        import logging

        logging.getLogger("clew.caches").warning("%s could not keep an answer: %r", type(cache).__name__, error)


def is_whole(result: ChatResult) -> bool:
    """Whether an answer is worth keeping: not one that a filter or refusal cut off."""
    facts: list[dict[str, Any]] = [each.message.response_metadata or {} for each in result.generations]
    return not any(each.get("finish_reason") in ("content_filter", "error") for each in facts)
