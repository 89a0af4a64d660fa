"""The serialisers of savers: forms, refusals, encryption bound to a place."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from clew.checkpoint.serde import AesGcmCipher, EncryptedSerializer, JsonPlusSerializer, SerializerProtocol, bind
from clew.checkpoint.serde.encrypted import EncryptedSerializer as SameOne
from clew.errors import DeserializationError, SerializationError

KEY, OLD = b"k" * 32, b"o" * 16


@pytest.mark.parametrize("value", [None, b"raw", bytearray(b"x"), {"a": (1, {2})}, "text", 2**70], ids=repr)
def test_forms(value: Any) -> None:
    serde = JsonPlusSerializer()
    form, raw = serde.dumps_typed(value)
    assert form in ("null", "bytes", "bytearray", "msgpack")
    got = serde.loads_typed((form, raw))
    assert got == value
    assert type(got) is type(value)
    assert isinstance(serde, SerializerProtocol)
    assert SameOne is EncryptedSerializer


def test_case_131_only_data_forms_are_loaded() -> None:
    class Boom:
        def __reduce__(self) -> Any:
            return pytest.fail, ("the row ran code",)

    for form in ("pickle", "json+pickle", "exec", ""):
        with pytest.raises(DeserializationError, match="never loaded"):
            JsonPlusSerializer().loads_typed((form, pickle.dumps(Boom())))
    with pytest.raises(ValueError, match="pickle"):
        JsonPlusSerializer(pickle_fallback=True)
    assert JsonPlusSerializer().loads_typed(("json", b'{"a": [1]}')) == {"a": [1]}
    with pytest.raises(DeserializationError):
        JsonPlusSerializer().loads_typed(("json", b"{"))
    with pytest.raises(SerializationError, match=r"\$\.f"):
        JsonPlusSerializer().dumps_typed({"f": lambda: 1})


def test_an_allow_list_takes_classes_and_no_names() -> None:
    class Point:
        pass

    with pytest.raises(TypeError, match="nothing is imported by name"):
        JsonPlusSerializer().with_msgpack_allowlist([("os", "system")])
    with pytest.raises(TypeError, match="pack="):
        JsonPlusSerializer().with_msgpack_allowlist([Point])


class Rot:
    """A toy cipher that knows no associated data."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "rot", bytes((byte + 7) % 256 for byte in plaintext)

    def decrypt(self, name: str, ciphertext: bytes) -> bytes:
        return bytes((byte - 7) % 256 for byte in ciphertext)


@pytest.fixture(params=["aes", "no associated data"])
def locked(request: pytest.FixtureRequest) -> EncryptedSerializer:
    if request.param == "aes":
        pytest.importorskip("cryptography")
        return EncryptedSerializer.from_aes({"new": KEY, "old": OLD}, current="new")
    return EncryptedSerializer(Rot())


@pytest.mark.parametrize("value", [None, b"raw", {"secret": ("a", 1)}], ids=repr)
def test_round_trip_hides_the_value(locked: EncryptedSerializer, value: Any) -> None:
    stored = locked.dumps_typed(value)
    assert locked.loads_typed(stored) == value
    assert b"secret" not in stored[1]
    assert b"raw" not in stored[1]


def test_case_136_plain_rows_are_refused_but_while_migrating(locked: EncryptedSerializer) -> None:
    plain = JsonPlusSerializer().dumps_typed({"approved": True})
    with pytest.raises(DeserializationError, match="accept_plaintext"):
        locked.loads_typed(plain)
    migrating = EncryptedSerializer(locked.cipher, accept_plaintext=True)
    assert migrating.loads_typed(plain) == {"approved": True}
    assert migrating.loads_typed(migrating.dumps_typed(1)) == 1


def test_case_137_a_value_loads_only_where_it_was_written(locked: EncryptedSerializer) -> None:
    here = bind(locked, "thread", "ns", "checkpoint", "channel")
    stored = here.dumps_typed({"n": 1})
    assert bind(locked, "thread", "ns", "checkpoint", "channel").loads_typed(stored) == {"n": 1}
    for place in (("other", "ns", "checkpoint", "channel"), ("thread", "nscheckpoint", "", "channel"), ("thread",), ()):
        with pytest.raises(DeserializationError, match="another place"):
            bind(locked, *place).loads_typed(stored)
    with pytest.raises(DeserializationError, match="another place"):
        here.loads_typed(("bytes+" + stored[0].partition("+")[2], stored[1]))  # the form is bound too
    plain = JsonPlusSerializer()
    assert bind(plain, "thread") is plain


def test_keys_rotate() -> None:
    pytest.importorskip("cryptography")
    old = EncryptedSerializer.from_aes({"old": OLD})
    stored = old.dumps_typed([1])
    rotated = EncryptedSerializer.from_aes({"new": KEY, "old": OLD}, current="new")
    assert rotated.loads_typed(stored) == [1]
    assert rotated.dumps_typed([1])[0] == "msgpack+aes-gcm:new"
    with pytest.raises(DeserializationError, match=r"no key for.*new"):
        old.loads_typed(rotated.dumps_typed([1]))
    assert rotated.dumps_typed([1])[1] != rotated.dumps_typed([1])[1]  # a nonce each


@pytest.mark.parametrize("at", [0, 5, 13, -1])
def test_damage_is_noticed(at: int) -> None:
    pytest.importorskip("cryptography")
    serde = EncryptedSerializer.from_aes(KEY)
    form, text = serde.dumps_typed({"n": 1})
    broken = bytearray(text)
    broken[at] ^= 1
    with pytest.raises(DeserializationError, match="damaged"):
        serde.loads_typed((form, bytes(broken)))
    with pytest.raises(DeserializationError):
        serde.loads_typed((form, text[:5]))


def test_keys_that_do_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    for name in ("CLEW_AES_KEY", "LANGGRAPH_AES_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="CLEW_AES_KEY"):
        EncryptedSerializer.from_aes()
    with pytest.raises(ValueError, match="16, 24 or 32"):
        EncryptedSerializer.from_aes(b"short")
    with pytest.raises(ValueError, match="current="):
        AesGcmCipher({"a": KEY, "b": KEY})
    with pytest.raises(ValueError, match="no key 'c'"):
        AesGcmCipher({"a": KEY}, current="c")
    monkeypatch.setenv("CLEW_AES_KEY", "x" * 32)
    one, two = EncryptedSerializer.from_aes(), EncryptedSerializer.from_pycryptodome_aes(key=b"x" * 32)
    assert two.loads_typed(one.dumps_typed("same key")) == "same key"
