import pytest

from clew.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, filter_messages, merge_message_runs

MESSAGES = [
    SystemMessage("s", id="0"),
    HumanMessage("a", name="ann", id="1"),
    AIMessage("", id="2", tool_calls=[{"name": "f", "args": {}, "id": "c1"}, {"name": "f", "args": {}, "id": "c2"}]),
    ToolMessage("r1", tool_call_id="c1", id="3"),
    ToolMessage("r2", tool_call_id="c2", id="4"),
    AIMessage("b", name="bot", id="5"),
]


@pytest.mark.parametrize(
    "options, ids",
    [
        ({}, "012345"),
        ({"include_types": ["human", SystemMessage]}, "01"),
        ({"exclude_types": ["tool", AIMessage]}, "01"),
        ({"include_names": ["ann"], "include_ids": ["5"]}, "15"),
        ({"exclude_names": ["ann"]}, "02345"),
        ({"exclude_ids": ["0", "1"]}, "2345"),
        ({"exclude_tool_calls": True}, "015"),
        ({"exclude_tool_calls": ["c1", "c2"]}, "015"),
        ({"include_types": ["human"], "exclude_names": ["ann"]}, ""),
    ],
)
def test_filter(options, ids):
    assert "".join(m.id for m in filter_messages(MESSAGES, **options)) == ids


def test_some_calls_of_a_message_can_go():
    kept = filter_messages(MESSAGES, exclude_tool_calls=["c1"])
    assert [call["id"] for call in kept[2].tool_calls] == ["c2"] and [m.id for m in kept] == ["0", "1", "2", "4", "5"]
    assert len(MESSAGES[2].tool_calls) == 2


def test_both_are_steps_without_messages():
    assert filter_messages(include_types=["human"]).invoke([("user", "x"), ("ai", "y")]) == [HumanMessage("x")]
    assert merge_message_runs().invoke([("user", "x"), ("user", "y")]) == [HumanMessage("x\ny")]


def test_runs_are_joined():
    runs = [
        ("system", "a"),
        ("system", "b"),
        ("user", "c"),
        ("user", [{"type": "text", "text": "d"}]),
        ("user", "e"),
        ("ai", "f"),
    ]
    assert merge_message_runs(runs) == [
        SystemMessage("a\nb"),
        HumanMessage(["c", {"type": "text", "text": "d"}, "e"]),
        AIMessage("f"),
    ]
    assert merge_message_runs([("user", "a"), ("user", "b")], chunk_separator=" ") == [HumanMessage("a b")]


def test_joined_answers_keep_their_calls_and_usage():
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    one = AIMessage("a", tool_calls=[{"name": "f", "args": {}, "id": "1"}], usage_metadata=usage)
    two = AIMessage("b", tool_calls=[{"name": "g", "args": {}, "id": "2"}], usage_metadata=usage)
    (joined,) = merge_message_runs([one, two])
    assert [c["id"] for c in joined.tool_calls] == ["1", "2"] and joined.usage_metadata["total_tokens"] == 6
    assert len(one.tool_calls) == 1


def test_tool_messages_stay_apart():
    assert len(merge_message_runs(MESSAGES[3:5])) == 2


def test_the_given_messages_are_not_changed():
    given = [HumanMessage("a"), HumanMessage("b")]
    merge_message_runs(given)
    assert given == [HumanMessage("a"), HumanMessage("b")]
