"""Configs: merged, inherited, ambient; components that a call configures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from clew.callbacks import BaseCallbackHandler, CallbackManager
from clew.config import get_config, get_store, get_stream_writer
from clew.errors import OutsideWorkflowError
from clew.runnables import (
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnableSerializable,
    ensure_config,
    get_config_list,
    merge_configs,
    patch_config,
)
from clew.runnables.config import get_callback_manager_for_config, set_config_context


def test_a_whole_config():
    assert ensure_config() == {"tags": [], "metadata": {}, "callbacks": None, "recursion_limit": 25, "configurable": {}}
    given: RunnableConfig = {"tags": ["a"], "configurable": {"x": 1, "__y": 2, "token": "t"}}
    full = ensure_config(given)
    assert full["metadata"] == {"x": 1} and full["tags"] == ["a"] and full["tags"] is not given["tags"]


def test_configs_are_merged_by_the_kind_of_key():
    one, two = BaseCallbackHandler(), BaseCallbackHandler()
    merged = merge_configs(
        {"tags": ["b", "a"], "metadata": {"x": 1, "y": 1}, "callbacks": [one], "run_name": "n", "recursion_limit": 7},
        None,
        {"tags": ["c", "a"], "metadata": {"y": 2}, "callbacks": [one, two], "configurable": {"k": 1}},
    )
    assert merged["tags"] == ["a", "b", "c"] and merged["metadata"] == {"x": 1, "y": 2}
    assert merged["callbacks"] == [one, two] and merged["run_name"] == "n" and merged["recursion_limit"] == 7
    manager = CallbackManager.configure([one])
    for pair in ((manager, [two]), ([two], manager), (manager, CallbackManager.configure([two]))):
        joined: Any = merge_configs({"callbacks": pair[0]}, {"callbacks": pair[1]})["callbacks"]
        assert joined.handlers == [one, two]
    assert manager.handlers == [one]


def test_a_patched_config_is_another_runs():
    manager = CallbackManager([])
    patched = patch_config({"run_name": "n", "configurable": {"a": 1}}, callbacks=manager, configurable={"b": 2})
    assert "run_name" not in patched and patched["callbacks"] is manager and patched["configurable"] == {"a": 1, "b": 2}
    assert patch_config({"run_name": "n"}, max_concurrency=3, recursion_limit=5)["run_name"] == "n"


def test_a_run_id_goes_to_the_first_of_a_batch():
    from clew.callbacks import new_run_id

    run_id = new_run_id()
    configs = get_config_list({"run_id": run_id, "tags": ["t"]}, 3)
    assert [config.get("run_id") for config in configs] == [run_id, None, None] and configs[2]["tags"] == ["t"]
    with pytest.raises(ValueError, match="2"):
        get_config_list([{}], 2)


def test_functions_are_given_the_config_they_ask_for(call):
    def show(x: Any, config: RunnableConfig) -> Any:
        return config["configurable"].get("k"), config["tags"]

    assert call(RunnableLambda(show), "invoke", 1) == (None, [])
    assert call(RunnableLambda(show), "invoke", 1, {"configurable": {"k": "v"}, "tags": ["t"]}) == ("v", ["t"])


def test_the_config_is_ambient_inside_functions_and_can_be_overridden(call):
    inner = RunnableLambda(lambda x: (get_config()["configurable"], get_config().get("tags")))

    def outer(x: Any) -> Any:
        return inner.invoke(x), inner.invoke(x, {"tags": ["mine"]}), get_config()["configurable"]

    given = {"configurable": {"k": 1}, "tags": ["t"]}
    assert call(RunnableLambda(outer), "invoke", 1, given) == (({"k": 1}, ["t"]), ({"k": 1}, ["mine"]), {"k": 1})


def test_own_keys_are_not_inherited(call):
    inner = RunnableLambda(lambda x: sorted(get_config()))
    steps = RunnableLambda(lambda x: inner.invoke(x)) | (lambda keys: keys)
    keys = call(steps, "invoke", 1, {"run_name": "n", "timeout": 9, "tags": ["t"]})
    assert keys == ["tags"]


def test_outside_of_everything_there_is_no_config():
    for ask in (get_config, get_store, get_stream_writer):
        with pytest.raises(OutsideWorkflowError, match=ask.__name__):
            ask()


def test_a_context_with_a_config():
    with set_config_context({"tags": ["t"]}) as context:
        assert context.run(get_config) == {"tags": ["t"]}
    with pytest.raises(RuntimeError):
        get_config()


def test_the_manager_of_a_config():
    handler = BaseCallbackHandler()
    manager = get_callback_manager_for_config({"callbacks": [handler], "tags": ["t"], "metadata": {"m": 1}})
    assert manager.inheritable_handlers == [handler] and manager.tags == ["t"] and manager.metadata == {"m": 1}


class Greet(RunnableSerializable[str, str]):
    word: str = "hi"
    ends: list[str] = []

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> str:
        return f"{self.word} {input}{''.join(self.ends)}"


def test_fields_set_per_call(call):
    greet = Greet(word="hey").configurable_fields(word=ConfigurableField(id="word", description="how"))
    assert call(greet, "invoke", "you") == "hey you"
    assert call(greet, "invoke", "you", {"configurable": {"word": "yo"}}) == "yo you"
    assert call(greet | str.upper, "batch", ["a", "b"], {"configurable": {"word": "yo"}}) == ["YO A", "YO B"]
    (spec,) = greet.config_specs
    assert (spec.id, spec.annotation, spec.default, spec.description) == ("word", str, "hey", "how")
    assert (RunnableLambda(str) | greet).config_specs == [spec]
    assert (
        call(RunnableLambda(lambda x: greet.invoke(x)), "invoke", "you", {"configurable": {"word": "yo"}}) == "yo you"
    )
    with pytest.raises(ValueError, match="nope"):
        Greet().configurable_fields(nope=ConfigurableField(id="x"))
    assert "word" in greet.config_schema().model_json_schema()["$defs"]["Configurable"]["properties"]


def test_fields_with_another_name_outside(call):
    class Named(Greet):
        model_config = ConfigDict(validate_by_name=False, validate_by_alias=True)
        word: str = Field(default="hi", alias="w")

    greet = Named(w="hey").configurable_fields(ends=ConfigurableField(id="ends"), word=ConfigurableField(id="word"))
    assert call(greet, "invoke", "x", {"configurable": {"ends": ["!"]}}) == "hey x!"
    assert call(greet, "invoke", "x", {"configurable": {"word": "yo"}}) == "yo x"


@pytest.mark.filterwarnings("ignore:Classes should inherit from `BaseModel` before generic classes")
def test_runnables_are_fields_of_pydantic_models():
    class Holder(BaseModel):
        step: Runnable[Any, Any]
        exact: RunnableLambda[Any] | None = None
        greet: Greet

    class Adder(Runnable[int, int]):
        n: int

        def invoke(self, input: int, config: Any = None, **kwargs: Any) -> int:
            return input + self.n

    class Both(Adder, BaseModel):
        n: int

    assert Both(n=2).invoke(1) == 3 and Both.model_validate({"n": 1}).n == 1
    holder = Holder(step=RunnableLambda(str) | len, greet=Greet(), exact=RunnableLambda(str))
    assert holder.step.invoke(12) == 2
    with pytest.raises(ValueError, match="step"):
        Holder(step=3, greet=Greet())  # type: ignore[arg-type] - the point


def test_fields_set_to_named_options(call):
    one = ConfigurableFieldSingleOption(id="word", options={"low": "hi", "high": "HI"}, default="low")
    many = ConfigurableFieldMultiOption(id="ends", options={"a": "!", "b": "?"}, default=["a"])
    greet = Greet().configurable_fields(word=one, ends=many)
    assert call(greet, "invoke", "x", {"configurable": {"other": 1}}) == "hi x!"
    assert call(greet, "invoke", "x", {"configurable": {"word": "high", "ends": ["b", "a"]}}) == "HI x?!"
    with pytest.raises(ValueError, match="must be one of"):
        call(greet, "invoke", "x", {"configurable": {"word": "mid"}})


def test_alternatives(call):
    which = ConfigurableField(id="who")
    greet = Greet().configurable_alternatives(
        which, default_key="plain", loud=Greet(word="HEY"), made=lambda: Greet(word="new")
    )
    assert call(greet, "invoke", "x") == "hi x"
    for key, said in (("plain", "hi x"), ("loud", "HEY x"), ("made", "new x")):
        assert call(greet, "invoke", "x", {"configurable": {"who": key}}) == said
    with pytest.raises(ValueError, match="plain"):
        call(greet, "invoke", "x", {"configurable": {"who": "nobody"}})
    assert list(call(greet.with_config(configurable={"who": "loud"}), "stream", "x")) == ["HEY x"]


def test_alternatives_with_fields_of_their_own(call):
    field = ConfigurableField(id="word")
    greet = (
        Greet()
        .configurable_fields(word=field)
        .configurable_alternatives(
            ConfigurableField(id="who"), prefix_keys=True, other=Greet(word="o").configurable_fields(word=field)
        )
    )
    assert [spec.id for spec in greet.config_specs] == ["who", "who==default/word", "who==other/word"]
    wanted = {"who": "other", "who==other/word": "mine"}
    assert call(greet, "invoke", "x", {"configurable": wanted}) == "mine x"
    assert call(greet, "invoke", "x", {"configurable": {"who": "other"}}) == "o x"


def test_what_a_component_offers_beside_invoke_is_there_too():
    class Tools(Greet):
        def bind_tools(self, tools: Any) -> Any:
            return self.bind(tools=tools)

    greet: Any = Tools().configurable_fields(word=ConfigurableField(id="word"))
    assert greet.bind_tools([1]).kwargs == {"tools": [1]} and greet.word == "hi"
    with pytest.raises(AttributeError):
        _ = greet.nothing


def test_bindings_are_joined(call):
    show = RunnableLambda(lambda x, config, **kwargs: (kwargs, config["tags"]))
    bound = show.bind(a=1).bind(b=2).with_config(tags=["x"]).with_config(tags=["y"], run_name="n")
    assert bound.get_name() == "n" and type(bound.bound) is RunnableLambda
    assert call(bound, "invoke", 1, {"tags": ["z"]}, c=3) == ({"a": 1, "b": 2, "c": 3}, ["x", "y", "z"])
    assert call(bound, "batch", [1, 2]) == [({"a": 1, "b": 2}, ["x", "y"])] * 2


def test_methods_of_what_is_bound_get_the_config():
    class Sized(Greet):
        def size(self, config: Any = None) -> Any:
            return config["tags"]

    bound: Any = Sized().with_config(tags=["t"])
    assert bound.size() == ["t"] and bound.word == "hi"


def test_types_and_schemas():
    def count(text: str) -> int:
        return len(text)

    step = RunnableLambda(count)
    assert (step.InputType, step.OutputType, Greet().InputType) == (str, int, str)
    assert (
        step.get_input_jsonschema()["type"] == "string" and step.output_schema.model_json_schema()["type"] == "integer"
    )
    both = RunnableParallel(n=step, text=RunnableLambda(str))
    assert both.get_output_jsonschema()["properties"]["n"] == {"title": "N", "type": "integer"}
    assert (step | (lambda n: n)).InputType is str
    assert step.with_types(output_type=float).OutputType is float
    picked = (both.assign(more=step)).pick("n")
    assert picked.get_output_jsonschema()["type"] == "integer"
    with pytest.raises(TypeError, match="InputType"):
        _ = type("Bare", (RunnableSerializable,), {"invoke": lambda self, x, config=None: x})().InputType


def test_the_same_event_loop_may_come_and_go():
    step = RunnableLambda(lambda x: x)
    for _ in range(3):
        assert asyncio.run(step.abatch([1, 2])) == [1, 2]
