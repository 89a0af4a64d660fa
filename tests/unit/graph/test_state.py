"""Channels: how a step's updates change the state."""

import dataclasses
import operator
from typing import Annotated

import pydantic
import pytest
from typing_extensions import TypedDict

from clew.errors import InvalidUpdateError
from clew.graph import START, IsLastStep, RemainingSteps, StateGraph
from clew.graph._state import apply, as_update, schema_of, start_values
from clew.types import Overwrite


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]
    total: Annotated[int, operator.add]


CHANNELS = schema_of(State).channels


def test_updates_are_folded_in_order_and_the_old_values_stay_untouched():
    old = {**start_values(CHANNELS), "n": 1}
    new = apply(CHANNELS, old, [("a", {"log": ["x"], "total": 2}), ("b", {"log": ["y"], "n": 5})])
    assert new == {"n": 5, "log": ["x", "y"], "total": 2}
    assert old == {"n": 1, "log": [], "total": 0}


def test_two_writers_of_a_plain_key_are_refused_by_name():
    with pytest.raises(InvalidUpdateError, match="'a' and 'b' both wrote 'n'"):
        apply(CHANNELS, {}, [("a", {"n": 1}), ("b", {"n": 2})])


def test_the_same_node_called_twice_counts_as_two_writers():
    with pytest.raises(InvalidUpdateError):
        apply(CHANNELS, {}, [("a", {"n": 1}), ("a", {"n": 1})])


def test_an_unknown_key_is_no_silent_loss():
    with pytest.raises(InvalidUpdateError, match="'lgo'"):
        apply(CHANNELS, {}, [("a", {"lgo": ["x"]})])


def test_overwrite_goes_past_the_reducer_and_only_once():
    assert apply(CHANNELS, {"log": ["old"]}, [("a", {"log": Overwrite(["new"])})])["log"] == ["new"]
    with pytest.raises(InvalidUpdateError, match="twice"):
        apply(CHANNELS, {}, [("a", {"log": Overwrite([1])}), ("b", {"log": Overwrite([2])})])


def test_what_is_no_update_is_refused():
    with pytest.raises(InvalidUpdateError, match="'a' must return a dict"):
        as_update(7, schema_of(State), "a")


def test_a_reducer_must_take_two_arguments():
    class Wrong(TypedDict):
        n: Annotated[int, lambda value: value]

    with pytest.raises(ValueError, match="two positional"):
        schema_of(Wrong)


def test_pydantic_and_dataclass_states(call):
    class Model(pydantic.BaseModel):
        n: int = 0
        log: Annotated[list[str], operator.add] = pydantic.Field(default_factory=list)

    @dataclasses.dataclass
    class Data:
        n: int = 0
        log: Annotated[list, operator.add] = dataclasses.field(default_factory=list)

    for kind in (Model, Data):
        builder = StateGraph(kind)
        builder.add_node("a", lambda s: {"n": s.n + 1, "log": [type(s).__name__]})
        builder.add_edge(START, "a")
        assert call(builder.compile(), "invoke", {"n": 1}) == {"n": 2, "log": [kind.__name__]}


def test_a_pydantic_state_refuses_what_does_not_fit():
    class Model(pydantic.BaseModel):
        n: int

    graph = StateGraph(Model).add_node("a", lambda s: {}).add_edge(START, "a").compile()
    with pytest.raises(pydantic.ValidationError):
        graph.invoke({"n": "many"})


def test_managed_keys_tell_how_far_the_limit_is():
    class Counted(TypedDict, total=False):
        seen: Annotated[list, operator.add]
        left: Annotated[int, RemainingSteps]
        last: Annotated[bool, IsLastStep]

    builder = StateGraph(Counted)
    for name in "ab":
        builder.add_node(name, lambda s: {"seen": [(s["left"], s["last"])]})
    builder.add_edge(START, "a").add_edge("a", "b")
    assert builder.compile().invoke({}, {"recursion_limit": 2})["seen"] == [(2, False), (1, True)]
