"""What every message history and every entity store must do, as tests to inherit.

    class TestMyHistory(HistoryConformance):
        @pytest.fixture
        def open(self):
            return lambda session_id: MyHistory(session_id, ...)

`open` gives a handle on the same place each time, as a web server's factory does. Each test runs blocking and awaited.
A store without a second process, or that can't hold a megabyte in one message, says so in the class attributes.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from clew.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from clew.testing._faces import Face

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clew.chat_history import BaseChatMessageHistory
    from clew.messages import BaseMessage

__all__ = ["EntityStoreConformance", "HistoryConformance", "turns_are_whole"]

ODD_IDS = [
    "plain", "../x", "..", "a/b\\c", "'; DROP TABLE message_store; --", 'quote"d', "会话 🙂", "a:b*[?]", "50%_of",
    "nul\x00inside", "half \ud83d", "s" * 300, "__name__", " ",
]  # fmt: skip
ODD_TEXTS = ["a\x00b", "\x00", "half \ud83d", "\\u0000", "\u2028\u2029\x85\r\n", "é vs e\u0301", "🎻" * 10, "\ue000{}"]
RICH: list[BaseMessage] = [
    SystemMessage(content="be kind"),
    HumanMessage(content="天气怎么样？🌤", name="ann", id="h1"),
    AIMessage(
        content="",
        id="a1",
        tool_calls=[{"name": "weather", "args": {"city": "北京", "n": 3, "deep": {"x": [1.5, None]}}, "id": "c1"}],
        response_metadata={"model_name": "m", "finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
        additional_kwargs={"note": {"deep": [1, None, True]}},
    ),
    ToolMessage(content="21°", tool_call_id="c1", status="success"),
    HumanMessage(content=[{"type": "text", "text": "and?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
    AIMessage(content="line one\nline two \"quoted\" \\ back'slash"),
]


def texts(messages: list[BaseMessage]) -> list[Any]:
    """Return the content of each message."""
    return [message.content for message in messages]


def turn(name: str) -> list[BaseMessage]:
    """Return a question and its answer."""
    return [HumanMessage(content=f"q {name}"), AIMessage(content=f"a {name}")]


def turns_are_whole(messages: list[BaseMessage]) -> bool:
    """Tell whether every question is followed by its own answer and nothing else."""
    contents = texts(messages)
    return all(
        contents[n].startswith("q ") and contents[n + 1 : n + 2] == ["a " + contents[n][2:]]
        for n in range(0, len(contents), 2)
    )


def together(count: int, work: Callable[[int], Any]) -> None:
    """Run work(0) … work(count - 1) at once, in threads; raise the first error."""
    start, errors = threading.Barrier(count), list[BaseException]()

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


class _Conformance:
    """Runs each test once per face."""

    faces: ClassVar[tuple[str, ...]] = ("blocking", "awaited")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test once per face."""
        if "face" in metafunc.fixturenames:
            metafunc.parametrize("face", self.faces, indirect=True)

    @pytest.fixture
    def face(self, request: pytest.FixtureRequest) -> Iterator[Face]:
        """Give a way of calling."""
        face = Face(request.param)
        yield face
        face.close()


class HistoryConformance(_Conformance):
    """Order, exact values, odd ids and texts, size, parts, compaction, concurrency.

    keeps_objects: the store gives back the very objects (in memory). megabyte, many: sizes of the big message in
    characters and of the long history in messages; smaller for a slow stand-in. writers, writes: of the race.
    """

    keeps_objects: ClassVar[bool] = False
    can_compact: ClassVar[bool] = True
    megabyte: ClassVar[int] = 1_000_000
    many: ClassVar[int] = 10_000
    writers: ClassVar[int] = 4
    writes: ClassVar[int] = 8
    ids: ClassVar[list[str]] = ODD_IDS

    @pytest.fixture
    def open(self) -> Callable[[str], BaseChatMessageHistory]:
        """Give a function from a session's id to a handle on its history."""
        raise NotImplementedError("a conformance test needs a fixture `open`")

    def test_empty_at_first(self, face: Face, open: Any) -> None:
        """A session that nobody wrote has no messages, and clearing it is no error."""
        assert list(face(open("s"), "get_messages")) == []
        face(open("s"), "clear")
        assert face(open("s"), "get_last_messages", 3) == []

    def test_values_come_back_exactly(self, face: Face, open: Any) -> None:
        """Messages of every kind come back equal, of the same class, in order."""
        face(open("s"), "add_messages", RICH)
        loaded = list(face(open("s"), "get_messages"))
        assert loaded == RICH
        assert [type(message) for message in loaded] == [type(message) for message in RICH]

    def test_values_beyond_json_come_back_exactly(self, face: Face, open: Any) -> None:
        """Bytes, tuples, NaN and large integers neither decay nor fail."""
        odd = {"raw": b"\x00\xff", "pair": (1, 2), "big": 2**70, "none": None}
        face(open("s"), "add_messages", [HumanMessage(content="x", additional_kwargs=odd)])
        (loaded,) = face(open("s"), "get_messages")
        assert loaded.additional_kwargs == odd
        assert type(loaded.additional_kwargs["pair"]) is tuple

    def test_parts_are_read(self, face: Face, open: Any) -> None:
        """The newest n, and all but the oldest n, are what a slice of the whole would be."""
        for n in range(5):
            face(open("s"), "add_messages", turn(str(n)))
        whole = texts(face(open("s"), "get_messages"))
        for n in (0, 1, 2, 3, 9, 10, 11):
            assert texts(face(open("s"), "get_last_messages", n)) == (whole[-n:] if n else []), n
            assert texts(face(open("s"), "get_messages_after", n)) == whole[n:], n

    def test_sessions_are_apart(self, face: Face, open: Any) -> None:
        """Ids of any kind name sessions of their own, also those that look alike."""
        for n, name in enumerate(self.ids):
            face(open(name), "add_messages", [HumanMessage(content=str(n))])
        for n, name in enumerate(self.ids):
            assert texts(face(open(name), "get_messages")) == [str(n)], name
        face(open(self.ids[0]), "clear")
        assert [len(list(face(open(name), "get_messages"))) for name in self.ids] == [0] + [1] * (len(self.ids) - 1)

    def test_odd_texts_come_back_exactly(self, face: Face, open: Any) -> None:
        """NUL, half surrogates, separators and emoji are stored without loss, wherever they are."""
        given = [HumanMessage(content=text, additional_kwargs={"note": text}) for text in ODD_TEXTS]
        face(open("s"), "add_messages", given)
        assert list(face(open("s"), "get_messages")) == given

    def test_a_big_message_is_kept(self, face: Face, open: Any) -> None:
        """A message of a megabyte is stored whole, between its neighbours."""
        big = "é" * (self.megabyte // 2) + "x" * (self.megabyte // 2)
        face(open("s"), "add_messages", turn("before"))
        face(open("s"), "add_messages", [HumanMessage(content=big), AIMessage(content="a")])
        face(open("s"), "add_messages", turn("after"))
        loaded = texts(face(open("s"), "get_messages"))
        assert loaded[2] == big
        assert [*loaded[:2], *loaded[3:]] == ["q before", "a before", "a", "q after", "a after"]
        face(open("s"), "clear")
        assert list(face(open("s"), "get_messages")) == []

    def test_a_long_history_keeps_its_order(self, face: Face, open: Any) -> None:
        """Ten thousand messages, written in bulks, come back in order; so do its parts."""
        history = open("s")
        for start in range(0, self.many, 500):
            part = range(start, min(start + 500, self.many))
            face(history, "add_messages", [HumanMessage(content=str(n)) for n in part])
        assert texts(face(open("s"), "get_messages")) == [str(n) for n in range(self.many)]
        assert texts(face(open("s"), "get_last_messages", 3)) == [str(n) for n in range(self.many - 3, self.many)]

    def test_a_chunk_is_stored_as_a_message(self, face: Face, open: Any) -> None:
        """What a stream brought is stored as the message that it stands for."""
        if self.keeps_objects:
            pytest.skip("this store keeps the very objects that it is given")
        face(open("s"), "add_messages", [AIMessageChunk(content="a", id="a1")])
        (loaded,) = face(open("s"), "get_messages")
        assert type(loaded) is AIMessage
        assert (loaded.content, loaded.id) == ("a", "a1")

    def test_a_write_that_cant_be_stored_leaves_nothing(self, face: Face, open: Any) -> None:
        """All or none: nothing of a bulk with one bad message is kept, and nobody is blocked by it."""
        if self.keeps_objects:
            pytest.skip("this store can hold any object")
        bad = AIMessage(content="x", additional_kwargs={"bad": object()})
        face(open("s"), "add_messages", turn("1"))
        with pytest.raises(TypeError):
            face(open("s"), "add_messages", [HumanMessage(content="half"), bad])
        face(open("s"), "add_messages", turn("2"))
        assert texts(face(open("s"), "get_messages")) == ["q 1", "a 1", "q 2", "a 2"]

    def test_compaction_is_a_compare_and_swap(self, face: Face, open: Any) -> None:
        """The beginning is replaced if it is what the caller saw; what came meanwhile stays; else nothing changes."""
        if not self.can_compact:
            pytest.skip("this store can't replace its beginning")
        for n in range(4):
            face(open("s"), "add_messages", turn(str(n)))
        seen = list(face(open("s"), "get_messages"))[:5]
        face(open("s"), "add_messages", turn("late"))
        assert face(open("s"), "replace_head", seen, [SystemMessage(content="summary")]) is True
        assert texts(face(open("s"), "get_messages")) == ["summary", "a 2", "q 3", "a 3", "q late", "a late"]
        assert face(open("s"), "replace_head", seen, [SystemMessage(content="wrong")]) is False
        face(open("s"), "add_messages", turn("more"))
        assert texts(face(open("s"), "get_messages"))[0] == "summary"
        assert texts(face(open("s"), "get_messages"))[-2:] == ["q more", "a more"]
        head = list(face(open("s"), "get_messages"))[:2]
        assert face(open("s"), "replace_head", head, [SystemMessage(content="next")]) is True
        assert texts(face(open("s"), "get_messages"))[:2] == ["next", "q 3"]

    def test_compaction_under_writers_loses_nothing(self, open: Any) -> None:
        """While threads append, one cuts the beginning off again and again: what it took and what is left is all."""
        if not self.can_compact:
            pytest.skip("this store can't replace its beginning")
        taken: list[BaseMessage] = []
        done = threading.Event()

        def work(number: int) -> None:
            if number:
                for n in range(self.writes):
                    open("s").add_messages(turn(f"{number}.{n}"))
            while number == 0 and not done.wait(0.001):
                head = open("s").messages[:2]
                if head and open("s").replace_head(head, []):
                    taken.extend(head)

        def writers() -> None:
            together(self.writers, lambda number: work(number + 1))
            done.set()

        together(2, lambda number: writers() if number else work(0))
        left = list(open("s").messages)
        assert turns_are_whole(taken + left)
        assert len(taken + left) == len(set(texts(taken + left))) == 2 * self.writers * self.writes

    def test_writers_lose_and_tear_nothing(self, open: Any) -> None:
        """Threads with handles of their own: every turn is there once, its question beside its answer, in order."""

        def work(number: int) -> None:
            for n in range(self.writes):
                open("s").add_messages(turn(f"{number}.{n}"))

        together(self.writers, work)
        loaded = open("s").messages
        assert len(loaded) == 2 * self.writers * self.writes
        assert turns_are_whole(loaded)
        for number in range(self.writers):
            mine = [text for text in texts(loaded)[::2] if text.startswith(f"q {number}.")]
            assert mine == [f"q {number}.{n}" for n in range(self.writes)]

    def test_tasks_on_one_loop_lose_and_tear_nothing(self, open: Any) -> None:
        """Coroutines that share one handle: the same."""
        count = self.writers * self.writes

        async def main() -> list[BaseMessage]:
            history = open("s")
            await asyncio.gather(*(history.aadd_messages(turn(str(n))) for n in range(count)))
            return list(await history.aget_messages())

        loaded = asyncio.run(main())
        assert len(loaded) == 2 * count
        assert turns_are_whole(loaded)


class EntityStoreConformance(_Conformance):
    """Notes by name: any session, any name, any text; empty deletes; nothing is created by reading."""

    ids: ClassVar[list[str]] = [*ODD_IDS, "a", "A", "a ", "a_b", "a-b", "a.b", "a%b", "a:b", "a%3Ab", "a b", ""]

    @pytest.fixture
    def open(self) -> Any:
        """Give a function from a session's id to a store of its notes."""
        raise NotImplementedError("a conformance test needs a fixture `open`")

    def test_set_get_exists_delete(self, face: Face, open: Any) -> None:
        """A note is there from set to delete; deleting what is not there is no error."""
        store = open("s")
        assert face(store, "exists", "Ann") is False
        assert face(store, "get", "Ann", "unknown") == "unknown"
        assert not face(store, "get", "Ann")
        assert face(store, "exists", "Ann") is False
        face(store, "set", "Ann", "sings")
        face(store, "set", "Ann", "dances")
        assert face(open("s"), "get", "Ann") == "dances"
        assert face(store, "exists", "Ann") is True
        face(store, "delete", "Ann")
        face(store, "delete", "Ann")
        assert face(store, "exists", "Ann") is False

    @pytest.mark.parametrize("value", ["", None])
    def test_an_empty_note_deletes(self, face: Face, open: Any, value: str | None) -> None:
        """Setting nothing is deleting."""
        store = open("s")
        face(store, "set", "Ann", "sings")
        face(store, "set", "Ann", value)
        assert face(store, "exists", "Ann") is False

    def test_sessions_are_apart(self, face: Face, open: Any) -> None:
        """Ids that look alike, or that begin like another, name sessions of their own; clearing one clears one."""
        for n, name in enumerate(self.ids):
            face(open(name), "set", "Ann", str(n))
        assert [face(open(name), "get", "Ann") for name in self.ids] == [str(n) for n in range(len(self.ids))]
        face(open("a"), "clear")
        assert [name for name in self.ids if not face(open(name), "exists", "Ann")] == ["a"]

    @pytest.mark.parametrize("text", ODD_TEXTS)
    def test_odd_texts_come_back_exactly(self, face: Face, open: Any, text: str) -> None:
        """Any text is a name and a note."""
        store = open("s")
        face(store, "set", text, text)
        assert face(store, "get", text) == text
        assert face(store, "exists", text) is True
        face(store, "delete", text)
        assert face(store, "exists", text) is False

    def test_clear_reaches_every_note(self, face: Face, open: Any) -> None:
        """However many there are."""
        store = open("s")
        for n in range(30):
            face(store, "set", f"thing {n}", "x")
        face(store, "clear")
        assert not any(face(store, "exists", f"thing {n}") for n in range(30))
        face(store, "clear")

    def test_case_083_one_name_is_one_note(self, open: Any) -> None:
        """Threads that set the same name at once leave one of their notes, never two and never a mixture."""
        together(6, lambda number: open("s").set("Ann", f"note {number}" * 50))
        note = open("s").get("Ann")
        assert note in {f"note {number}" * 50 for number in range(6)}
        open("s").delete("Ann")
        assert open("s").exists("Ann") is False
