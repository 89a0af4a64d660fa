"""Blocking functions for awaiting callers, as runnables use them."""

from clew._pool import run_in_executor

__all__ = ["run_in_executor"]
