"""Durable workflows as plain functions: decorate the whole with `entrypoint`, its steps with `task`."""

from clew.func._durable import asleep, await_for, patched, sleep, wait_for
from clew.func._entrypoint import entrypoint
from clew.func._task import task

__all__ = ["asleep", "await_for", "entrypoint", "patched", "sleep", "task", "wait_for"]
