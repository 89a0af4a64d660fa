"""What a serialiser and a cipher are, for those who bring their own."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["BindableSerializer", "CipherProtocol", "SerializerProtocol", "bind"]


@runtime_checkable
class SerializerProtocol(Protocol):
    """Turns values into bytes with the name of their form, and back."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return (form, bytes) of a value. Raises: TypeError when it can't be kept."""
        ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of (form, bytes). Raises: ValueError when the bytes are damaged or of an unknown form."""
        ...


class BindableSerializer(SerializerProtocol, Protocol):
    """A serialiser whose bytes are good in one place only."""

    def bind(self, *place: str) -> SerializerProtocol:
        """Return a serialiser for one place (thread, namespace, checkpoint, channel): its bytes load nowhere else."""
        ...


class CipherProtocol(Protocol):
    """Encrypts and decrypts whole values.

    A cipher with a true attribute `binds` also takes `associated: bytes` as a last argument of both methods, and
    refuses to decrypt under other associated data.
    """

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return (name of cipher and key, ciphertext)."""
        ...

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Return the plaintext. Raises: an error of its own when the text is damaged."""
        ...


def bind(serde: Any, *place: str) -> Any:
    """Return the serialiser for one place in storage; serialisers that bind nothing serve every place.

    For savers, around each value: `bind(self.serde, thread_id, namespace, checkpoint_id, channel).dumps_typed(value)`.
    """
    binding = getattr(serde, "bind", None)
    return serde if binding is None else binding(*place)
