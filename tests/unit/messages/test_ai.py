import functools
import operator
import sys
import threading

import pytest

from clew.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from clew.messages.ai import add_ai_message_chunks, add_usage, subtract_usage

U = {"input_tokens": 713, "output_tokens": 1, "total_tokens": 714}


def piece(name=None, args=None, id=None, index=0):
    return {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"}


def total(parts):
    return functools.reduce(operator.add, parts)


def test_tool_calls_get_their_type_without_changing_the_callers_dict():
    given = {"name": "f", "args": {"a": 1}, "id": "1"}
    assert AIMessage("", tool_calls=[given]).tool_calls == [{**given, "type": "tool_call"}]
    assert "type" not in given


def test_raw_openai_calls_are_read():
    raw = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    assert AIMessage("", additional_kwargs={"tool_calls": raw}).tool_calls[0]["args"] == {"a": 1}


def test_text_and_metadata_of_chunks():
    whole = total([AIMessageChunk("a", id="lc_run-1", response_metadata={"m": "x"}), AIMessageChunk("b", id="own"),
                   AIMessageChunk("c", response_metadata={"m": "x"}, chunk_position="last")])  # fmt: skip
    assert (whole.content, whole.id, whole.response_metadata, whole.chunk_position) == (
        "abc",
        "own",
        {"m": "x"},
        "last",
    )


@pytest.mark.parametrize(
    "add", [lambda a, b: a + b, lambda a, b: add_ai_message_chunks(a, b), lambda a, b: a.__add__([b])]
)
def test_case_001_running_totals_keep_the_last_value(add):
    later = {"input_tokens": 713, "output_tokens": 2, "total_tokens": 715}
    whole = add(
        AIMessageChunk("a", usage_metadata=U, usage_mode="running"),
        AIMessageChunk("b", usage_metadata=later, usage_mode="running"),
    )
    assert whole.usage_metadata == later


def test_case_002_final_usage_given_twice_counts_once():
    whole = AIMessageChunk("a", usage_metadata=U, usage_mode="final") + AIMessageChunk(
        "", usage_metadata=U, usage_mode="final"
    )
    assert whole.usage_metadata == U


def test_case_008_a_streamed_call_appears_when_it_is_complete():
    seen = []
    whole = AIMessageChunk("", tool_call_chunks=[piece("pay", '{"amount": 1', "1")])
    for text in ("0", ', "to": "Ali', '"', "}"):
        seen.append(whole.tool_calls)
        whole = whole + AIMessageChunk("", tool_call_chunks=[piece(args=text)])
    assert seen == [[]] * 4
    assert whole.tool_calls == [{"name": "pay", "args": {"amount": 10, "to": "Ali"}, "id": "1", "type": "tool_call"}]


def test_the_last_chunk_settles_what_is_invalid():
    broken = AIMessageChunk("", tool_call_chunks=[piece("f", "{bad", "1")])
    assert broken.invalid_tool_calls == []
    ended = broken + AIMessageChunk("", chunk_position="last")
    assert [call["args"] for call in ended.invalid_tool_calls] == ["{bad"]
    broken.chunk_position = "last"
    assert [call["id"] for call in broken.invalid_tool_calls] == ["1"]


def test_whole_calls_given_to_a_chunk_are_fragments_too():
    chunk = AIMessageChunk("", tool_calls=[{"name": "f", "args": {"a": "中"}, "id": "1"}])
    assert chunk.tool_call_chunks[0]["args"] == '{"a": "中"}'
    assert (chunk + AIMessageChunk("x")).tool_calls[0]["args"] == {"a": "中"}


def test_a_sum_does_not_see_later_changes_of_its_parts():
    first, second = AIMessageChunk("a"), AIMessageChunk("b")
    whole = first + second
    first.content, second.content = "X", "Y"
    assert whole.content == "ab"


def test_a_sum_that_is_changed_goes_on_with_the_change():
    whole = AIMessageChunk("a") + AIMessageChunk("b")
    whole.content = "B"
    whole.id = "mine"
    assert (whole + AIMessageChunk("c")).content == "Bc" and (whole + AIMessageChunk("c")).id == "mine"


def test_one_sum_can_be_continued_by_many_threads():
    half = AIMessageChunk("a") + AIMessageChunk("b")
    sums = {}

    def go_on(text):
        for _ in range(200):
            sums[text] = half + AIMessageChunk(text)
            assert sums[text].content == f"ab{text}"

    threads = [threading.Thread(target=go_on, args=(text,)) for text in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {text: chunk.content for text, chunk in sums.items()} == {"x": "abx", "y": "aby", "z": "abz"}


def test_one_sum_can_be_read_by_many_threads():
    for _ in range(50):
        whole = total([AIMessageChunk(str(n)) for n in range(50)])
        seen = []

        def read(whole=whole, seen=seen):
            seen.append((whole.content, whole.id))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [("".join(map(str, range(50))), None)] * 4


def test_deleted_fields_are_errors():
    chunk = AIMessageChunk("a")
    del chunk.content
    with pytest.raises(AttributeError):
        _ = chunk.content


@pytest.mark.parametrize("bad", [{"args": {}, "id": "1"}, "f", None, {"name": ""}])
def test_what_is_no_tool_call_is_refused(bad):
    with pytest.raises(ValueError, match="tool call"):
        AIMessage("", tool_calls=[bad])


def test_missing_members_of_calls_are_filled_in():
    assert AIMessage("", tool_calls=[{"name": "f"}]).tool_calls == [
        {"name": "f", "args": {}, "id": None, "type": "tool_call"}
    ]


def test_subclasses_of_chunks_stay_subclasses():
    class Mine(AIMessageChunk):
        pass

    assert type(Mine("a") + AIMessageChunk("b")) is Mine


def test_messages_from_chunks_keep_everything():
    chunk = AIMessageChunk(
        "x", tool_call_chunks=[piece("f", "", "1")], usage_metadata=U, name="n", model_extra={"k": 1}
    )
    message = message_chunk_to_message(chunk)
    assert type(message) is AIMessage
    assert message.tool_calls == [{"name": "f", "args": {}, "id": "1", "type": "tool_call"}]
    assert (message.usage_metadata, message.name, message.model_extra) == (U, "n", {"k": 1})


def test_case_041_reasoning_and_text_of_one_index_stay_apart():
    whole = AIMessageChunk([{"type": "thinking", "thinking": "t", "index": 0}]) + AIMessageChunk(
        [{"type": "text", "text": "hi", "index": 0}]
    )
    assert [block["type"] for block in whole.content] == ["thinking", "text"] and whole.text == "hi"


def test_unknown_attributes_are_errors():
    whole = AIMessageChunk("a") + AIMessageChunk("b")
    with pytest.raises(AttributeError, match="nothing"):
        _ = whole.nothing


def test_usage_arithmetic():
    assert add_usage(U, None) == U and add_usage(U, U)["total_tokens"] == 1428
    assert subtract_usage(U, U)["input_tokens"] == 0


def calls_of(function):
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", ["text", "tool call"])
@pytest.mark.parametrize("way", [total, lambda parts: add_ai_message_chunks(*parts)], ids=["loop", "at once"])
def test_merging_is_linear(kind, way):
    def stream(n):
        if kind == "text":
            return [AIMessageChunk("tok ") for _ in range(n)]
        return [AIMessageChunk("", tool_call_chunks=[piece("w", '{"t": "', "c1")])] + [
            AIMessageChunk("", tool_call_chunks=[piece(args="word ")]) for _ in range(n - 1)
        ]

    costs = {}
    for n in (1000, 10_000):
        parts = stream(n)
        costs[n] = calls_of(lambda parts=parts: way(parts).tool_call_chunks)
    assert costs[10_000] <= 12 * costs[1000]
