"""Values to bytes and back, exactly: typed msgpack that only ever holds data.

What msgpack knows (None, bool, int, float, str, bytes, list, dict) is written as it is, in C. Everything else is an
extension: a code for types of the standard library, or a tag and fields for classes that a program registered. Loading
never imports or calls anything that the bytes name: a tag is looked up in a registry and nowhere else.

Invariant: `decode(encode(value))` equals the value and has its types, at every depth; what can't be kept is refused.
"""

from __future__ import annotations

from clew._serde._annotations import register_from_annotations
from clew._serde._decode import decode
from clew._serde._encode import encode
from clew._serde._registry import Registry, default, register

__all__ = ["Registry", "decode", "default", "encode", "register", "register_from_annotations"]
