"""Encryption at rest: any serialiser, with a cipher around it.

A stored value is bound to its place (thread, namespace, checkpoint, channel): moved elsewhere it does not load. Keys
have ids, so a new key takes over while old rows stay readable. Plain rows are refused, but for a migration.

    serde = EncryptedSerializer.from_aes({"2026": key, "2025": old_key}, current="2026")
    with SqliteSaver.from_conn_string("app.db", serde=serde) as saver: ...
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from clew._lazy import need
from clew.checkpoint.serde.jsonplus import JsonPlusSerializer
from clew.errors import DeserializationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.checkpoint.serde.base import CipherProtocol, SerializerProtocol

__all__ = ["AesGcmCipher", "EncryptedSerializer"]

_DIGEST = 16
_KEY_VARIABLES = ("CLEW_AES_KEY", "LANGGRAPH_AES_KEY")


class AesGcmCipher:
    """AES-GCM with named keys.

    keys: id -> key of 16, 24 or 32 bytes. current: the id whose key encrypts (the only one, when there is one); the
    others decrypt what they once encrypted.
    Raises: ValueError for a key of another length or an unknown current id; MissingDependencyError without the
    package cryptography.
    """

    binds = True

    def __init__(self, keys: Mapping[str, bytes], *, current: str | None = None) -> None:
        module = need("cryptography.hazmat.primitives.ciphers.aead", "crypto", "encryption at rest")
        if current is None:
            if len(keys) != 1:
                raise ValueError(f"say which of the keys {sorted(keys)} encrypts: current=")
            current = next(iter(keys))
        if current not in keys:
            raise ValueError(f"there is no key {current!r} among {sorted(keys)}")
        for name, key in keys.items():
            if ":" in name or not name:
                raise ValueError(f"a key's id is text without ':', not {name!r}")
            if len(key) not in (16, 24, 32):
                raise ValueError(f"the key {name!r} has {len(key)} bytes; AES takes 16, 24 or 32")
        self.current = current
        self._keys: dict[str, Any] = {name: module.AESGCM(key) for name, key in keys.items()}

    def encrypt(self, plaintext: bytes, associated: bytes = b"") -> tuple[str, bytes]:
        """Return ("aes-gcm:<key id>", nonce + ciphertext + tag)."""
        nonce = os.urandom(12)
        return f"aes-gcm:{self.current}", nonce + self._keys[self.current].encrypt(nonce, plaintext, associated)

    def decrypt(self, ciphername: str, ciphertext: bytes, associated: bytes = b"") -> bytes:
        """Return the plaintext. Raises: DeserializationError for an unknown key, damage, or another place."""
        kind, _, name = ciphername.partition(":")
        key = self._keys.get(name)
        if kind != "aes-gcm" or key is None:
            raise DeserializationError(f"no key for {ciphername!r}; the keys here are {sorted(self._keys)}")
        try:
            return key.decrypt(ciphertext[:12], ciphertext[12:], associated)
        except Exception as error:  # InvalidTag, ValueError: the package's own tree
            raise DeserializationError(
                f"a value encrypted with the key {name!r} is damaged, or was moved here from another place"
            ) from error


class EncryptedSerializer:
    """A serialiser whose bytes are encrypted, and good only where they were written.

    cipher: encrypts whole values (see CipherProtocol). serde: turns values into bytes first.
    accept_plaintext: load rows that were saved before encryption was turned on; only while migrating, since whoever can
    write such a row decides what the program reads.
    """

    encrypts = True  # savers give such a serialiser whole rows, together with their place

    def __init__(
        self,
        cipher: CipherProtocol,
        serde: SerializerProtocol | None = None,
        *,
        accept_plaintext: bool = False,
    ) -> None:
        self.cipher = cipher
        self.serde: SerializerProtocol = serde if serde is not None else JsonPlusSerializer()
        self.accept_plaintext = accept_plaintext
        self._place = b""

    @classmethod
    def from_aes(
        cls,
        keys: Mapping[str, bytes] | bytes | None = None,
        *,
        current: str | None = None,
        serde: SerializerProtocol | None = None,
        accept_plaintext: bool = False,
    ) -> EncryptedSerializer:
        """Return one that uses AES-GCM.

        keys: id -> key, or one key; when None, the text of the environment variable CLEW_AES_KEY is the key.
        Raises: ValueError when there is no key, or as AesGcmCipher does.
        """
        if keys is None:
            text = next((os.environ[name] for name in _KEY_VARIABLES if os.environ.get(name)), None)
            if text is None:
                raise ValueError(f"no key: give keys= or set {_KEY_VARIABLES[0]} (16, 24 or 32 bytes)")
            keys = text.encode()
        if isinstance(keys, bytes):
            keys = {hashlib.sha256(b"clew key id" + keys).hexdigest()[:8]: keys}
        return cls(AesGcmCipher(keys, current=current), serde, accept_plaintext=accept_plaintext)

    @classmethod
    def from_pycryptodome_aes(
        cls, serde: SerializerProtocol | None = None, *, key: bytes | None = None
    ) -> EncryptedSerializer:
        """Return one that uses AES: the name that people know, here with AES-GCM from the package cryptography."""
        return cls.from_aes(key, serde=serde)

    def bind(self, *place: str) -> EncryptedSerializer:
        """Return a serialiser for one place in storage: what it writes loads there and nowhere else."""
        bound = EncryptedSerializer(self.cipher, self.serde, accept_plaintext=self.accept_plaintext)
        bound._place = b"".join(
            b"%d:%b" % (len(raw), raw) for raw in (one.encode("utf-8", "surrogatepass") for one in place)
        )
        return bound

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return (form+cipher, encrypted bytes). Raises: what the inner serialiser raises."""
        form, raw = self.serde.dumps_typed(obj)
        cipher: Any = self.cipher
        if getattr(cipher, "binds", False):
            name, text = cipher.encrypt(raw, self._associated(form))
        else:
            name, text = cipher.encrypt(self._seal(form) + raw)
        return f"{form}+{name}", text

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value. Raises: DeserializationError for a plain row, damage, a key that is not here, or a row
        that was written for another place; whatever the cipher raises.
        """
        kind, text = data
        form, plus, name = kind.partition("+")
        if not plus:
            if self.accept_plaintext:
                return self.serde.loads_typed(data)
            raise DeserializationError(
                "a stored value is not encrypted, and this saver only takes encrypted ones: while migrating old rows, "
                "set accept_plaintext=True"
            )
        cipher: Any = self.cipher
        if getattr(cipher, "binds", False):
            return self.serde.loads_typed((form, cipher.decrypt(name, bytes(text), self._associated(form))))
        plain = cipher.decrypt(name, bytes(text))
        if plain[:_DIGEST] != self._seal(form):
            raise DeserializationError("an encrypted value was moved here from another place, or is damaged")
        return self.serde.loads_typed((form, plain[_DIGEST:]))

    def _associated(self, form: str) -> bytes:
        return form.encode() + b"\0" + self._place

    def _seal(self, form: str) -> bytes:
        """Return what stands before the plaintext for ciphers that know no associated data."""
        return hashlib.sha256(self._associated(form)).digest()[:_DIGEST]
