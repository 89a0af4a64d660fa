"""Sessions: turns whole and in order, errors heard, streams that end early kept."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
from talk import Echo, Listed, Scripted, Sessions, at_once, kinds, session, texts, tool_turn

from clew.chat_history import InMemoryChatMessageHistory
from clew.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from clew.runnables import ConfigurableFieldSpec, RunnableLambda
from clew.runnables._history_messages import mend_tool_calls, output_messages
from clew.runnables._session_lock import SessionLock
from clew.runnables.history import RunnableWithMessageHistory


def whole(messages: Any, count: int) -> bool:
    asked = texts(messages)[::2]
    return (
        kinds(messages) == ["human", "ai"] * count
        and sorted(asked) == sorted(f"q{n}" for n in range(count))
        and texts(messages)[1::2] == [f"echo {question}" for question in asked]
    )


def test_case_055_twenty_threads_keep_twenty_turns() -> None:
    sessions = Sessions()
    chain = RunnableWithMessageHistory(Echo(), sessions)
    at_once(20, lambda n: chain.invoke(f"q{n}", session()))
    assert whole(sessions("s").messages, 20)


def test_case_055_twenty_coroutines_keep_twenty_turns() -> None:
    sessions = Sessions()
    chain = RunnableWithMessageHistory(Echo(), sessions)

    async def main() -> None:
        await asyncio.gather(*(chain.ainvoke(f"q{n}", session()) for n in range(20)))

    asyncio.run(main())
    assert whole(sessions("s").messages, 20)


def test_case_055_threads_and_coroutines_on_one_session() -> None:
    sessions = Sessions(Listed)
    chain = RunnableWithMessageHistory(Echo(), sessions)

    def work(number: int) -> None:
        async def main() -> None:
            await asyncio.gather(*(chain.ainvoke(f"q{n}", session()) for n in range(number, 20, 4)))

        if number % 2:
            asyncio.run(main())
        else:
            chain.batch([f"q{n}" for n in range(number, 20, 4)], session())

    at_once(4, work)
    assert whole(sessions("s").messages, 20)


def test_case_055_a_history_that_writes_message_by_message_is_kept_whole_too() -> None:
    class OneByOne(InMemoryChatMessageHistory):
        def add_message(self, message: Any) -> None:
            super().add_message(message)
            threading.Event().wait(0.001)  # lets another thread in between

    sessions = Sessions(OneByOne)
    chain = RunnableWithMessageHistory(Echo(), sessions)
    at_once(8, lambda n: chain.invoke(f"q{n}", session()))
    assert whole(sessions("s").messages, 8)


def test_the_lock_is_not_held_across_the_run() -> None:
    inside, sessions = threading.Barrier(2), Sessions()

    def answer(messages: Any) -> str:
        inside.wait(10)  # both turns of the session think at the same time, or this breaks
        return "echo " + messages[-1].text

    chain = RunnableWithMessageHistory(RunnableLambda(answer), sessions)
    at_once(2, lambda n: chain.invoke(f"q{n}", session()))
    assert whole(sessions("s").messages, 2)


@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_case_056_a_save_that_fails_is_the_callers_error(call: Any, how: str) -> None:
    history = Listed(fail=ConnectionError("store down"))
    chain = RunnableWithMessageHistory(Echo(), lambda session_id: history)
    with pytest.raises(ConnectionError, match="store down"):
        list(call(chain, how, "hi", session()))


def test_case_056_logging_instead_is_a_choice(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    history = Listed(fail=ConnectionError("store down"))
    chain = RunnableWithMessageHistory(Echo(), lambda session_id: history, on_save_error="log")
    assert call(chain, "invoke", "hi", session()).text == "echo hi"
    assert "store down" in caplog.text
    with pytest.raises(ValueError, match="on_save_error"):
        RunnableWithMessageHistory(Echo(), lambda session_id: history, on_save_error="ignore")  # type: ignore[arg-type]


def test_case_058_a_dict_output_is_kept_whole_or_by_its_key() -> None:
    joke = {"setup": "why?", "punchline": "because"}
    (kept,) = output_messages(joke, None)
    assert kept.content == '{"setup": "why?", "punchline": "because"}'
    assert output_messages(joke, "punchline")[0].content == "because"
    with pytest.raises(ValueError, match="output_messages_key"):
        output_messages({"a": object(), "b": 1}, None)


def test_case_059_store_code_without_an_async_side_stays_off_the_loop() -> None:
    seen = set[Any]()

    class Blocking(Listed):
        @property
        def messages(self) -> Any:
            seen.add(threading.current_thread())
            return list(self.items)

        def add_messages(self, messages: Any) -> None:
            seen.add(threading.current_thread())
            self.items.extend(messages)

    sessions = Sessions(Blocking)
    asyncio.run(RunnableWithMessageHistory(Echo(), sessions).ainvoke("hi", session()))
    assert seen
    assert threading.main_thread() not in seen
    assert len(sessions("s").messages) == 2


def drained(chain: Any, face: str, stop_after: int | None) -> list[str]:
    """Read a stream to its end, or close it after some chunks."""
    seen: list[str] = []
    if face == "blocking":
        stream = chain.stream("one two three", session())
        for chunk in stream:
            seen.append(chunk.text)
            if len(seen) == stop_after:
                break
        stream.close()
        return seen

    async def main() -> None:
        stream = chain.astream("one two three", session())
        try:
            async for chunk in stream:
                seen.append(chunk.text)
                if len(seen) == stop_after:
                    break
        finally:
            await stream.aclose()

    asyncio.run(main())
    return seen


@pytest.mark.parametrize("face", ["blocking", "awaited"])
def test_case_052_a_closed_stream_keeps_question_and_part(face: str) -> None:
    sessions = Sessions()
    seen = drained(RunnableWithMessageHistory(Echo(), sessions), face, 2)
    question, answer = sessions("s").messages
    assert question == HumanMessage(content="one two three")
    assert answer.text.startswith("".join(seen))
    assert answer.response_metadata["status"] == "incomplete"
    assert type(answer) is AIMessage


@pytest.mark.parametrize("face", ["blocking", "awaited"])
@pytest.mark.parametrize(("choice", "kept"), [("question", ["one two three"]), ("drop", [])])
def test_case_052_what_an_aborted_stream_leaves_is_a_choice(face: str, choice: Any, kept: list[str]) -> None:
    sessions = Sessions()
    drained(RunnableWithMessageHistory(Echo(), sessions, on_abort=choice), face, 2)
    assert texts(sessions("s").messages) == kept


@pytest.mark.parametrize("face", ["blocking", "awaited"])
def test_case_052_a_stream_that_fails_keeps_what_came(face: str) -> None:
    sessions = Sessions()
    with pytest.raises(ConnectionError):
        drained(RunnableWithMessageHistory(Echo(fail_at=2), sessions), face, None)
    assert texts(sessions("s").messages) == ["one two three", "echo one"]
    with pytest.raises(ConnectionError):  # nothing was seen: nothing is kept, as for a failed call
        drained(RunnableWithMessageHistory(Echo(fail_at=0), sessions), face, None)
    assert len(sessions("s").messages) == 2


def test_case_052_a_cancelled_task_keeps_what_came() -> None:
    sessions = Sessions(Listed)
    chain = RunnableWithMessageHistory(Echo(), sessions)

    async def main() -> None:
        got = asyncio.Event()

        async def read() -> None:
            async for _ in chain.astream("one two three", session()):
                got.set()
                await asyncio.sleep(30)

        task = asyncio.create_task(read())
        await got.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):  # the abandoned stream is closed by the loop
            gc.collect()
            await asyncio.sleep(0.01)
            if sessions("s").messages:
                break

    asyncio.run(main())
    assert kinds(sessions("s").messages) == ["human", "ai"]
    assert sessions("s").messages[1].response_metadata["status"] == "incomplete"


def test_case_052_a_save_that_fails_too_is_noted_on_the_error() -> None:
    history = Listed(fail=OSError("store down"))
    chain = RunnableWithMessageHistory(Echo(fail_at=2), lambda session_id: history)
    with pytest.raises(ConnectionError) as raised:
        list(chain.stream("one two three", session()))
    assert "store down" in "".join(raised.value.__notes__)


@pytest.mark.parametrize("face", ["blocking", "awaited"])
def test_case_053_a_streamed_answer_is_a_message(face: str) -> None:
    sessions = Sessions()
    drained(RunnableWithMessageHistory(Echo(), sessions), face, None)
    assert texts(sessions("s").messages) == ["one two three", "echo one two three"]
    assert [type(message) for message in sessions("s").messages] == [HumanMessage, AIMessage]


def test_case_061_all_of_an_agents_turn_is_kept_once(call: Any) -> None:
    def agent(state: Any) -> Any:
        given = [m.model_copy(update={"id": f"id{n}"}) for n, m in enumerate(state["messages"])]
        return {"messages": [*given, *tool_turn(2)[1:]]}  # all of it comes back, with ids that it did not have

    sessions = Sessions()
    chain = RunnableWithMessageHistory(
        RunnableLambda(agent), sessions, input_messages_key="messages", output_messages_key="messages"
    )
    for _ in range(3):
        call(chain, "invoke", {"messages": [HumanMessage(content="weather?")]}, session())
    assert kinds(sessions("s").messages) == ["human", "ai", "tool", "tool", "ai"] * 3


def test_case_082_a_call_without_result_is_mended_on_load_and_said(caplog: pytest.LogCaptureFixture) -> None:
    model, sessions = Echo(), Sessions()
    sessions("s").add_messages(tool_turn(2)[:3])
    RunnableWithMessageHistory(model, sessions).invoke("still there?", session())
    sent = model.sent[0]
    assert kinds(sent) == ["human", "ai", "tool", "tool", "human"]
    assert (sent[3].tool_call_id, sent[3].status) == ("call_1", "error")
    assert "call_1" in caplog.text
    assert kinds(sessions("s").messages) == ["human", "ai", "tool", "human", "ai"]  # the store is as it was


def test_case_082_results_are_looked_for_where_they_may_be() -> None:
    early = tool_turn(2)[:3]
    late = [ToolMessage(content="rain", tool_call_id="call_1")]
    assert mend_tool_calls(early, late) == early
    middle = [*early, HumanMessage(content="go on"), *tool_turn(1)]
    mended = mend_tool_calls(middle, late)
    assert kinds(mended)[:5] == ["human", "ai", "tool", "tool", "human"]
    assert mend_tool_calls(tool_turn(3), []) == tool_turn(3)


def test_an_async_factory_serves_awaited_calls_and_is_refused_in_blocking_ones() -> None:
    sessions = Sessions()

    async def factory(session_id: str) -> Any:
        await asyncio.sleep(0)
        return sessions(session_id)

    chain = RunnableWithMessageHistory(Echo(), factory)
    assert asyncio.run(chain.ainvoke("hi", session())).text == "echo hi"
    assert [m.text for m in asyncio.run(chain.abatch(["a", "b"], session()))] == ["echo a", "echo b"]
    with pytest.raises(TypeError, match="ainvoke"):
        chain.invoke("hi", session())


def test_several_keys_and_a_batch_with_a_bad_session() -> None:
    kept: dict[Any, Any] = {}

    def factory(user_id: str, conversation_id: str) -> Any:
        if user_id == "bad":
            raise LookupError("no such user")
        return kept.setdefault((user_id, conversation_id), InMemoryChatMessageHistory())

    fields = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "conversation_id")]
    chain = RunnableWithMessageHistory(Echo(), factory, history_factory_config=fields)
    configs: Any = [{"configurable": {"user_id": user, "conversation_id": "c"}} for user in ("ann", "bad")]
    good, bad = chain.batch(["a", "b"], configs, return_exceptions=True)
    assert good.text == "echo a"
    assert isinstance(bad, LookupError)
    assert texts(kept["ann", "c"].messages) == ["a", "echo a"]


def test_a_session_named_by_something_unhashable_still_works() -> None:
    history = InMemoryChatMessageHistory()
    chain = RunnableWithMessageHistory(Echo(), lambda key: history)
    chain.invoke("hi", {"configurable": {"session_id": ["a", "b"]}})
    assert texts(history.messages) == ["hi", "echo hi"]


def test_a_history_inside_a_history_uses_its_own_session() -> None:
    outer, inner = Sessions(), Sessions()
    nested = RunnableWithMessageHistory(Echo(), inner).with_config(configurable={"session_id": "inner"})
    chain = RunnableWithMessageHistory(RunnableLambda(lambda messages: nested.invoke(messages[-1])), outer)
    chain.invoke("hi", session("outer"))
    assert texts(inner("inner").messages) == texts(outer("outer").messages) == ["hi", "echo hi"]


# the lock


def test_the_lock_serves_in_the_order_of_arrival() -> None:
    lock, order = SessionLock(), list[int]()
    waiting = [threading.Event() for _ in range(5)]

    def wait(number: int) -> None:
        waiting[number].set()
        with lock:
            order.append(number)

    with lock:
        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=wait, args=(number,)))
            threads[-1].start()
            waiting[number].wait()
            while len(lock._waiters) <= number:
                threading.Event().wait(0.001)
    for thread in threads:
        thread.join(10)
    assert order == list(range(5))


def test_a_cancelled_waiter_does_not_take_the_lock_with_it() -> None:
    lock = SessionLock()

    async def hold() -> None:
        async with lock:
            pass

    async def main() -> None:
        async with lock:
            given_up = asyncio.create_task(hold())
            stays = asyncio.create_task(hold())
            await asyncio.sleep(0.01)
            given_up.cancel()
            await asyncio.sleep(0)
        await asyncio.wait_for(stays, 5)
        assert given_up.cancelled()
        await asyncio.wait_for(hold(), 5)

    asyncio.run(main())


def test_a_waiter_cancelled_just_as_the_lock_comes_passes_it_on() -> None:
    lock = SessionLock()

    async def main() -> None:
        async def hold() -> None:
            async with lock:
                pass

        await lock.__aenter__()
        task = asyncio.create_task(hold())
        await asyncio.sleep(0.01)
        await lock.__aexit__()  # handed over: the wake-up is on its way
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(hold(), 5)

    asyncio.run(main())


def test_a_loop_that_is_gone_is_passed_over() -> None:
    lock = SessionLock()

    async def wait() -> None:
        async with lock:
            raise AssertionError("nobody gave the lock")

    loop = asyncio.new_event_loop()
    with lock:
        task = loop.create_task(wait())
        loop.call_later(0.01, loop.stop)
        loop.run_forever()
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()
        del task
        gc.collect()
    with lock:
        pass


def test_observers_see_the_steps_and_fast_calls_have_none() -> None:
    from clew.callbacks import BaseCallbackHandler

    class Names(BaseCallbackHandler):
        def __init__(self) -> None:
            self.names: list[Any] = []

        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            self.names.append(kwargs.get("name"))

    names = Names()
    model = Scripted(replies=["a"])
    chain = RunnableWithMessageHistory(
        RunnableLambda(lambda value: model.invoke([SystemMessage(content="s"), *value["past"]])), Sessions(),
        input_messages_key="q", history_messages_key="past",
    )  # fmt: skip
    chain.invoke({"q": "hi"}, {**session(), "callbacks": [names]})
    assert names.names[:4] == ["RunnableWithMessageHistory", "insert_history", "load_history", "check_sync_or_async"]
