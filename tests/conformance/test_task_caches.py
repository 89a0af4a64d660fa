"""Every task cache keeps the same promises."""

from __future__ import annotations

import time
from typing import Any

import pytest


@pytest.fixture(params=["memory", "sqlite", "redis"])
def cache(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "memory":
        from clew.cache.memory import InMemoryCache

        yield InMemoryCache()
    elif request.param == "sqlite":
        from clew.cache.sqlite import SqliteCache

        made = SqliteCache(path=str(tmp_path / "cache.sqlite"))
        yield made
        made.close()
    else:
        from clew.cache.redis import RedisCache

        made = RedisCache(request.getfixturevalue("redis_url"))
        yield made
        made.close()


A, B = (("tasks", "a"), "1"), (("tasks", "b"), "1")


def test_keeps_values_with_their_types(cache: Any, call: Any) -> None:
    value = {"t": (1, 2), 3: {4}, "none": None}
    call(cache, "set", {A: (value, None), B: (None, None)})
    assert call(cache, "get", [A, B, (("tasks",), "1")]) == {A: value, B: None}
    assert type(call(cache, "get", [A])[A]["t"]) is tuple


def test_hands_out_copies(cache: Any, call: Any) -> None:
    value = {"list": [1]}
    call(cache, "set", {A: (value, None)})
    value["list"].append("after set")
    call(cache, "get", [A])[A]["list"].append("through get")
    assert call(cache, "get", [A]) == {A: {"list": [1]}}


def test_forgets_after_the_time_to_live(cache: Any, call: Any) -> None:
    call(cache, "set", {A: ("short", 1), B: ("long", 1000)})
    assert call(cache, "get", [A, B]) == {A: "short", B: "long"}
    time.sleep(1.1)
    assert call(cache, "get", [A, B]) == {B: "long"}


def test_clears_one_namespace_or_all(cache: Any, call: Any) -> None:
    odd = (("tasks", "a*"), "1")
    call(cache, "set", {A: (1, None), B: (2, None), odd: (3, None)})
    call(cache, "clear", [("tasks", "a*")])
    assert call(cache, "get", [A, B, odd]) == {A: 1, B: 2}
    call(cache, "clear", [("tasks", "a")])
    assert call(cache, "get", [A, B]) == {B: 2}
    call(cache, "clear")
    assert call(cache, "get", [A, B]) == {}


def test_namespaces_do_not_run_into_each_other(cache: Any, call: Any) -> None:
    keys = [(("a", "b"), "c"), (("a:b",), "c"), (("a",), "b:c"), (("ab",), "c"), (("a", ""), "c")]
    call(cache, "set", {key: (n, None) for n, key in enumerate(keys)})
    assert call(cache, "get", keys) == {key: n for n, key in enumerate(keys)}


def test_refuses_what_it_could_not_load_again(cache: Any, call: Any) -> None:
    with pytest.raises(TypeError, match=r"\$\.f"):
        call(cache, "set", {A: ({"f": lambda: 1}, None)})
    assert call(cache, "get", [A]) == {}


def test_case_017_a_row_that_cannot_be_read_is_a_miss(cache: Any, caplog: pytest.LogCaptureFixture) -> None:
    cache.serde = _Newer()
    cache.set({A: (1, None)})
    assert cache.get([A]) == {}
    assert "counts as a miss" in caplog.text
    cache.serde = None
    cache.set({A: (2, None)})
    assert cache.get([A]) == {A: 2}


class _Newer:
    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        return "of tomorrow", b"?"

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        raise ValueError(f"unknown form {data[0]!r}")
