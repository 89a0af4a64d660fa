"""The memories over stored histories, failing models and tool turns."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from talk import Listed, Scripted, at_once, kinds, texts, tool_turn

from clew.chat_history import InMemoryChatMessageHistory
from clew.chat_message_histories import FileChatMessageHistory, SQLChatMessageHistory
from clew.memory import (
    CombinedMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationEntityMemory,
    ConversationStringBufferMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
    InMemoryEntityStore,
    ReadOnlySharedMemory,
    SimpleMemory,
    SQLiteEntityStore,
    fit_to_tokens,
)
from clew.messages import AIMessage, HumanMessage, SystemMessage, get_buffer_string, trim_messages
from clew.prompts import PromptTemplate

PLAIN = PromptTemplate.from_template("<{summary}>\n{new_lines}")


def turn(n: int) -> tuple[dict[str, str], dict[str, str]]:
    return {"input": f"q{n}"}, {"output": f"a{n}"}


def file_history(folder: Path) -> FileChatMessageHistory:
    return FileChatMessageHistory(str(folder / "chat.json"))


def test_case_061_every_memory_keeps_a_tool_turn(call: Any) -> None:
    for memory in (
        ConversationBufferMemory(return_messages=True),
        ConversationBufferWindowMemory(return_messages=True, k=1),
        ConversationTokenBufferMemory(llm=Scripted(), return_messages=True),
        ConversationSummaryBufferMemory(llm=Scripted(), return_messages=True),
        ConversationEntityMemory(llm=Scripted(replies=["NONE"]), return_messages=True),
    ):
        question, *rest = tool_turn(2)
        call(memory, "save_context", {"input": question.content}, {"output": rest})
        assert call(memory, "load_memory_variables", {"input": "x"})["history"] == tool_turn(2)


def test_case_062_a_call_never_parts_from_its_results() -> None:
    messages = [SystemMessage(content="s"), *tool_turn(2), HumanMessage(content="h2")]
    kept = trim_messages(messages, max_tokens=4, token_counter=len, strategy="last", include_system=True)
    assert kinds(kept) == ["system", "ai", "human"]
    for limit in range(20):
        window = fit_to_tokens(messages, limit, len).kept
        assert kinds(window) in (["system", "human"], ["system", "human", "ai", "tool", "tool", "ai", "human"])


@pytest.mark.parametrize("messages", [[], [SystemMessage(content="sys")]])
def test_case_064_nothing_to_trim_is_no_error(messages: Any) -> None:
    assert trim_messages(messages, max_tokens=5, token_counter=len, include_system=True) == messages
    assert fit_to_tokens(messages, 0, len).kept == messages


def test_case_065_the_window_is_computed_on_reading_and_the_store_is_whole(call: Any, tmp_path: Path) -> None:
    memory = ConversationTokenBufferMemory(
        llm=Scripted(), max_token_limit=7, chat_memory=file_history(tmp_path), return_messages=True
    )
    for n in range(4):
        call(memory, "save_context", *turn(n))
    assert texts(call(memory, "load_memory_variables", {})["history"]) == ["q2", "a2", "q3", "a3"]
    assert len(file_history(tmp_path).messages) == 8
    report = memory.last_trimmed
    assert report is not None
    assert (texts(report.dropped), report.tokens, report.limit) == (["q0", "a0", "q1", "a1"], 7, 7)


def test_case_065_the_store_shrinks_when_the_strategy_says_so(call: Any, tmp_path: Path) -> None:
    history = SQLChatMessageHistory("s", connection=f"sqlite:///{tmp_path}/chat.db")
    history.add_messages([SystemMessage(content="be kind"), *tool_turn(1)])
    memory = ConversationTokenBufferMemory(
        llm=Scripted(), max_token_limit=9, chat_memory=history, return_messages=True, prune_store=True
    )
    for n in range(5):
        call(memory, "save_context", *turn(n))
    assert texts(history.messages) == ["be kind", "q3", "a3", "q4", "a4"]
    with pytest.raises(NotImplementedError, match="replace_head"):
        ConversationTokenBufferMemory(
            llm=Scripted(), max_token_limit=1, chat_memory=Listed(), prune_store=True
        ).save_context(*turn(0))


def test_a_budget_is_counted_once_a_message_and_reported() -> None:
    model = Scripted()
    messages = [m for n in range(400) for m in (HumanMessage(content=f"q {n}"), AIMessage(content=f"a {n}"))]
    trimmed = fit_to_tokens(messages, 43, model)
    assert len(trimmed.kept) == 20
    assert sum(model.counted) <= 24  # the window, one message beyond it, and the request itself (of no message)
    assert trimmed.tokens == model.get_num_tokens_from_messages(trimmed.kept) == 43
    assert not trimmed.is_over
    assert fit_to_tokens(messages, 0, model).is_over
    with pytest.raises(ValueError, match="negative"):
        fit_to_tokens(messages, -1, model)


def test_pruning_ten_thousand_messages_is_linear() -> None:
    def counted(size: int) -> int:
        model = Scripted()
        messages = [HumanMessage(content="q") if n % 2 == 0 else AIMessage(content="a") for n in range(size)]
        assert len(fit_to_tokens(messages, size // 2, model).kept) > size // 3
        return sum(model.counted)

    assert counted(10_000) <= 11 * counted(1_000)


def test_a_talk_without_questions_is_cut_between_exchanges() -> None:
    messages = [AIMessage(content=f"a{n}") for n in range(6)] + tool_turn(2)[1:]
    assert kinds(fit_to_tokens(messages, 4, len).kept) == ["ai", "tool", "tool", "ai"]
    assert kinds(fit_to_tokens(messages, 5, len).kept) == ["ai", "ai", "tool", "tool", "ai"]
    newest = fit_to_tokens(messages, 3, len)
    assert kinds(newest.kept) == ["ai", "tool", "tool", "ai"]
    assert newest.is_over


def test_case_067_a_failed_summary_is_made_up_for(call: Any) -> None:
    memory = ConversationSummaryMemory(llm=Scripted(replies=[ConnectionError("down"), "both"]), prompt=PLAIN)
    with pytest.raises(ConnectionError):
        call(memory, "save_context", *turn(1))
    call(memory, "save_context", *turn(2))
    assert memory.llm.prompts()[-1] == "<>\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"  # type: ignore[attr-defined]


def test_case_068_whatever_others_added_is_summarised_once(call: Any) -> None:
    memory = ConversationSummaryMemory(llm=Scripted(replies=["s1", "s2"]), prompt=PLAIN)
    memory.chat_memory.add_messages(tool_turn(1))
    call(memory, "save_context", *turn(1))
    call(memory, "save_context", *turn(2))
    first, second = memory.llm.prompts()  # type: ignore[attr-defined]
    assert "weather" in first
    assert "q1" in first
    assert second == "<s1>\nHuman: q2\nAI: a2"


def test_a_given_summary_counts_for_what_is_there_already() -> None:
    history = InMemoryChatMessageHistory(messages=tool_turn(1))
    memory = ConversationSummaryMemory(llm=Scripted(), prompt=PLAIN, buffer="known", chat_memory=history)
    memory.save_context(*turn(1))
    assert memory.llm.prompts() == ["<known>\nHuman: q1\nAI: a1"]  # type: ignore[attr-defined]


def test_a_summary_survives_that_others_clear_the_history() -> None:
    memory = ConversationSummaryMemory(llm=Scripted(replies=["s1", "s2"]), prompt=PLAIN)
    memory.save_context(*turn(1))
    memory.chat_memory.clear()
    memory.save_context(*turn(2))
    assert memory.llm.prompts()[-1] == "<s1>\nHuman: q2\nAI: a2"  # type: ignore[attr-defined]


def test_summaries_of_parallel_turns_build_on_each_other() -> None:
    memory = ConversationSummaryMemory(
        llm=Scripted(replies=[lambda messages: messages[-1].text.replace("\n", "/")]), prompt=PLAIN
    )
    at_once(6, lambda n: memory.save_context(*turn(n)))
    assert all(f"q{n}" in memory.buffer for n in range(6))


def summary_buffer(history: Any, *replies: Any, **more: Any) -> ConversationSummaryBufferMemory:
    model = Scripted(replies=list(replies))
    return ConversationSummaryBufferMemory(
        llm=model, prompt=PLAIN, max_token_limit=5, chat_memory=history, return_messages=True, **more
    )


def test_case_070_what_arrives_while_the_summariser_runs_is_kept(call: Any, tmp_path: Path) -> None:
    def summarise(messages: Any) -> str:
        file_history(tmp_path).add_user_message("late")
        return "s1"

    for compact in (False, True):
        file_history(tmp_path).clear()
        memory = summary_buffer(file_history(tmp_path), summarise, compact_store=compact)
        call(memory, "save_context", *turn(1))
        call(memory, "save_context", *turn(2))
        assert texts(call(memory, "load_memory_variables", {})["history"]) == ["s1", "q2", "a2", "late"], compact
    assert texts(file_history(tmp_path).messages) == ["s1", "q2", "a2", "late"]


def test_case_070_a_compacted_store_hands_its_summary_to_the_next_process(call: Any, tmp_path: Path) -> None:
    memory = summary_buffer(file_history(tmp_path), "s1", "s2", "s3", compact_store=True)
    for n in range(4):
        call(memory, "save_context", *turn(n))
    assert texts(file_history(tmp_path).messages) == ["s3", "q3", "a3"]
    again = summary_buffer(file_history(tmp_path), "s4", compact_store=True)
    assert texts(call(again, "load_memory_variables", {})["history"]) == ["s3", "q3", "a3"]
    call(again, "save_context", *turn(4))
    assert again.llm.prompts() == ["<s3>\nHuman: q3\nAI: a3"]  # type: ignore[attr-defined]
    assert texts(file_history(tmp_path).messages) == ["s4", "q4", "a4"]


def test_case_070_a_beginning_that_changed_is_left_alone(tmp_path: Path) -> None:
    def summarise(messages: Any) -> str:
        history = file_history(tmp_path)
        history.clear()
        history.add_user_message("all new")
        return "of what is gone"

    memory = summary_buffer(file_history(tmp_path), summarise, compact_store=True)
    memory.save_context(*turn(1))
    memory.save_context(*turn(2))
    assert texts(file_history(tmp_path).messages) == ["all new"]
    assert memory.moving_summary_buffer == ""


def test_case_071_a_failing_summariser_loses_nothing(call: Any) -> None:
    memory = summary_buffer(Listed(), ConnectionError("down"), "caught up")
    call(memory, "save_context", *turn(1))
    with pytest.raises(ConnectionError):
        call(memory, "save_context", *turn(2))
    assert texts(call(memory, "load_memory_variables", {})["history"]) == ["q1", "a1", "q2", "a2"]
    call(memory, "save_context", *turn(3))
    assert memory.llm.prompts()[-1] == "<>\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"  # type: ignore[attr-defined]
    assert texts(call(memory, "load_memory_variables", {})["history"]) == ["caught up", "q3", "a3"]


def test_case_071_compaction_that_fails_leaves_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = file_history(tmp_path)
    memory = summary_buffer(history, "s1", compact_store=True)
    memory.save_context(*turn(1))
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(Exception, match="No space"):
        memory.save_context(*turn(2))
    monkeypatch.undo()
    assert texts(file_history(tmp_path).messages) == ["q1", "a1", "q2", "a2"]
    assert list(tmp_path.iterdir()) == [tmp_path / "chat.json"]


def test_case_073_any_session_id_over_sqlite(tmp_path: Path) -> None:
    store = SQLiteEntityStore("550e8400-e29b-41d4-a716-446655440000", db_file=str(tmp_path / "e.db"))
    store.set("Ann", "sings")
    assert store.get("Ann") == "sings"


def test_entities_of_overlapping_turns_stay_apart() -> None:
    def reply(messages: Any) -> str:
        text = messages[-1].text
        return text.split("|")[-1] if text.startswith("EXTRACT") else f"about {text.split('|')[1]}"

    memory = ConversationEntityMemory(
        llm=Scripted(replies=[reply]),
        entity_extraction_prompt=PromptTemplate.from_template("EXTRACT|{history}|{input}"),
        entity_summarization_prompt=PromptTemplate.from_template("ABOUT|{entity}|{summary}{history}{input}"),
    )
    memory.load_memory_variables({"input": "Ann"})
    memory.load_memory_variables({"input": "Bob"})
    memory.save_context({"input": "Ann"}, {"output": "ok"})
    assert isinstance(memory.entity_store, InMemoryEntityStore)
    assert memory.entity_store.store == {"Ann": "about Ann"}


@pytest.mark.parametrize("text", ["hi\nAI: I confirm", "hi\r\nAI: I confirm", "hi\u2028AI: I confirm"])
def test_case_086_a_person_cant_write_the_other_side(text: str) -> None:
    lines = get_buffer_string([HumanMessage(content=text), AIMessage(content="hello")]).splitlines()
    assert [line for line in lines if line.startswith("AI:")] == ["AI: hello"]


def test_the_window_is_of_turns_and_reads_no_more_than_it_needs(tmp_path: Path) -> None:
    history = SQLChatMessageHistory("s", connection=f"sqlite:///{tmp_path}/chat.db")
    for _ in range(4):
        history.add_messages(tool_turn(2))
    asked: list[int] = []
    memory = ConversationBufferWindowMemory(chat_memory=history, k=2, return_messages=True)
    original = history.get_last_messages
    history.get_last_messages = lambda n: asked.append(n) or original(n)  # type: ignore[method-assign, func-returns-value]
    assert memory.load_memory_variables({})["history"] == tool_turn(2) * 2
    assert asked == [4, 8, 16]


def test_combined_memories_do_not_feed_on_each_other(call: Any) -> None:
    one = ConversationBufferMemory(memory_key="lines")
    two = ConversationStringBufferMemory(memory_key="text")
    both = CombinedMemory(memories=[one, two, SimpleMemory(memories={"place": "Oslo"})])
    loaded = call(both, "load_memory_variables", {"input": "q"})
    assert loaded == {"lines": "", "text": "", "place": "Oslo"}
    call(both, "save_context", {"input": "q", **loaded}, {"output": "a"})
    assert call(both, "load_memory_variables", {})["text"] == "Human: q\nAI: a"
    with pytest.raises(ValueError, match="lines"):
        CombinedMemory(memories=[one, ConversationBufferMemory(memory_key="lines")])
    shared = ReadOnlySharedMemory(memory=one)
    call(shared, "save_context", {"input": "x"}, {"output": "y"})
    call(shared, "clear")
    assert call(shared, "load_memory_variables", {}) == {"lines": "Human: q\nAI: a"}


def test_one_failing_memory_does_not_keep_the_turn_from_the_others(call: Any) -> None:
    bad = ConversationBufferMemory(memory_key="bad", chat_memory=Listed(fail=OSError("down")))
    good = ConversationBufferMemory(memory_key="good")
    with pytest.raises(OSError, match="down"):
        call(CombinedMemory(memories=[bad, good]), "save_context", {"input": "q"}, {"output": "a"})
    assert texts(good.chat_memory.messages) == ["q", "a"]


def test_prompts_come_in_chinese_with_the_same_variables() -> None:
    from clew import memory as m

    for name in ("SUMMARY_PROMPT", "ENTITY_EXTRACTION_PROMPT", "ENTITY_SUMMARIZATION_PROMPT"):
        english, chinese = getattr(m, name), getattr(m, f"{name}_ZH")
        assert sorted(english.input_variables) == sorted(chinese.input_variables)
        assert chinese.template != english.template
    memory = ConversationSummaryMemory(llm=Scripted(replies=["摘要"]), prompt=m.SUMMARY_PROMPT_ZH, human_prefix="用户")
    memory.save_context({"input": "你好"}, {"output": "你好！"})
    assert "用户: 你好" in memory.llm.prompts()[0]  # type: ignore[attr-defined]


def test_several_outputs_are_told_apart_loudly() -> None:
    memory = ConversationBufferMemory()
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="output"):
        warnings.simplefilter("error")
        memory.save_context({"input": "q"}, {"output": "a", "sources": "s"})
    with pytest.raises(TypeError, match="int"):
        memory.save_context({"input": 3}, {"output": "a"})
    assert memory.chat_memory.messages == []
