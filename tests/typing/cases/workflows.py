"""What a type checker knows about workflows."""

from __future__ import annotations

from typing import assert_type

from clew.func import entrypoint, task


@task
def double(n: int) -> int:
    """Double."""
    return 2 * n


@entrypoint()
def workflow(n: int) -> int:
    """Call the task with its own parameters, and get its own result."""
    assert_type(double(n).result(), int)
    return double(n).result()


@task(name="later")
async def later(n: int) -> str:
    """An async task gives what it returns, not its coroutine."""
    return str(n)


@entrypoint()
async def awaiting(n: int) -> str:
    """The future can be awaited too."""
    assert_type(await later(n), str)
    assert_type(later(n).result(), str)
    return await later(n)
