"""A failure comes back as the same type with the same text, whatever it carried."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from clew._serde import decode, encode
from clew.errors import DeserializationError, SerializationError


class Shop(Exception):
    def __init__(self, what: str, *, code: int) -> None:
        super().__init__(f"no {what}")
        self.code = code


class Spoken(Exception):
    def __str__(self) -> str:
        return f"spoken: {self.args}"


class Http(Exception):
    def __init__(self, message: str, *, response: Any) -> None:
        super().__init__(message)
        self.response = response
        self.status = 404


class Model(pydantic.BaseModel):
    a: int

    @pydantic.field_validator("a")
    @classmethod
    def check(cls, value: int) -> int:
        if value < 0:
            raise ValueError("must not be negative")
        return value


def invalid(data: Any) -> Exception:
    try:
        Model.model_validate(data)
    except pydantic.ValidationError as error:
        return error
    raise AssertionError


def undefined() -> Exception:
    try:
        name_of_nothing
    except NameError as error:
        return error
    raise AssertionError


CASES: list[BaseException] = [
    ValueError("x", (1, 2)), KeyError("k"), OSError(2, "no such", "file"), FileNotFoundError(2, "no", "a", None, "b"),
    TimeoutError(), StopIteration(3), SystemExit(2), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ZeroDivisionError("d"),
    ImportError("m", name="mod", path="p"), undefined(), Shop("tea", code=7), Spoken(1, 2),
    ExceptionGroup("g", [ValueError(1), Shop("x", code=1)]), SerializationError("m", path="$.a"),
    invalid({"a": "z"}), invalid({}), invalid({"a": -1}),
]  # fmt: skip


@pytest.mark.parametrize("error", CASES, ids=lambda one: type(one).__name__)
def test_same_type_same_text(error: BaseException) -> None:
    got = decode(encode({"e": [error]}))["e"][0]
    assert type(got) is type(error)
    assert str(got) == str(error)
    for name in ("code", "errno", "filename", "filename2", "value", "name", "path", "start", "reason"):
        assert getattr(got, name, None) == getattr(error, name, None)
    if isinstance(error, ExceptionGroup):
        assert [str(one) for one in got.exceptions] == [str(one) for one in error.exceptions]


def test_what_is_no_data_is_left_out() -> None:
    got = decode(encode(Http("gone", response=object())))
    assert str(got) == "gone"
    assert got.status == 404
    assert not hasattr(got, "response")
    odd = decode(encode(ValueError("x", object)))
    assert isinstance(odd, ValueError)
    assert str(odd) == str(ValueError("x", object))


def test_causes_and_notes_are_kept() -> None:
    error = ValueError("outer")
    error.__cause__ = Shop("inner", code=1)
    error.add_note("while shopping")
    got = decode(encode(error))
    assert got.__notes__ == ["while shopping"]
    assert isinstance(got.__cause__, Shop)
    assert got.__cause__.code == 1
    assert got.__suppress_context__


def test_no_constructor_runs() -> None:
    ran: list[int] = []

    class Loud(Exception):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            ran.append(1)

    stored = encode(Loud("x"))
    ran.clear()
    assert str(decode(stored)) == "x"
    assert ran == []


def test_a_class_that_is_not_loaded_is_a_named_error() -> None:
    stored = encode(Shop("x", code=1)).replace(b"test_exceptions:Shop", b"test_exceptions:Shup")
    with pytest.raises(DeserializationError, match="Shup"):
        decode(stored)
