"""The small types of workflows."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from clew.errors import OutsideWorkflowError
from clew.types import (
    MISSING,
    CachePolicy,
    Command,
    Interrupt,
    RetryPolicy,
    Send,
    TimeoutPolicy,
    default_cache_key,
    ensure_valid_checkpointer,
    interrupt,
)


def test_a_command_tells_no_answer_from_the_answer_none() -> None:
    assert Command().resume is MISSING and Command(resume=None).resume is None
    assert repr(Command(resume=None)) == "Command(resume=None)"
    assert Command(update={"a": 1}) == Command(update={"a": 1}) != Command(update={"a": 2})
    assert Command.PARENT == "__parent__"


def test_questions_and_sends_show_what_they_are() -> None:
    assert repr(Interrupt("?", "i")) == "Interrupt(value='?', id='i')"
    assert Interrupt("?", "i").interrupt_id == "i"
    assert Send("node", 1) == Send("node", 1) and Send("node", 1) != Send("node", 2)
    assert len({Send("node", [1]), Send("node", [1])}) == 1


@pytest.mark.parametrize("value,seconds", [(2, 2), (0.5, 0.5), (datetime.timedelta(minutes=1), 60.0)])
def test_timeouts_are_seconds(value: Any, seconds: float) -> None:
    policy = TimeoutPolicy.coerce(value)
    assert policy is not None and policy.run_timeout == seconds
    assert TimeoutPolicy.coerce(TimeoutPolicy(idle_timeout=value)) == TimeoutPolicy(idle_timeout=seconds)


@pytest.mark.parametrize("value", [0, -1, datetime.timedelta(0)])
def test_timeouts_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="positive"):
        TimeoutPolicy.coerce(value)


def test_retry_rules_are_classes_or_functions() -> None:
    assert RetryPolicy(retry_on=KeyError).matches(KeyError())
    assert RetryPolicy(retry_on=(KeyError, OSError)).matches(FileNotFoundError())
    assert not RetryPolicy(retry_on=lambda error: "again" in str(error)).matches(ValueError("no"))
    assert not RetryPolicy().matches(KeyboardInterrupt())


def test_cache_keys_do_not_depend_on_the_order_of_names() -> None:
    assert default_cache_key(1, a=1, b=2) == default_cache_key(1, b=2, a=1) != default_cache_key(1, a=1, b=3)
    assert CachePolicy().key_func is default_cache_key


def test_interrupt_outside_and_without_its_default_is_refused() -> None:
    with pytest.raises(OutsideWorkflowError):
        interrupt("?")
    with pytest.raises(OutsideWorkflowError):
        interrupt("?", expires=1)


def test_only_savers_are_savers() -> None:
    assert ensure_valid_checkpointer(None) is None and ensure_valid_checkpointer(False) is False
    with pytest.raises(TypeError, match="str"):
        ensure_valid_checkpointer("file.sqlite")
