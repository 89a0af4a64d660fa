"""What is saved comes back equal, with its types, or is refused with its place."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import uuid
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pytest

from clew._serde import Registry, decode, encode
from clew.errors import DeserializationError, SerializationError


@dataclasses.dataclass
class Invoice:
    total: int
    lines: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    derived: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", self.a * 2)


class Person(pydantic.BaseModel):
    name: str
    tags: tuple[str, ...] = ()
    _seen: int = 0


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int = 1


class Point(msgspec.Struct, frozen=True):
    x: int
    y: list[int] = []


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.StrEnum):
    LOW = "low"


class Pair(NamedTuple):
    left: int
    right: str = "r"


REGISTRY = Registry()
for _cls in (Invoice, Frozen, Person, Open, Point, Colour, Rights, Level, Pair):
    REGISTRY.add(_cls)

EXACT: dict[str, Any] = {
    "none": None, "true": True, "int": 2**64 - 1, "least int": -(2**63), "big": 2**70, "bigger": -(10**40),
    "float": -0.0, "inf": float("inf"), "nul": "a\x00b", "surrogate": "\ud800x", "bytes": b"\x00\xff",
    "bytearray": bytearray(b"x"),
    "tuple": (1, (2, [3])), "empty": [(), [], {}, set(), "", b""], "set": {1, "a"}, "set of tuples": {(1, 2), (3, 4)},
    "frozenset": frozenset({1}), "int keys": {1: "a", 2: {3: "b"}},
    "mixed keys": {1: "i", "1": "s", None: "n", (1, 2): "t"},
    "surrogate key": {"\ud800": 1}, "complex": 1 + 2j, "range": range(1, 9, 2), "slice": slice(1, None, 2), "dots": ...,
    "fold": dt.datetime(2024, 10, 27, 2, 30, fold=1), "utc": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "berlin": dt.datetime(2024, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), "zone": ZoneInfo("Asia/Tokyo"),
    "offset": dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-2, minutes=-30), "X")),
    "microseconds": dt.datetime.max, "date": dt.date(1, 1, 1), "time": dt.time(1, 2, 3, 4, fold=1, tzinfo=dt.UTC),
    "timedelta": dt.timedelta(days=-1, microseconds=3), "timezone": dt.timezone(dt.timedelta(hours=1)),
    "uuid": uuid.UUID(int=7), "decimal": decimal.Decimal("-0.10"), "fraction": fractions.Fraction(1, 3),
    "path": pathlib.Path("/a/b"), "pure path": pathlib.PureWindowsPath("c:/x"), "ip": ipaddress.ip_address("::1"),
    "network": ipaddress.ip_network("10.0.0.0/8"), "pattern": re.compile("a+", re.I),
    "deque": collections.deque([1, (2,)], maxlen=2), "defaultdict": collections.defaultdict(list, {"a": [1]}),
    "counter": collections.Counter("abca"), "ordered": collections.OrderedDict([("b", 1), ("a", (2,))]),
    "dataclass": Invoice(1, [(1,)]), "frozen": Frozen(2), "pydantic": Person(name="Ada", tags=("x",)),
    "struct": Point(1, [2]),
    "enum": Colour.BLUE, "flag": Rights.READ | Rights.WRITE, "str enum": Level.LOW, "namedtuple": Pair(1),
    "extra": Open.model_validate({"a": 2, "b": (1,)}), "deep": {"a": [({"b": [{Pair(1): Invoice(2, [Colour.RED])}]},)]},
}  # fmt: skip


def kinds(value: Any) -> Any:
    """The types of a value and of everything in it."""
    if isinstance(value, dict):
        return type(value), [(kinds(key), kinds(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [kinds(one) for one in value]
    if dataclasses.is_dataclass(value):
        return type(value), {field.name: kinds(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return type(value)


@pytest.mark.parametrize("name", EXACT)
def test_case_112_a_value_comes_back_equal_with_its_types(name: str) -> None:
    value = EXACT[name]
    before = copy.deepcopy(value)
    for wrapped in (value, [value], {"k": (value,)}):
        got = decode(encode(wrapped, registry=REGISTRY), registry=REGISTRY)
        assert got == wrapped
        assert kinds(got) == kinds(wrapped)
    assert value == before
    got = decode(encode(value, registry=REGISTRY), registry=REGISTRY)
    for attribute in (
        "fold",
        "maxlen",
        "default_factory",
        "tzinfo",
        "flags",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
    ):
        assert getattr(got, attribute, None) == getattr(value, attribute, None)
    assert repr(got) == repr(value)


def test_nan_stays_nan() -> None:
    (got,) = decode(encode((float("nan"),)))
    assert got != got
    assert decode(encode(decimal.Decimal("sNaN"))).is_snan()


def test_private_attributes_of_models_are_kept() -> None:
    person = Person(name="Ada")
    person._seen = 3
    got = decode(encode(person, registry=REGISTRY), registry=REGISTRY)
    assert got._seen == 3
    assert got.model_fields_set == {"name"}


@pytest.mark.parametrize(
    "make",
    ["np.int64(3)", "np.float32(1.5)", "np.bool_(True)", "np.datetime64('2024-01-01')", "np.str_('x')",
     "np.complex64(1j)", "np.array([[1, 2], [3, 4]], dtype='int16')", "np.asfortranarray(np.arange(6.0).reshape(2, 3))",
     "np.array(7)",
     "np.array([], dtype='>f4')",
     "np.array(['a', 'bc'])", "np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8', (2,))])"],
)  # fmt: skip
def test_case_113_numpy_values(make: str) -> None:
    np = pytest.importorskip("numpy")
    value = eval(make, {"np": np})
    got = decode(encode({"k": [value]}))["k"][0]
    assert type(got) is type(value)
    assert got.dtype == value.dtype
    assert got.shape == value.shape
    assert np.array_equal(got, value)
    if isinstance(value, np.ndarray):
        assert got.flags.writeable
        assert got.flags.f_contiguous == value.flags.f_contiguous


@pytest.mark.parametrize("shape", [list, tuple, lambda one: {"a": one}])
def test_deep_nesting_works_or_is_refused_with_its_path(shape: Any) -> None:
    for depth in (200, 600, 1000, 20_000):
        value = shape([])
        for _ in range(depth):
            value = shape([value])
        try:
            stored = encode(value)
        except SerializationError as error:
            assert depth > 200
            assert (
                error.path.startswith("$[0][0]" if shape is not list or depth > 600 else "$") or ".a[0]" in error.path
            )
            continue
        got, levels = decode(stored), 0
        while got:
            got = got["a"] if isinstance(got, dict) else got
            got, levels = (got[0] if got else got), levels + 1
        assert levels >= depth


def test_600_lists_work_from_a_deep_stack_too() -> None:
    value: list[Any] = []
    for _ in range(600):
        value = [value]

    def below(levels: int, work: Any) -> Any:
        return work() if levels == 0 else below(levels - 1, work)

    stored = below(700, lambda: encode(value))
    assert below(700, lambda: encode(decode(stored))) == stored


def test_a_structure_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(SerializationError, match="contains itself"):
        encode(loop)


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ({"user": {"tags": [1, 2, Opaque()]}}, "$.user.tags[2]", "Opaque is not registered"),
        ([lambda: 1], "$[0]", "function"),
        ({1: (0, Opaque())}, "$[1][1]", "register"),
        ({"odd key": [Opaque()]}, "$['odd key'][0]", "register"),
        (Invoice(1, [Opaque()]), "$.lines[0]", "register"),
        ({"t": dt.datetime(2024, 1, 1, tzinfo=type("Odd", (dt.tzinfo,), {})())}, "$.t", "ZoneInfo"),
        ({"d": collections.defaultdict(lambda: 1)}, "$.d", "default_factory"),
        ({"f": open}, "$.f", "no data form"),
        (type("Sub", (str,), {})("x"), "$", "not registered"),
        (int, "$", "no data form"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path(value: Any, path: str, says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(path)) as caught:
        encode(value, registry=REGISTRY)
    assert isinstance(caught.value, SerializationError)
    assert caught.value.path == path
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x91", b"\x81\xa1a", b"\xc7\x02\x63\x01\x02", b"\xd4\x3c\x01", b"\x01\x01"]
)
def test_damaged_bytes_are_a_named_error(data: bytes) -> None:
    with pytest.raises(DeserializationError):
        decode(data)


def test_every_prefix_of_stored_bytes_is_refused_or_smaller() -> None:
    stored = encode([EXACT[name] for name in EXACT], registry=REGISTRY)
    for length in range(len(stored)):
        with pytest.raises(DeserializationError):
            decode(stored[:length], registry=REGISTRY)
