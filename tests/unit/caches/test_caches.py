"""Every cache that comes with the library keeps the same promises."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew.caches import BaseCache, InMemoryCache, RedisCache, SQLiteCache
from clew.errors import StorageError
from clew.messages import AIMessage
from clew.outputs import ChatGeneration, Generation

Make = Callable[..., Any]


@pytest.fixture(params=["memory", "sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Make]:
    """make(ttl=...) is a cache; in one test all but those in memory are over the same place."""
    opened: list[Any] = []

    def build(**options: Any) -> Any:
        if request.param == "memory":
            return InMemoryCache(**options)
        if request.param == "sqlite":
            cache: Any = SQLiteCache(tmp_path / "cache.db", **options)
        else:
            cache = RedisCache(request.getfixturevalue("redis_url"), **options)
        opened.append(cache)
        return cache

    yield build
    for cache in opened:
        cache.close()


RICH = AIMessage(
    [{"type": "text", "text": "你好 🌍"}],
    id="msg_1",
    tool_calls=[{"name": "f", "args": {"x": [1, None]}, "id": "c", "type": "tool_call"}],
    usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    response_metadata={"model": "m", "k": [1]},
)


def test_what_was_kept_comes_back(make: Make, call: Callable[..., Any]) -> None:
    cache = make()
    assert call(cache, "lookup", "p", "l") is None
    call(cache, "update", "p", "l", [ChatGeneration(message=RICH, generation_info={"finish_reason": "stop"})])
    (found,) = call(cache, "lookup", "p", "l")
    assert found.message == RICH and type(found.message) is AIMessage
    assert found.generation_info == {"finish_reason": "stop"}
    assert call(cache, "lookup", "p", "other") is None and call(cache, "lookup", "other", "l") is None


def test_texts_are_kept_too(make: Make) -> None:
    cache = make()
    cache.update("p", "l", [Generation(text="a"), Generation(text="b")])
    assert [each.text for each in cache.lookup("p", "l")] == ["a", "b"]


def test_a_later_answer_replaces_an_earlier_one(make: Make) -> None:
    cache = make()
    cache.update("p", "l", [Generation(text="old")])
    cache.update("p", "l", [Generation(text="new")])
    assert [each.text for each in cache.lookup("p", "l")] == ["new"]


def test_clear_forgets_everything(make: Make, call: Callable[..., Any]) -> None:
    cache = make()
    for number in range(3):
        cache.update(str(number), "l", [Generation(text="x")])
    call(cache, "clear")
    assert [cache.lookup(str(number), "l") for number in range(3)] == [None] * 3


def test_prompt_and_model_do_not_run_into_each_other(make: Make) -> None:
    cache = make()
    cache.update("ab", "c", [Generation(text="1")])
    assert cache.lookup("a", "bc") is None


def test_case_013_edits_of_the_caller_do_not_reach_the_cache(make: Make) -> None:
    cache = make()
    mine = RICH.model_copy(deep=True)
    cache.update("p", "l", [ChatGeneration(message=mine)])
    mine.content = "poison"
    mine.response_metadata["k"].append(2)
    for _ in range(2):
        (found,) = cache.lookup("p", "l")
        assert found.message == RICH
        found.message.content = "poison"
        found.message.response_metadata["k"].append(3)


def test_answers_live_as_long_as_they_are_told(make: Make) -> None:
    lasting, fleeting = make(ttl=3600), make(ttl=0.05)
    lasting.update("p", "l", [Generation(text="x")])
    assert lasting.lookup("p", "l") is not None
    fleeting.update("q", "l", [Generation(text="x")])
    time.sleep(0.1)
    assert fleeting.lookup("q", "l") is None


@pytest.mark.parametrize("wrong", [0, -1])
def test_a_life_of_nothing_is_refused(make: Make, wrong: float) -> None:
    with pytest.raises(ValueError, match="ttl"):
        make(ttl=wrong)


def test_the_answer_that_was_written_first_leaves_a_full_cache() -> None:
    cache = InMemoryCache(maxsize=2)
    for name in ("a", "b", "a", "c"):
        cache.update(name, "l", [Generation(text=name)])
    assert [cache.lookup(name, "l") is not None for name in "abc"] == [True, False, True]
    with pytest.raises(ValueError, match="maxsize"):
        InMemoryCache(maxsize=0)


def test_the_file_is_shared_by_caches(tmp_path: Any) -> None:
    one, two = SQLiteCache(tmp_path / "c.db"), SQLiteCache(tmp_path / "c.db")
    one.update("p", "l", [Generation(text="x")])
    assert two.lookup("p", "l") is not None
    one.close()
    two.close()


@pytest.mark.parametrize("make", ["sqlite", "redis"], indirect=True)  # memory only holds what this process wrote
def test_case_017_rows_that_cant_be_read_are_misses(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cache = make()
    cache.update("p", "l", [Generation(text="x")])
    if isinstance(cache, SQLiteCache):
        cache._database.write("UPDATE clew_llm_cache SET answer = ?", (b"\xc1 written by another version",))
    else:
        cache._client.set(cache._name("p", "l"), b"\xc1 written by another version")
    with caplog.at_level(logging.WARNING, "clew.caches"):
        assert cache.lookup("p", "l") is None
    assert len(caplog.records) == 1 and "counts as a miss" in caplog.text
    cache.update("p", "l", [Generation(text="new")])
    assert [each.text for each in cache.lookup("p", "l")] == ["new"]


def test_what_cant_be_saved_is_not_kept_and_said(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    cache = SQLiteCache(tmp_path / "c.db")
    with caplog.at_level(logging.WARNING, "clew.caches"):
        cache.update("p", "l", [Generation(text="x", generation_info={"odd": object()})])
    assert cache.lookup("p", "l") is None and "not cached" in caplog.text
    cache.close()


def test_a_cache_on_a_server_leaves_other_keys_alone(redis_url: str) -> None:
    cache = RedisCache(redis_url, prefix="mine[*]:")
    cache._client.set("mine[*]", "theirs")
    cache._client.set("minex:1", "theirs")
    cache.update("p", "l", [Generation(text="x")])
    cache.clear()
    assert cache.lookup("p", "l") is None
    assert cache._client.get("minex:1") == b"theirs" and cache._client.get("mine[*]") == b"theirs"
    cache.close()


def test_a_file_that_is_no_database_and_a_server_that_is_not_there_say_so(tmp_path: Any) -> None:
    path = tmp_path / "note.txt"
    path.write_text("this is no database, it is a note of some length")
    with pytest.raises(StorageError, match="not a sound SQLite database"):
        SQLiteCache(path).lookup("p", "l")
    with pytest.raises(StorageError, match="Redis failed"):
        RedisCache("redis://127.0.0.1:1/0").lookup("p", "l")


def test_own_caches_need_three_methods(call: Callable[..., Any]) -> None:
    class Plain(BaseCache):
        def __init__(self) -> None:
            self.rows: dict[Any, Any] = {}

        def lookup(self, prompt: str, llm_string: str) -> Any:
            return self.rows.get((prompt, llm_string))

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            self.rows[prompt, llm_string] = return_val

        def clear(self, **kwargs: Any) -> None:
            self.rows.clear()

    cache = Plain()
    call(cache, "update", "p", "l", [Generation(text="x")])
    assert call(cache, "lookup", "p", "l")[0].text == "x"
    call(cache, "clear")
    assert call(cache, "lookup", "p", "l") is None
    with pytest.raises(TypeError):
        BaseCache()  # type: ignore[abstract]
