"""Which answer belongs to which question, and whether it fits the schema it was asked with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from clew.checkpoint.memory import InMemorySaver
from clew.func import entrypoint
from clew.pregel._answers import check, json_schema
from clew.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Review(TypedDict, total=False):
    ok: bool
    note: str


class Order(BaseModel):
    count: int
    kind: Literal["tea", "cake"] = "tea"
    tags: list[str] = []
    inner: Order | None = None


@dataclass
class Point:
    x: float
    y: float


@pytest.mark.parametrize(
    "schema,good,bad",
    [
        (Review, {"ok": True}, {"ok": "perhaps"}),
        (
            Order,
            {"count": 1, "inner": {"count": 2, "kind": "cake"}},
            {"count": 1, "inner": {"count": 2, "kind": "pie"}},
        ),
        (Order, {"count": 1, "tags": ["a"]}, {"count": 1, "tags": ["a", 5]}),
        (Order, {"count": 1}, {}),
        (Order, {"count": 1}, {"count": True}),
        (Point, {"x": 1, "y": 2.5}, {"x": 1}),
        (int | None, None, "5"),
        ({"type": "string", "minLength": 2, "pattern": "^a"}, "ab", "b"),
        ({"type": "integer", "minimum": 3}, 3, 2),
        ({"type": "object", "additionalProperties": False}, {}, {"a": 1}),
        ({"const": 5}, 5, 6),
        ({"allOf": [{"type": "integer"}, {"maximum": 9}]}, 9, 10),
    ],
)
def test_answers_are_checked(schema: Any, good: Any, bad: Any) -> None:
    form = json_schema(schema)
    check(form, good)
    with pytest.raises(ValueError, match="answer"):
        check(form, bad)


def test_a_bad_answer_is_not_kept_and_the_question_stays(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return interrupt("review?", response_schema=Review)

    (asked,) = call(flow, "invoke", 0, CONFIG)["__interrupt__"]
    assert set(asked.response_schema["properties"]) == {"ok", "note"}
    with pytest.raises(ValueError, match=r"answer\.ok"):
        call(flow, "invoke", Command(resume={"ok": "perhaps"}), CONFIG)
    assert call(flow, "get_state", CONFIG).interrupts == (asked,)
    assert call(flow, "invoke", Command(resume={asked.id: {"ok": False}}), CONFIG) == {"ok": False}


def test_keys_name_questions(call: Callable[..., Any]) -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def flow(_: int) -> Any:
        return [interrupt("name?", key="name"), interrupt("age?", key="age")]

    call(flow, "invoke", 0, CONFIG)
    call(flow, "invoke", Command(resume={"name": "Ada"}), CONFIG)
    assert call(flow, "invoke", Command(resume={"age": 36}), CONFIG) == ["Ada", 36]
