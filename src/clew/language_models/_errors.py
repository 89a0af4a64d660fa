"""Errors of the model layer itself."""

from __future__ import annotations

from clew.errors import ModelAPIError


class EmptyStreamError(ModelAPIError, ValueError):
    """A stream ended without a single chunk."""

    def __init__(self, message: str = "the model's stream ended without a single chunk") -> None:
        super().__init__(message)
