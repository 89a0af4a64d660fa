"""Classes are known by registration, never by what stored bytes name."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import textwrap
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest

from clew._serde import Registry, decode, encode, register, register_from_annotations
from clew.errors import DeserializationError


@dataclasses.dataclass
class Old:
    total: int


def test_case_115_a_class_that_is_gone_is_a_named_error_with_the_hook() -> None:
    writer = Registry()
    writer.add(Old, tag="shop:Invoice")
    stored = encode({"k": Old(3)}, registry=writer)
    with pytest.raises(DeserializationError, match="shop:Invoice") as caught:
        decode(stored, registry=Registry())
    assert "register" in str(caught.value)
    assert "migrate" in str(caught.value)


def test_a_renamed_class_answers_to_its_old_tag() -> None:
    @dataclasses.dataclass
    class Renamed:
        total: int

    writer, reader = Registry(), Registry()
    writer.add(Old, tag="shop:Invoice")
    reader.add(Renamed, aliases=["shop:Invoice"])
    assert decode(encode(Old(3), registry=writer), registry=reader) == Renamed(3)


def test_fields_that_changed_are_migrated_or_refused() -> None:
    @dataclasses.dataclass
    class New:
        cents: int
        currency: str = "EUR"

    writer, reader = Registry(), Registry()
    writer.add(Old, tag="invoice")
    stored = encode([Old(3)], registry=writer)
    reader.add(New, tag="invoice")
    with pytest.raises(DeserializationError, match=r"invoice.*total.*version=2, migrate="):
        decode(stored, registry=reader)
    reader.add(New, tag="invoice", version=2, migrate=lambda fields, version: {"cents": fields["total"] * 100})
    assert decode(stored, registry=reader) == [New(300)]
    assert decode(encode(New(5), registry=reader), registry=reader) == New(5)
    with pytest.raises(DeserializationError, match="version 2"):  # an old program reads what a new one wrote
        decode(encode(New(5), registry=reader), registry=writer)


def test_a_new_field_with_a_default_needs_no_migration() -> None:
    class Before(pydantic.BaseModel):
        a: int

    class After(pydantic.BaseModel):
        a: int
        b: list[int] = pydantic.Field(default_factory=lambda: [1])

    class Struct(msgspec.Struct):
        a: int
        b: tuple[int, ...] = ()

    writer = Registry()
    writer.add(Before, tag="x")
    for cls, expected in ((After, After(a=1)), (Struct, Struct(1))):
        reader = Registry()
        reader.add(cls, tag="x")
        assert decode(encode(Before(a=1), registry=writer), registry=reader) == expected


def test_loading_runs_no_constructor_and_no_validator() -> None:
    ran: list[str] = []

    @dataclasses.dataclass
    class Noisy:
        a: int

        def __post_init__(self) -> None:
            ran.append("post_init")

    class Strict(pydantic.BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def check(cls, value: int) -> int:
            ran.append("validator")
            return value

    registry = Registry()
    registry.add(Noisy)
    registry.add(Strict)
    stored = encode([Noisy(1), Strict(a=1)], registry=registry)
    ran.clear()
    assert decode(stored, registry=registry) == [Noisy(1), Strict.model_construct(a=1)]
    assert ran == ["post_init"]  # of the line above


def test_case_131_loading_imports_nothing(tmp_path: Any) -> None:
    (tmp_path / "gadget.py").write_text(
        "print('imported')\nimport dataclasses\n\n@dataclasses.dataclass\nclass Gadget:\n    x: int\n\n"
        "class Boom(Exception):\n    pass\n"
    )
    code = """
        import sys
        sys.path.insert(0, {path!r})
        from clew._serde import decode, encode, register
        import gadget
        register(gadget.Gadget)
        print(encode([gadget.Gadget(1)]).hex(), encode([gadget.Boom("x")]).hex())
    """
    wrote = _run(code, str(tmp_path))
    assert wrote[0] == "imported"
    for stored in wrote[1].split():
        code = f"""
            import sys
            sys.path.insert(0, {{path!r}})
            from clew._serde import decode
            try:
                decode(bytes.fromhex({stored!r}))
            except ValueError as error:
                print("gadget" in str(error), "gadget" in sys.modules)
        """
        assert _run(code, str(tmp_path)) == ["True False"]


def _run(code: str, path: str) -> list[str]:
    source = textwrap.dedent(code).format(path=path)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_importing_the_serialiser_loads_little() -> None:
    code = """
        import sys
        import clew._serde
        from clew._serde import decode, encode
        decode(encode({{"a": (1, {{2}})}}))
        heavy = {{"numpy", "asyncio", "sqlite3", "pathlib", "pydantic", "zoneinfo", "ipaddress"}}
        print(sorted(heavy & set(sys.modules)))
    """
    assert _run(code, "") == ["[]"]


def test_a_class_without_fields_needs_pack_and_unpack() -> None:
    class Handle:
        def __init__(self, number: int) -> None:
            self.number = number

    registry = Registry()
    with pytest.raises(TypeError, match="pack="):
        registry.add(Handle)
    registry.add(Handle, tag="handle", pack=lambda value: (value.number,), unpack=lambda data: Handle(*data))
    assert decode(encode([Handle(3)], registry=registry), registry=registry)[0].number == 3


def test_two_classes_do_not_share_a_tag() -> None:
    class One(msgspec.Struct):
        a: int

    class Two(msgspec.Struct):
        a: int

    registry = Registry()
    registry.add(One, tag="t")
    with pytest.raises(ValueError, match="'t'"):
        registry.add(Two, tag="t")


def test_register_works_as_a_decorator() -> None:
    @register
    class Plain(msgspec.Struct):
        a: int

    @register(tag="tests:tagged", version=3)
    class Tagged(msgspec.Struct):
        a: int

    assert decode(encode([Plain(1), Tagged(2)])) == [Plain(1), Tagged(2)]


@dataclasses.dataclass
class Inner:
    a: int


class Outer(pydantic.BaseModel):
    inner: dict[str, list[Inner]]


class State(TypedDict, total=False):
    outer: Annotated[Outer | None, "reducer"]


class Base(pydantic.BaseModel):
    a: int


class Heir(Base):
    b: int


def test_classes_are_learnt_from_annotations() -> None:
    registry = Registry()

    class Local(msgspec.Struct):
        a: int

    def body(state: State, *rest: tuple[Local, ...]) -> list[Base]:
        raise NotImplementedError

    register_from_annotations(body, localns={"Local": Local}, registry=registry)
    assert {Outer, Inner, Local, Base, Heir} <= set(registry.by_class)
    value = {"outer": Outer(inner={"x": [Inner(1)]}), "rest": (Local(1),), "heir": Heir(a=1, b=2)}
    assert decode(encode(value, registry=registry), registry=registry) == value


def test_text_annotations_find_the_closure() -> None:
    class Seen(msgspec.Struct):
        a: int

    def make() -> Any:
        def body(x: Seen, y: OnlyForTypeCheckers, z: int) -> None:  # noqa: F821 - never defined on purpose
            assert Seen

        return body

    registry = Registry()
    register_from_annotations(make(), registry=registry)
    assert Seen in registry.by_class


def test_sets_are_written_in_the_same_order_in_every_process() -> None:
    code = """
        from clew._serde import encode
        print(encode([{{"a", "b", "c", "d"}}, frozenset({{("x", 1), ("y", 2), "z", None}})]).hex())
    """
    assert len({tuple(_run(code, "")) for _ in range(4)}) == 1  # each process hashes text in its own way
