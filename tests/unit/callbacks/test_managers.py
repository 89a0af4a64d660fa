"""Managers and handlers: who hears what, once, in which context, and what an error in a handler does."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import Any

import pytest

from clew.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForChainRun,
    StdOutCallbackHandler,
    ambient_handlers,
    anyone_listening,
    atrace_as_chain_group,
    get_usage_metadata_callback,
    new_run_id,
    trace_as_chain_group,
)
from clew.globals import get_debug, set_debug
from clew.language_models import GenericFakeChatModel
from clew.messages import AIMessage, HumanMessage
from clew.outputs import LLMResult
from clew.runnables import RunnableLambda, RunnableParallel


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.events.append(("start", {"inputs": inputs, **kwargs}))

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.events.append(("end", {"outputs": outputs, **kwargs}))

    def on_chain_error(self, error: Any, **kwargs: Any) -> None:
        self.events.append(("error", {"error": error, **kwargs}))


step = RunnableLambda(lambda x: x + 1)


def test_run_ids_are_uuids_of_version_4():
    ids = {new_run_id() for _ in range(100)}
    assert (
        len(ids) == 100
        and {id_.version for id_ in ids} == {4}
        and {id_.variant for id_ in ids} == {"specified in RFC 4122"}
    )


def test_the_tree_of_runs(call):
    rec = Recorder()
    steps = RunnableParallel(a=step, b=step | step)
    call(steps, "invoke", 1, {"callbacks": [rec], "tags": ["t"], "metadata": {"m": 1}, "run_name": "top"})
    starts = [data for name, data in rec.events if name == "start"]
    root = starts[0]
    assert root["name"] == "top" and root["parent_run_id"] is None and len(starts) == 5
    assert [s["name"] for s in starts].count("top") == 1
    assert all("t" in s["tags"] and s["metadata"]["m"] == 1 for s in starts)
    ids = {s["run_id"]: s for s in starts}
    assert all(s["parent_run_id"] in ids for s in starts[1:]) and len(ids) == 5
    assert sorted(tag for s in starts for tag in s["tags"] if tag != "t") == [
        "map:key:a",
        "map:key:b",
        "seq:step:1",
        "seq:step:2",
    ]
    assert rec.names().count("end") == 5


def test_values_of_configurable_are_told_but_no_secrets():
    rec = Recorder()
    step.invoke(
        1, {"callbacks": [rec], "configurable": {"thread_id": "t1", "api_key": "sk", "__x": 1, "obj": object()}}
    )
    assert rec.events[0][1]["metadata"] == {"thread_id": "t1"}


def test_own_run_id_and_name_stay_with_the_call_they_are_given_to(call):
    rec, run_id = Recorder(), new_run_id()
    call(step | step, "invoke", 1, {"callbacks": [rec], "run_id": run_id})
    ids = [data["run_id"] for name, data in rec.events if name == "start"]
    assert ids[0] == run_id and len(set(ids)) == 3
    call(step, "batch", [1, 2], {"callbacks": [rec], "run_id": run_id})


def test_a_failure_is_told_at_every_level(call):
    rec = Recorder()
    with pytest.raises(ZeroDivisionError):
        call(step | (lambda x: 1 / 0), "invoke", 1, {"callbacks": [rec]})
    assert rec.names() == ["start", "start", "end", "start", "error", "error"]


def test_streams_are_told_with_their_joined_chunks(call):
    rec = Recorder()
    list(call(step | str | (lambda text: text * 2), "stream", 1, {"callbacks": [rec]}))
    ends = [data for name, data in rec.events if name == "end"]
    assert {data["outputs"] for data in ends} == {2, "2", "22"}
    whole = [data for data in ends if data["parent_run_id"] is None]
    assert [data["outputs"] for data in whole] == ["22"]


def test_case_049_a_handler_hears_once_however_often_it_is_given(call):
    rec = Recorder()
    call(step.with_config(callbacks=[rec]), "invoke", 1, {"callbacks": [rec, rec]})
    assert rec.names() == ["start", "end"]
    manager = CallbackManager.configure([rec], [rec])
    assert manager.handlers == [rec]
    manager.add_handler(rec)
    assert manager.handlers == [rec] and manager.inheritable_handlers == [rec]


class Equal(Recorder):
    """Two of these are equal, and are two handlers all the same."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_case_049_handlers_are_told_apart_by_identity(call):
    one, two = Equal(), Equal()
    call(step, "invoke", 1, {"callbacks": [one, two]})
    assert one.names() == two.names() == ["start", "end"]


class Guard(BaseCallbackHandler):
    raise_error = True

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        raise PermissionError("over budget")


class Broken(BaseCallbackHandler):
    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        raise KeyError("bug")

    on_chain_end = on_chain_start


def test_case_050_a_guard_stops_the_call_and_a_broken_logger_does_not(call, caplog):
    ran: list[int] = []
    watched = RunnableLambda(ran.append)
    with pytest.raises(PermissionError, match="over budget"):
        call(watched, "invoke", 1, {"callbacks": [Guard()]})
    assert ran == []
    with caplog.at_level(logging.WARNING, logger="clew.callbacks"):
        call(watched, "invoke", 1, {"callbacks": [Broken()]})
    assert ran == [1] and [r.getMessage() for r in caplog.records] == [
        "Error in Broken.on_chain_start callback: KeyError('bug')",
        "Error in Broken.on_chain_end callback: KeyError('bug')",
    ]


tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


class Awaited(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0)
        self.seen.append(("start", tenant.get()))

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        self.seen.append(("end", tenant.get()))


def test_case_022_awaited_handlers_see_the_callers_context():
    handler = Awaited()

    async def run() -> None:
        tenant.set("t1")
        await step.ainvoke(1, {"callbacks": [handler]})

    asyncio.run(run())
    assert handler.seen == [("start", "t1"), ("end", "t1")]


def test_awaited_handlers_in_a_blocking_call_run_unless_they_need_a_loop(caplog):
    handler = Awaited()
    with caplog.at_level(logging.WARNING, logger="clew.callbacks"):
        assert step.invoke(1, {"callbacks": [handler]}) == 2
    assert handler.seen == [("end", "none")] and "suspended in a blocking call" in caplog.text


def test_blocking_handlers_run_in_a_worker_thread_of_an_awaited_call():
    threads: list[Any] = []

    class Slow(BaseCallbackHandler):
        blocking = True

        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            threads.append(threading.current_thread())

    async def run() -> None:
        async def work(x: int) -> int:
            return x

        await RunnableLambda(work).ainvoke(1, {"callbacks": [Slow()]})

    asyncio.run(run())
    assert threads and threads[0] is not threading.main_thread()


def test_case_020_what_a_coroutine_step_calls_reports_to_the_right_parent():
    rec = Recorder()

    async def inner(x: int) -> int:
        await asyncio.sleep(0)
        return x

    async def outer(x: int) -> int:
        await asyncio.sleep(0)
        return await RunnableLambda(inner).ainvoke(x)

    async def run() -> None:
        await asyncio.gather(*[RunnableLambda(outer).ainvoke(i, {"callbacks": [rec]}) for i in range(5)])

    asyncio.run(run())
    starts = [data for name, data in rec.events if name == "start"]
    parents = {s["run_id"]: s["inputs"] for s in starts if s["parent_run_id"] is None}
    children = [s for s in starts if s["parent_run_id"] is not None]
    assert len(parents) == len(children) == 5
    assert all(parents[child["parent_run_id"]] == child["inputs"] for child in children)


def test_what_a_blocking_step_calls_reports_to_it_too(call):
    rec = Recorder()
    call(RunnableLambda(lambda x: step.invoke(x)) | step, "invoke", 1, {"callbacks": [rec]})
    starts = [data for name, data in rec.events if name == "start"]
    names = [(s["parent_run_id"] is None) for s in starts]
    assert len(starts) == 4 and names == [True, False, False, False]
    assert starts[2]["parent_run_id"] == starts[1]["run_id"]


def test_the_ambient_config_does_not_outlive_the_function(call):
    rec = Recorder()
    call(step, "invoke", 1, {"callbacks": [rec]})
    n = len(rec.events)
    call(step, "invoke", 1)
    assert len(rec.events) == n


def llm_answer(text: str) -> AIMessage:
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    return AIMessage(text, usage_metadata=usage, response_metadata={"model_name": "m"})


def test_case_019_usage_counting_ends_with_its_block_also_by_an_error(call):
    model = GenericFakeChatModel(messages=iter([llm_answer("a"), llm_answer("b")]))
    with pytest.raises(ZeroDivisionError), get_usage_metadata_callback() as usage:
        call(model, "invoke", "x")
        raise ZeroDivisionError
    assert ambient_handlers.get() == ()
    call(model, "invoke", "x")
    assert usage.usage_metadata["m"]["total_tokens"] == 7


def test_nobody_listens_until_somebody_does():
    assert not anyone_listening(None, None) and not anyone_listening([], CallbackManager([]))
    assert anyone_listening([Recorder()]) and anyone_listening(None, [Recorder()])
    assert anyone_listening(CallbackManager([Recorder()]))
    with get_usage_metadata_callback():
        assert anyone_listening(None, None)


def test_a_handler_of_text_models_hears_chat_models_as_text(call):
    heard: list[Any] = []

    class Old(BaseCallbackHandler):
        def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
            heard.append(prompts)

    call(GenericFakeChatModel(messages=iter([AIMessage("a")])), "invoke", [HumanMessage("hi")], {"callbacks": [Old()]})
    assert heard == [["Human: hi"]]


def test_handlers_may_opt_out(call):
    rec = Recorder()
    rec.ignore_chain = True
    call(step, "invoke", 1, {"callbacks": [rec]})
    assert rec.events == []


def test_managers_copy_merge_and_change_without_touching_each_other():
    one, two = Recorder(), Recorder()
    base = CallbackManager.configure([one], None, False, ["a"], ["local"], {"m": 1}, {"own": 2})
    copy = base.copy()
    copy.add_handler(two)
    copy.add_tags(["b"])
    copy.add_metadata({"n": 2})
    copy.remove_tags(["local"])
    copy.remove_metadata(["own"])
    assert base.handlers == [one] and base.tags == ["a", "local"] and base.metadata == {"m": 1, "own": 2}
    assert copy.handlers == [one, two] and copy.tags == ["a", "b"] and copy.metadata == {"m": 1, "n": 2}
    merged = base.merge(CallbackManager.configure([two], None, False, ["c"]))
    assert merged.handlers == [one, two] and merged.tags == ["a", "local", "c"] and isinstance(merged, CallbackManager)
    merged.remove_handler(one)
    assert merged.handlers == [two] and base.handlers == [one]
    merged.set_handler(one)
    assert merged.handlers == [one]
    assert AsyncCallbackManager.configure(base).is_async and not base.is_async


def test_a_run_of_its_own_for_several_calls():
    rec = Recorder()
    with trace_as_chain_group("group", CallbackManager.configure([rec]), inputs={"q": 1}) as group:
        step.invoke(1, {"callbacks": group})
        step.invoke(2, {"callbacks": group})
        group.on_chain_end({"sum": 5})
    starts = [data for name, data in rec.events if name == "start"]
    assert [s["name"] for s in starts] == ["group", "RunnableLambda", "RunnableLambda"]
    assert {s["parent_run_id"] for s in starts[1:]} == {starts[0]["run_id"]}
    assert rec.events[-1][1]["outputs"] == {"sum": 5}

    async def run() -> None:
        with pytest.raises(KeyError):
            async with atrace_as_chain_group("again", AsyncCallbackManager.configure([rec])) as group:
                await step.ainvoke(1, {"callbacks": group})
                raise KeyError("k")

    asyncio.run(run())
    assert rec.names()[-1] == "error"


def test_run_managers_for_nobody():
    manager = CallbackManagerForChainRun.get_noop_manager()
    manager.on_chain_end({})
    manager.on_text("x")
    assert manager.get_child().handlers == []
    result = LLMResult(generations=[])
    assert CallbackManager([]).on_llm_start({}, ["a", "b"])[1].on_llm_end(result) is None


def test_debugging_prints_everything(capsys):
    set_debug(True)
    try:
        assert get_debug() and step.invoke(1) == 2
    finally:
        set_debug(False)
    printed = capsys.readouterr().out
    assert "[chain/start] [chain:RunnableLambda]" in printed and "[chain/end]" in printed
    step.invoke(1)
    assert capsys.readouterr().out == ""


def test_standard_output(capsys, tmp_path):
    from clew.callbacks import FileCallbackHandler, StreamingStdOutCallbackHandler

    step.invoke(1, {"callbacks": [StdOutCallbackHandler()], "run_name": "mine"})
    assert "Entering new mine chain" in capsys.readouterr().out
    model = GenericFakeChatModel(messages=iter([AIMessage("hello world")]))
    list(model.stream("x", {"callbacks": [StreamingStdOutCallbackHandler()]}))
    assert capsys.readouterr().out == "hello world"
    with FileCallbackHandler(tmp_path / "log") as handler:
        step.invoke(1, {"callbacks": [handler]})
    assert "Finished chain" in (tmp_path / "log").read_text()
