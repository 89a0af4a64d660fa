"""stream and astream: chunks, sums, ends, and what happens when a stream breaks or is left."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from models import PAID, Ears, Flowing, FlowingAwaited, Plain

from clew.errors import ModelConnectionError
from clew.language_models import EmptyStreamError, generate_from_stream
from clew.messages import AIMessage, AIMessageChunk

CLASSES = pytest.mark.parametrize("cls", [Flowing, FlowingAwaited])


async def gathered(model: Any, *args: Any, **kwargs: Any) -> list[Any]:
    return [chunk async for chunk in model.astream("x", *args, **kwargs)]


def both(model: Any, *args: Any, **kwargs: Any) -> list[list[Any]]:
    """The chunks of both faces."""
    return [list(model.stream("x", *args, **kwargs)), asyncio.run(gathered(model, *args, **kwargs))]


def summed(chunks: list[Any]) -> Any:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return whole


@CLASSES
def test_chunks_add_up_and_the_last_one_says_so(cls: Any) -> None:
    for chunks in both(cls()):
        assert all(type(chunk) is AIMessageChunk for chunk in chunks)
        assert [chunk.content for chunk in chunks if chunk.content] == ["a", "b", "c"]
        assert [chunk.chunk_position for chunk in chunks] == [None, None, None, "last"]
        assert len({chunk.id for chunk in chunks}) == 1
        assert summed(chunks).content == "abc"


@CLASSES
def test_a_provider_that_marks_the_end_gets_no_second_mark(cls: Any) -> None:
    for chunks in both(cls(pieces=["a", AIMessageChunk("b", chunk_position="last")])):
        assert [chunk.chunk_position for chunk in chunks] == [None, "last"]


@CLASSES
@pytest.mark.parametrize("config", [None, {"callbacks": []}, "ears"])
def test_closing_a_stream_closes_the_providers_first(cls: Any, config: Any) -> None:
    given: Any = {"callbacks": [Ears()]} if config == "ears" else config
    model = cls()
    stream = model.stream("x", given)
    next(stream)
    stream.close()
    assert len(model.closed) == 1

    async def leave() -> int:
        chunks = model.astream("x", given)
        await anext(chunks)
        await chunks.aclose()
        return len(model.closed)

    assert asyncio.run(leave()) == 2


def test_a_cancelled_read_closes_the_stream_once_its_chunk_is_there() -> None:
    model = Flowing(pieces=["a", 0.1, "b"])

    async def leave() -> None:
        async def read() -> None:
            async for _ in model.astream("x"):
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(200):
            if model.closed:
                return
            await asyncio.sleep(0.005)

    asyncio.run(leave())
    assert len(model.closed) == 1


@CLASSES
def test_a_left_stream_ends_its_run_with_what_had_come(cls: Any) -> None:
    ears = Ears()
    stream = cls().stream("x", {"callbacks": [ears]})
    assert next(stream).content == "a"
    stream.close()
    assert ears.names() == ["start", "token", "end"]
    assert ears.events[-1][1].generations[0][0].text == "a"


@CLASSES
@pytest.mark.parametrize("heard", [False, True])
def test_a_cut_stream_is_a_typed_error_that_carries_what_had_come(cls: Any, heard: bool) -> None:
    cut = ModelConnectionError("the line went dead", provider="p")
    pieces = ["a", "b", AIMessageChunk("", usage_metadata=PAID), cut]
    ears = Ears()
    config: Any = {"callbacks": [ears]} if heard else None
    got: list[Any] = []
    for face in ("blocking", "awaited"):
        cut.partial = None
        with pytest.raises(ModelConnectionError) as caught:
            if face == "blocking":
                got.extend(cls(pieces=pieces).stream("x", config))
            else:
                asyncio.run(gathered(cls(pieces=pieces), config))
        assert caught.value is cut and cut.partial is not None
        assert cut.partial.content == "ab" and cut.partial.usage_metadata["total_tokens"] == 7
    if heard:
        assert [event[0] for event in ears.events if event[0] != "token"] == ["start", "error"] * 2
        assert all(e[2]["response"].generations[0][0].text == "ab" for e in ears.events if e[0] == "error")


@CLASSES
def test_errors_of_the_callers_own_model_pass_unchanged(cls: Any) -> None:
    boom = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught:
        list(cls(pieces=["a", boom]).stream("x"))
    assert caught.value is boom


@CLASSES
def test_a_stream_with_nothing_in_it_is_an_error(cls: Any) -> None:
    with pytest.raises(EmptyStreamError):
        list(cls(pieces=[]).stream("x"))
    with pytest.raises(EmptyStreamError):
        asyncio.run(gathered(cls(pieces=[])))
    with pytest.raises(ValueError, match="without a single chunk"):
        generate_from_stream(iter([]))


@CLASSES
def test_case_002_a_usage_that_is_said_again_in_the_closing_chunk_counts_once(cls: Any) -> None:
    pieces = [AIMessageChunk("text", usage_metadata=PAID), AIMessageChunk("", usage_metadata=PAID)]
    for heard in (False, True):
        ears = Ears()
        for chunks in both(cls(pieces=pieces), {"callbacks": [ears]} if heard else None):
            assert summed(chunks).usage_metadata == PAID
        for event in ears.events:
            if event[0] == "end":
                assert event[1].generations[0][0].message.usage_metadata == PAID
    assert cls(pieces=pieces).invoke("x", stream=True).usage_metadata == PAID


@CLASSES
def test_usage_that_comes_in_deltas_adds_up(cls: Any) -> None:
    step: Any = {"input_tokens": 0, "output_tokens": 1, "total_tokens": 1}
    pieces = [AIMessageChunk("a", usage_metadata=step), AIMessageChunk("b", usage_metadata=step)]
    for chunks in both(cls(pieces=pieces)):
        assert summed(chunks).usage_metadata["output_tokens"] == 2


@CLASSES
def test_case_044_a_stream_of_reasoning_only_is_flagged(cls: Any) -> None:
    pieces = [AIMessageChunk("", additional_kwargs={"reasoning_content": each}) for each in ("hm", "so")]
    for chunks in both(cls(pieces=pieces)):
        whole = summed(chunks)
        assert whole.response_metadata["no_final_text"] is True and whole.content == ""
        assert whole.additional_kwargs["reasoning_content"] == "hmso"
    marked = [*pieces[:1], pieces[1].model_copy(update={"chunk_position": "last"})]
    for chunks in both(cls(pieces=marked)):
        assert summed(chunks).response_metadata["no_final_text"] is True


@CLASSES
def test_version_1_keeps_the_order_of_thoughts_and_words(cls: Any) -> None:
    def thought(text: str) -> AIMessageChunk:
        return AIMessageChunk([{"type": "reasoning", "reasoning": text}])

    pieces = [thought("a"), thought("b"), "hel", "lo", thought("c"), "bye"]
    for chunks in both(cls(output_version="v1", pieces=pieces)):
        content = summed(chunks).content
        assert [(block["type"], block.get("text") or block.get("reasoning")) for block in content] == [
            ("reasoning", "ab"),
            ("text", "hello"),
            ("reasoning", "c"),
            ("text", "bye"),
        ]


def test_version_1_gives_tool_calls_as_blocks_once_whole() -> None:
    def piece(name: Any, args: str, id: Any) -> AIMessageChunk:
        call: Any = {"name": name, "args": args, "id": id, "index": 0, "type": "tool_call_chunk"}
        return AIMessageChunk("", tool_call_chunks=[call])

    model = Flowing(output_version="v1", pieces=["look", piece("f", '{"a":', "c"), piece(None, "1}", None)])
    out = model.invoke("x", stream=True)
    assert [block["type"] for block in out.content] == ["text", "tool_call"]
    assert out.content[1]["args"] == {"a": 1} and out.tool_calls[0]["args"] == {"a": 1}


def test_edits_of_the_reader_do_not_change_what_listeners_and_caches_get() -> None:
    from clew.caches import InMemoryCache

    ears, model = Ears(), Flowing(cache=InMemoryCache(), pieces=["a", [{"type": "text", "text": "b", "index": 0}]])
    for chunk in model.stream("x", {"callbacks": [ears]}):
        if isinstance(chunk.content, list) and chunk.content:
            chunk.content[0]["text"] = "poison"
        chunk.content = "poison"
    assert ears.events[-1][1].generations[0][0].text == "ab"
    assert model.invoke("x").text == "ab" and len(model.asked) == 1


def test_a_timeout_ends_a_stream() -> None:
    model = FlowingAwaited(pieces=["a", 1.0, "b"])
    with pytest.raises(TimeoutError):
        list(model.stream("x", {"timeout": 0.05}))
    with pytest.raises(TimeoutError):
        asyncio.run(gathered(model, {"timeout": 0.05}))


def test_a_whole_answer_becomes_one_chunk_with_everything_in_it() -> None:
    reply = AIMessage(
        "t",
        tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}],
        usage_metadata=PAID,
        response_metadata={"m": 1},
        additional_kwargs={"k": "v"},
    )
    for chunks in both(Plain(reply=reply)):
        (chunk,) = chunks
        assert chunk.tool_calls[0]["args"] == {"a": 1} and chunk.usage_metadata == PAID
        assert chunk.response_metadata == {"m": 1} and chunk.additional_kwargs == {"k": "v"}
        assert chunk.chunk_position == "last"


def test_a_blocking_stream_read_from_a_coroutine_leaves_the_loop_free() -> None:
    free = threading.Event()

    class Patient(Flowing):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            assert free.wait(10), "the loop could not run while the stream waited"
            yield from super()._stream(*args, **kwargs)

    async def run() -> None:
        async def release() -> None:
            free.set()

        await asyncio.gather(gathered(Patient()), release())

    asyncio.run(run())


@CLASSES
def test_chunks_reach_the_reader_when_they_are_made(cls: Any) -> None:
    made: list[str] = []

    class Noting(cls):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            for chunk in super()._stream(*args, **kwargs):
                made.append(chunk.message.content)
                yield chunk

    stream = Noting().stream("x")
    assert next(stream).content == "a" and made == ["a"]
    assert next(stream).content == "b" and made == ["a", "b"]
    stream.close()


@CLASSES
def test_a_stream_that_breaks_inside_invoke_carries_what_had_come(cls: Any) -> None:
    ears, cut = Ears(), ModelConnectionError("cut")
    with pytest.raises(ModelConnectionError) as caught:
        cls(pieces=["a", "b", cut]).invoke("x", {"callbacks": [ears]}, stream=True)
    assert caught.value.partial.content == "ab"
    assert ears.events[-1][0] == "error" and ears.events[-1][2]["response"].generations[0][0].text == "ab"
