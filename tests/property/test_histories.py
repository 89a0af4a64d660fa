"""A history does what a list does; a window of a talk is whole, newest last, and never more than it may be."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import tool_turn

from clew.chat_message_histories import FileChatMessageHistory, SQLChatMessageHistory
from clew.memory import fit_to_tokens
from clew.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from clew.runnables._history_messages import mend_tool_calls

TEXT = st.text(max_size=6) | st.sampled_from(["\x00", "\ud83d", "]", "\n]", ',{"', "会话"])
STEPS = st.lists(
    st.tuples(st.just("add"), st.lists(TEXT, max_size=3))
    | st.tuples(st.just("swap"), st.integers(0, 5))
    | st.tuples(st.sampled_from(["last", "after"]), st.integers(0, 7))
    | st.just(("clear", None)),
    max_size=12,
)


@pytest.mark.parametrize("kind", ["file", "readable file", "sqlite"])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_a_history_is_a_list(kind: str, steps: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def open_history() -> Any:
            if kind == "sqlite":
                return SQLChatMessageHistory("s", connection=f"sqlite:///{folder}/chat.db")
            return FileChatMessageHistory(f"{folder}/chat.json", ensure_ascii=kind == "file")

        model: list[BaseMessage] = []
        for name, argument in steps:
            history = open_history()
            if name == "add":
                fresh = [HumanMessage(content=text) for text in argument]
                history.add_messages(fresh)
                model += fresh
            elif name == "swap":
                head, summary = model[:argument], [SystemMessage(content="sum")]
                assert history.replace_head(head, summary)
                model = [*summary, *model[argument:]]
                assert not history.replace_head([SystemMessage(content="never")], [])
            elif name == "clear":
                history.clear()
                model = []
            elif name == "last":
                assert history.get_last_messages(argument) == (model[-argument:] if argument else [])
            else:
                assert history.get_messages_after(argument) == model[argument:]
            assert open_history().messages == model


def talks() -> Any:
    plain = st.integers(0, 3).map(lambda n: [HumanMessage(content="q" * n or "q"), AIMessage(content="a")])
    tools = st.integers(1, 3).map(tool_turn)
    head = st.lists(st.just(SystemMessage(content="s")), max_size=2)
    return st.tuples(head, st.lists(plain | tools, max_size=6)).map(
        lambda parts: parts[0] + [message for turn in parts[1] for message in turn]
    )


def whole(messages: list[BaseMessage]) -> bool:
    return mend_tool_calls(messages, []) is messages or mend_tool_calls(messages, []) == messages


@settings(max_examples=150, deadline=None)
@given(messages=talks(), limit=st.integers(0, 20))
def test_a_window_is_whole_turns_and_a_suffix(messages: list[BaseMessage], limit: int) -> None:
    trimmed = fit_to_tokens(messages, limit, len)
    head = trimmed.kept[: trimmed.head]
    assert head + trimmed.dropped + trimmed.kept[trimmed.head :] == messages
    window = trimmed.kept[trimmed.head :]
    assert whole(window)
    assert trimmed.tokens == len(trimmed.kept)
    if window:
        assert window[0].type == "human"
        assert window[-1] is messages[-1]
    if trimmed.is_over:
        assert [m.type for m in window].count("human") <= 1
    elif trimmed.dropped:  # one more turn would not have fitted
        turn = next(n for n in range(1, len(trimmed.dropped) + 1) if trimmed.dropped[-n].type == "human")
        assert trimmed.tokens + turn > limit


@settings(max_examples=100, deadline=None)
@given(messages=talks(), cut=st.integers(0, 40))
def test_a_talk_cut_by_a_crash_is_mended_and_nothing_in_it_changed(messages: list[BaseMessage], cut: int) -> None:
    crashed = messages[:cut]
    mended = mend_tool_calls(crashed, [])
    assert [m for m in mended if getattr(m, "status", "") != "error"] == crashed
    assert whole(mended)
