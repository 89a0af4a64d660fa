"""What calls cost, and what may not be spent."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from clew.caches import InMemoryCache
from clew.callbacks import get_usage_metadata_callback
from clew.errors import BudgetExceededError, MissingDependencyError
from clew.language_models import ScriptedChatModel
from clew.messages import AIMessage, AIMessageChunk
from clew.runnables import RunnableLambda
from clew.usage import Budget, cost_of

Call = Callable[..., Any]
PRICES = {"fake-1": {"input": 1000.0, "output": 2000.0}}


def paid(n_in: int, n_out: int, name: str = "fake-1", **details: Any) -> AIMessage:
    usage: Any = {"input_tokens": n_in, "output_tokens": n_out, "total_tokens": n_in + n_out, **details}
    return AIMessage("x", usage_metadata=usage, response_metadata={"model_name": name})


def test_a_block_is_counted_and_what_comes_after_is_not(call: Call) -> None:
    model = ScriptedChatModel(script=[paid(1, 2)])
    with Budget(prices=PRICES) as spent:
        call(model, "invoke", "x")
        call(RunnableLambda(lambda _: model.invoke("x")), "invoke", None)
    call(model, "invoke", "x")
    assert spent.cost == pytest.approx(0.01) and spent.total_tokens == 6 and spent.calls == 2


def test_the_call_after_the_limit_is_not_made(call: Call) -> None:
    model = ScriptedChatModel(script=[paid(1, 2)])
    with Budget(max_cost=0.01, prices=PRICES) as spent:
        call(model, "invoke", "x")
        call(model, "invoke", "x")
        with pytest.raises(BudgetExceededError, match=r"\$0.01 is used up"):
            call(model, "invoke", "x")
        with pytest.raises(BudgetExceededError):
            list(model.stream("x"))
    assert len(model.calls) == 2 and spent.cost == pytest.approx(0.01)


def test_tokens_can_be_limited_without_prices(call: Call) -> None:
    model = ScriptedChatModel(script=[paid(5, 5)])
    with Budget(max_tokens=15), pytest.raises(BudgetExceededError, match="15 tokens"):
        for _ in range(5):
            call(model, "invoke", "x")
    assert len(model.calls) == 2


def test_budgets_nest_and_the_inner_limit_is_its_own() -> None:
    model = ScriptedChatModel(script=[paid(1, 2)])
    with Budget(prices=PRICES) as outer:
        model.invoke("x")
        with Budget(max_cost=0.005, prices=PRICES) as inner:
            model.invoke("x")
            with pytest.raises(BudgetExceededError):
                model.invoke("x")
        model.invoke("x")
    assert outer.cost == pytest.approx(0.015) and inner.cost == pytest.approx(0.005)


def test_one_budget_is_around_one_block_at_a_time() -> None:
    budget = Budget(prices=PRICES)
    with budget, pytest.raises(RuntimeError, match="another block"), budget:
        pass
    with budget:
        pass


def test_cached_answers_are_free() -> None:
    model = ScriptedChatModel(script=[paid(1, 2)], cache=InMemoryCache())
    with Budget(max_cost=0.005, prices=PRICES) as spent:
        for _ in range(4):
            try:
                model.invoke("x")
            except BudgetExceededError:
                break
    assert spent.cost == pytest.approx(0.005) and spent.calls == 1


def test_unknown_prices_are_said_and_with_a_limit_refused(call: Call) -> None:
    model = ScriptedChatModel(script=[paid(1, 2, "nobody-knows")])
    with Budget(prices={}) as spent:
        call(model, "invoke", "x")
    assert spent.cost is None and spent.unpriced == {"nobody-knows"} and spent.total_tokens == 3
    with Budget(max_cost=1, prices={}), pytest.raises(BudgetExceededError, match="price of nobody-knows is not known"):
        for _ in range(3):
            call(model, "invoke", "x")
    assert len(model.calls) == 2


def test_without_the_package_a_limit_needs_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingDependencyError, match=r"clew\[prices\]"):
        Budget(max_cost=1)
    with Budget() as spent:
        ScriptedChatModel(script=[paid(1, 2)]).invoke("x")
    assert spent.cost is None and spent.total_tokens == 3


def test_a_broken_stream_costs_what_the_provider_had_said() -> None:
    from clew.errors import ModelConnectionError

    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    start = AIMessageChunk("a", usage_metadata=usage, response_metadata={"model_name": "fake-1"})
    for fault in (ModelConnectionError("cut"), RuntimeError("cut")):
        with Budget(prices=PRICES) as spent, pytest.raises(type(fault)):
            list(ScriptedChatModel(script=[[start, fault]]).stream("x"))
        assert spent.total_tokens == 3
    with Budget(prices=PRICES) as left:
        stream = ScriptedChatModel(script=[[start, "b"]]).stream("x")
        next(stream)
        stream.close()
    assert left.total_tokens == 3


def test_tasks_that_start_in_the_block_count() -> None:
    model = ScriptedChatModel(script=[paid(1, 2)])

    async def run() -> int:
        async with Budget(prices=PRICES) as spent:
            await asyncio.gather(*[model.ainvoke("x") for _ in range(5)])
        return spent.total_tokens

    assert asyncio.run(run()) == 15
    with Budget(prices=PRICES) as spent:
        model.batch(["x"] * 4)
    assert spent.total_tokens == 12


def test_case_019_the_usage_block_ends_with_an_exception() -> None:
    model = ScriptedChatModel(script=[paid(1, 2)])
    with pytest.raises(ZeroDivisionError), get_usage_metadata_callback() as usage:
        model.invoke("x")
        raise ZeroDivisionError
    model.invoke("x")
    assert usage.usage_metadata["fake-1"]["total_tokens"] == 3


def test_usage_is_added_up_per_model() -> None:
    details: Any = {"input_token_details": {"cache_read": 4}}
    model = ScriptedChatModel(script=[paid(5, 1, "a", **details), paid(5, 1, "a", **details), paid(2, 2, "b")])
    with get_usage_metadata_callback() as usage:
        for _ in range(3):
            model.invoke("x")
    assert usage.usage_metadata["a"]["input_token_details"] == {"cache_read": 8}
    assert usage.usage_metadata["b"]["total_tokens"] == 4


# -- prices -------------------------------------------------------------------------------------------------


def test_own_prices_match_by_name_or_longest_prefix() -> None:
    usage: Any = {"input_tokens": 1_000_000, "output_tokens": 500_000, "total_tokens": 1_500_000}
    prices = {"m": {"input": 1.0, "output": 2.0}, "m-large": {"input": 10.0, "output": 20.0}}
    assert cost_of("m", usage, prices=prices) == 2.0
    assert cost_of("m-large-2024", usage, prices=prices) == 20.0
    assert cost_of("mx", usage, prices=prices) is None


def test_parts_with_a_price_of_their_own_are_not_charged_twice() -> None:
    usage: Any = {
        "input_tokens": 1_000_000,
        "output_tokens": 0,
        "total_tokens": 1_000_000,
        "input_token_details": {"cache_read": 400_000, "audio": 100_000},
    }
    assert cost_of("m", usage, prices={"m": {"input": 1.0, "output": 1.0, "cache_read": 0.5}}) == pytest.approx(0.8)
    assert cost_of("m", usage, prices={"m": {"input": 1.0, "output": 1.0}}) == pytest.approx(1.0)


def test_the_kept_table_knows_common_models_and_guesses_none() -> None:
    pytest.importorskip("genai_prices", reason="needs: pip install genai-prices")
    usage: Any = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    cost = cost_of("gpt-4o-mini", usage)
    assert cost is not None and 0 < cost < 0.01
    cached: Any = {**usage, "input_token_details": {"cache_read": 900}}
    assert 0 < (cost_of("gpt-4o-mini", cached) or 0) < cost
    assert cost_of("nobody-knows-this-model", usage) is None
    assert cost_of("x", {**usage, "total_cost": 0}) == 0
