import random

import pytest

from clew.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages


def turn(n, question="q"):
    calls = [{"name": "f", "args": {}, "id": f"{question}{i}"} for i in range(n)]
    results = [ToolMessage("r", tool_call_id=call["id"]) for call in calls]
    return [HumanMessage(question), AIMessage("", tool_calls=calls), *results, AIMessage("done")]


def kinds(messages):
    return [message.type for message in messages]


def test_the_end_is_kept_by_default():
    messages = [HumanMessage(str(n)) for n in range(5)]
    assert trim_messages(messages, max_tokens=2, token_counter=len) == messages[3:]
    assert trim_messages(messages, max_tokens=2, token_counter=len, strategy="first") == messages[:2]


def test_case_062_a_call_and_its_results_stay_together():
    messages = [SystemMessage("s"), *turn(2), HumanMessage("h2")]
    assert kinds(trim_messages(messages, max_tokens=4, token_counter=len, include_system=True)) == [
        "system",
        "ai",
        "human",
    ]
    assert kinds(trim_messages(messages, max_tokens=6, token_counter=len, include_system=True)) == [
        "system", "ai", "tool", "tool", "ai", "human",
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", ["first", "last"])
def test_case_062_no_cut_splits_a_pair(strategy):
    rng = random.Random(7)
    for _ in range(50):
        messages = [m for n in range(rng.randint(1, 5)) for m in turn(rng.randint(0, 3), f"q{n}")]
        for limit in range(len(messages) + 1):
            kept = trim_messages(messages, max_tokens=limit, token_counter=len, strategy=strategy)
            asked = {call["id"] for m in kept if isinstance(m, AIMessage) for call in m.tool_calls}
            assert asked == {m.tool_call_id for m in kept if isinstance(m, ToolMessage)} and len(kept) <= limit


@pytest.mark.parametrize("messages", [[], [SystemMessage("s")]])
def test_case_064_nothing_to_trim(messages):
    assert trim_messages(messages, max_tokens=5, token_counter=len, include_system=True) == messages
    assert trim_messages(messages, max_tokens=5, token_counter=len, strategy="first") == messages


def test_a_result_whose_call_is_lost_does_not_lead():
    messages = [HumanMessage("a"), ToolMessage("t", tool_call_id="lost"), HumanMessage("b")]
    assert kinds(trim_messages(messages, max_tokens=2, token_counter=len)) == ["human"]
    assert trim_messages(messages, max_tokens=9, token_counter=len) == messages


def test_counters_of_one_message():
    def count(message: BaseMessage) -> int:
        return len(message.content)

    messages = [HumanMessage("aaaa"), HumanMessage("bb"), HumanMessage("c")]
    assert trim_messages(messages, max_tokens=3, token_counter=count) == messages[1:]


def test_the_budget_is_that_of_the_whole_list():
    def with_overhead(messages):
        return 3 + sum(len(m.content) for m in messages)

    messages = [HumanMessage("aa"), HumanMessage("bb"), HumanMessage("cc")]
    assert trim_messages(messages, max_tokens=7, token_counter=with_overhead) == messages[1:]
    assert with_overhead(trim_messages(messages, max_tokens=7, token_counter=with_overhead)) <= 7


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_one_count_per_message_and_two_of_the_result(n):
    counted = []

    def count(messages):
        counted.append(len(messages))
        return len(messages)

    trim_messages([HumanMessage("x")] * n, max_tokens=n // 2, token_counter=count)
    assert sum(counted) <= 2 * n + 1 and len(counted) <= n + 2


def test_start_and_end():
    messages = [
        SystemMessage("s"),
        AIMessage("a"),
        HumanMessage("h"),
        AIMessage("b"),
        ToolMessage("t", tool_call_id="1"),
    ]
    assert kinds(trim_messages(messages, max_tokens=9, token_counter=len, start_on="human", include_system=True)) == [
        "system",
        "human",
        "ai",
        "tool",
    ]
    assert kinds(trim_messages(messages, max_tokens=9, token_counter=len, end_on=("ai", HumanMessage))) == [
        "system",
        "ai",
        "human",
        "ai",
    ]
    assert kinds(trim_messages(messages, max_tokens=3, token_counter=len, strategy="first", end_on="human")) == [
        "system",
        "ai",
        "human",
    ]
    assert trim_messages(messages, max_tokens=9, token_counter=len, start_on="function") == []


def test_partial_messages():
    def count(messages):
        return sum(len(m.text) for m in messages)

    messages = [HumanMessage("one\ntwo\nthree"), AIMessage("x")]
    assert trim_messages(messages, max_tokens=7, token_counter=count, allow_partial=True)[0].content == "three"
    assert (
        trim_messages(messages, max_tokens=8, token_counter=count, strategy="first", allow_partial=True)[0].content
        == "one\ntwo\n"
    )
    blocks = [HumanMessage([{"type": "text", "text": "aa"}, {"type": "text", "text": "bb"}])]
    assert trim_messages(blocks, max_tokens=2, token_counter=count, allow_partial=True)[0].content == [
        {"type": "text", "text": "bb"}
    ]
    words = trim_messages(
        [HumanMessage("a b c")], max_tokens=2, token_counter=count, allow_partial=True, text_splitter=list
    )
    assert words[0].content == " c"


def test_approximate_and_model_counters():
    class Model:
        def get_num_tokens_from_messages(self, messages):
            return len(messages)

    messages = [HumanMessage("x")] * 4
    assert len(trim_messages(messages, max_tokens=3, token_counter=Model())) == 3
    assert 0 < len(trim_messages(messages, max_tokens=12, token_counter="approximate")) < 4


def test_a_system_message_beyond_the_budget_leaves_nothing():
    assert (
        trim_messages([SystemMessage("s"), HumanMessage("h")], max_tokens=0, token_counter=len, include_system=True)
        == []
    )


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": -1},
        {"max_tokens": 1, "strategy": "middle"},
        {"max_tokens": 1, "strategy": "first", "start_on": "human"},
        {"max_tokens": 1, "strategy": "first", "include_system": True},
        {"max_tokens": 1, "token_counter": 5},
    ],
)
def test_options_that_do_not_go_together(options):
    with pytest.raises(ValueError):
        trim_messages([HumanMessage("x")], **{"token_counter": len, **options})


def test_without_messages_it_is_a_step():
    step = trim_messages(max_tokens=1, token_counter=len)
    assert step.invoke([("user", "a"), ("user", "b")]) == [HumanMessage("b")]


def test_the_given_list_is_not_changed():
    messages = [HumanMessage("a"), HumanMessage("b")]
    trim_messages(messages, max_tokens=1, token_counter=len)
    assert messages == [HumanMessage("a"), HumanMessage("b")]
