"""Durable workflows as plain functions: decorate the whole with `entrypoint`, its steps with `task`."""

from typing import TYPE_CHECKING

from clew._lazy import attributes
from clew.func._entrypoint import entrypoint
from clew.func._task import task

if TYPE_CHECKING:
    from clew.func._durable import asleep, patched, sleep, wait_for
    from clew.func._schedule import Schedule, Scheduler

__all__ = ["Schedule", "Scheduler", "asleep", "entrypoint", "patched", "sleep", "task", "wait_for"]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "Schedule": "._schedule",
        "Scheduler": "._schedule",
        "asleep": "._durable",
        "patched": "._durable",
        "sleep": "._durable",
        "wait_for": "._durable",
    },
)
