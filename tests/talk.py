"""Small models and session factories that the tests of histories and memories share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from clew.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from clew.language_models import BaseChatModel
from clew.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from clew.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


class Scripted(BaseChatModel):
    """Gives its replies in turn, the last one for ever: texts, messages, errors, or functions of the messages."""

    replies: list[Any] = Field(default_factory=lambda: ["ok"])
    sent: list[Any] = Field(default_factory=list)
    counted: list[int] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        self.sent.append(list(messages))
        reply = self.replies[min(len(self.sent), len(self.replies)) - 1]
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        message = AIMessage(content=reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])

    def get_num_tokens_from_messages(self, messages: Any, tools: Any = None, **kwargs: Any) -> int:
        """One token a word, and three for the request itself, as some providers count."""
        self.counted.append(len(messages))
        return 3 + sum(len(message.text.split()) for message in messages)

    def prompts(self) -> list[str]:
        return [messages[-1].text for messages in self.sent]


class Echo(Scripted):
    """Answers "echo <question>", word by word when streamed; may fail before a word."""

    fail_at: int | None = None

    def _answer(self, messages: Any) -> str:
        return "echo " + next(m.text for m in reversed(messages) if m.type == "human")

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        self.sent.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=self._answer(messages)))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        self.sent.append(list(messages))
        for place, word in enumerate(self._answer(messages).split(" ")):
            if place == self.fail_at:
                raise ConnectionError("the line dropped")
            yield ChatGenerationChunk(message=AIMessageChunk(content=word if place == 0 else " " + word))


class Sessions:
    """A factory over in-memory histories."""

    def __init__(self, make: Callable[[], BaseChatMessageHistory] = InMemoryChatMessageHistory) -> None:
        self.make = make
        self.kept: dict[Any, BaseChatMessageHistory] = {}
        self._lock = threading.Lock()

    def __call__(self, session_id: str) -> BaseChatMessageHistory:
        with self._lock:
            return self.kept.setdefault(session_id, self.make())


class Listed(BaseChatMessageHistory):
    """A history on a list that notes its writes; it can fail, or wait between loads and writes."""

    def __init__(self, fail: Exception | None = None) -> None:
        self.items: list[BaseMessage] = []
        self.writes: list[list[str]] = []
        self.fail = fail

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        return list(self.items)

    def add_messages(self, messages: Any) -> None:
        if self.fail:
            raise self.fail
        self.writes.append([message.text for message in messages])
        self.items.extend(messages)

    def clear(self) -> None:
        self.items = []


def session(session_id: str = "s") -> Any:
    return {"configurable": {"session_id": session_id}}


def tool_turn(n: int = 1, question: str = "weather?") -> list[BaseMessage]:
    """A turn with n tool calls and their results."""
    calls: Any = [{"name": "weather", "args": {"day": i}, "id": f"call_{i}"} for i in range(n)]
    results = [ToolMessage(content=f"sunny {i}", tool_call_id=f"call_{i}") for i in range(n)]
    asking = AIMessage(content="", tool_calls=calls)
    return [HumanMessage(content=question), asking, *results, AIMessage(content="sunny")]


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


def kinds(messages: Any) -> list[str]:
    return [message.type for message in messages]


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run work(0) … work(count - 1) in threads that start together; return the results, raise the first error."""
    start, results, errors = threading.Barrier(count), [None] * count, list[BaseException]()

    def run(number: int) -> None:
        try:
            start.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
    return results
