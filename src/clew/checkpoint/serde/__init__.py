"""Serialisers of savers and caches: typed msgpack, and the same encrypted."""

from __future__ import annotations

from clew._serde import Registry, register, register_from_annotations
from clew.checkpoint.serde.base import CipherProtocol, SerializerProtocol, bind
from clew.checkpoint.serde.encrypted import AesGcmCipher, EncryptedSerializer
from clew.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = [
    "AesGcmCipher",
    "CipherProtocol",
    "EncryptedSerializer",
    "JsonPlusSerializer",
    "Registry",
    "SerializerProtocol",
    "bind",
    "register",
    "register_from_annotations",
]
