"""The whole sequence of a call of a text model: callbacks, cache, the misses in one call, the end of each run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clew._drive import awaited, drive
from clew.caches._flight import Abandoned, Flight
from clew.callbacks._manager import AsyncCallbackManager, CallbackManager
from clew.language_models._caching import resolve_cache
from clew.language_models._errors import EmptyStreamError
from clew.language_models._facts import serialized
from clew.language_models._observed import is_heard
from clew.language_models._params import params_text
from clew.language_models._stream import aclosing, astream_of, closing, stream_of
from clew.language_models._turn import blocking
from clew.language_models.llms import aget_prompts, aupdate_cache, get_prompts, update_cache
from clew.outputs import GenerationChunk, LLMResult, RunInfo
from clew.runnables.config import ensure_config, get_config_list

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from clew.caches._base import BaseCache
    from clew.language_models.llms import BaseLLM


class Said(NamedTuple):
    """What a caller says about the run of one prompt."""

    callbacks: Any
    tags: list[str] | None
    metadata: dict[str, Any] | None
    run_name: str | None
    run_id: Any


class TextTurn(NamedTuple):
    """One prompt on its way through the stream of a text model."""

    model: BaseLLM
    messages: str  # the name under which `_stream.stream_of` finds what to send
    stop: list[str] | None
    kwargs: dict[str, Any]
    run: Any


def says(prompts: Any, callbacks: Any, tags: Any, metadata: Any, run_name: Any, run_id: Any) -> list[Said]:
    """Return what is said about each prompt: of a list of lists (or of names, dicts, ids) one item each."""
    if not isinstance(prompts, list):
        raise ValueError(f"prompts must be a list of str, not {type(prompts).__name__}: {prompts!r}")
    count = len(cast("list[str]", prompts))

    def spread(value: Any, what: str, is_list: bool) -> list[Any]:
        if not is_list:
            return [value] * count
        if len(value) != count:
            raise ValueError(f"{what}: {len(value)} given for {count} prompts")
        return list(value)

    listed = cast("list[Any]", callbacks) if isinstance(callbacks, list) else []
    many_callbacks = bool(listed) and all(_is_callbacks(each) for each in listed)
    tag_lists = cast("list[Any]", tags) if isinstance(tags, list) else []
    many_tags = bool(tag_lists) and isinstance(tag_lists[0], list)
    ids: list[Any] = spread(run_id, "run_id", True) if isinstance(run_id, list) else [run_id, *[None] * count][:count]
    return [
        Said(*each)
        for each in zip(
            spread(callbacks, "callbacks", many_callbacks),
            spread(tags, "tags", many_tags),
            spread(metadata, "metadata", isinstance(metadata, list)),
            spread(run_name, "run_name", isinstance(run_name, list)),
            ids,
            strict=True,
        )
    ]


def _is_callbacks(value: Any) -> bool:
    return value is None or isinstance(value, list) or hasattr(value, "inheritable_handlers")


# -- generate ---------------------------------------------------------------------------------------------


def generate(model: BaseLLM, prompts: list[str], stop: Any, said: list[Said], kwargs: dict[str, Any]) -> LLMResult:
    """See `BaseLLM.generate`."""
    runs = [_begin(model, prompt, stop, each, kwargs, len(prompts)) for prompt, each in zip(prompts, said, strict=True)]
    try:
        result = drive(_answer(_Ask(model, prompts, stop, kwargs, runs, _BLOCKING)))
    except BaseException as error:
        for run in runs:
            if run is not None:
                run.on_llm_error(error)
        raise
    for run, each in zip(runs, result.flatten(), strict=True):
        if run is not None:
            run.on_llm_end(each)
    return _with_runs(result, runs)


async def agenerate(
    model: BaseLLM, prompts: list[str], stop: Any, said: list[Said], kwargs: dict[str, Any]
) -> LLMResult:
    """See `BaseLLM.agenerate`."""
    runs = [
        await _abegin(model, prompt, stop, each, kwargs, len(prompts))
        for prompt, each in zip(prompts, said, strict=True)
    ]
    try:
        result = await _answer(_Ask(model, prompts, stop, kwargs, runs, _AWAITED))
    except BaseException as error:
        for run in runs:
            if run is not None:
                await run.on_llm_error(error)
        raise
    for run, each in zip(runs, result.flatten(), strict=True):
        if run is not None:
            await run.on_llm_end(each)
    return _with_runs(result, runs)


class _Face(NamedTuple):
    is_blocking: bool
    get_prompts: Callable[..., Any]
    update_cache: Callable[..., Any]
    call: Callable[..., Any]
    join: Callable[..., Any]


class _Ask(NamedTuple):
    """What is the same for all prompts of a call."""

    model: BaseLLM
    prompts: list[str]
    stop: Any
    kwargs: dict[str, Any]
    runs: list[Any]
    face: _Face


async def _answer(ask: _Ask) -> LLMResult:
    """Look all prompts up, ask the model for the misses, keep and merge what it says."""
    params = {**ask.model.asdict(), **ask.kwargs, "stop": ask.stop}
    cache = resolve_cache(ask.model.cache)
    found: dict[int, Any] = {}
    if not ask.prompts:
        llm_output = None
    elif cache is None:
        llm_output = await _fetch(ask, found, "", list(range(len(ask.prompts))))
    else:
        llm_output = await _share(ask, found, params, cache)
    return LLMResult(generations=[found[position] for position in range(len(ask.prompts))], llm_output=llm_output)


async def _share(ask: _Ask, found: dict[int, Any], params: dict[str, Any], cache: BaseCache) -> dict[str, Any] | None:
    """Look up and ask for the prompts that nobody else is asking for, then wait for the others."""
    text = params_text(params)
    mine: dict[int, Flight] = {}
    others: dict[int, Flight] = {}
    for position, prompt in enumerate(ask.prompts):
        flight, leads = cache.flights.join((prompt, text))
        (mine if leads else others)[position] = flight
    own = {id(flight) for flight in mine.values()}
    try:
        llm_output = await _lead(ask, found, params, list(mine)) if mine else None
        for position, flight in mine.items():
            flight.land(_copies(found[position]))
    except Exception as error:
        for flight in mine.values():
            flight.fail(error)
        raise
    finally:
        for flight in mine.values():
            flight.abandon()
    for position, flight in others.items():
        waits_for_us = ask.face.is_blocking and flight.thread == threading.get_ident() and id(flight) not in own
        try:
            if waits_for_us:  # for this very thread: its event loop, or the model that called us
                raise Abandoned
            found[position] = _copies(await ask.face.join(flight))
        except Abandoned:
            await _fetch(ask, found, text, [position])
    return llm_output


async def _lead(
    ask: _Ask, found: dict[int, Any], params: dict[str, Any], positions: list[int]
) -> dict[str, Any] | None:
    """Look up the prompts in some positions, and ask for those that miss."""
    prompts = [ask.prompts[position] for position in positions]
    hits, text, missing, _ = await ask.face.get_prompts(params, prompts, ask.model.cache)
    found.update({positions[number]: generations for number, generations in hits.items()})
    return await _fetch(ask, found, text, [positions[number] for number in missing]) if missing else None


def _copies(generations: Any) -> list[Any]:
    return [generation.model_copy(deep=True) for generation in generations]


async def _fetch(ask: _Ask, found: dict[int, Any], llm_string: str, positions: list[int]) -> dict[str, Any] | None:
    """Ask the model for the prompts in some positions, in one call, and put its answers among the found ones."""
    prompts = [ask.prompts[position] for position in positions]
    new: LLMResult = await ask.face.call(ask.model, prompts, ask.stop, ask.runs[positions[0]], ask.kwargs)
    if len(new.generations) != len(prompts):
        name = type(ask.model).__name__
        raise ValueError(f"{name}._generate returned {len(new.generations)} answers to {len(prompts)} prompts")
    return await ask.face.update_cache(ask.model.cache, found, llm_string, positions, new, ask.prompts)


def _call(model: BaseLLM, prompts: list[str], stop: Any, run: Any, kwargs: dict[str, Any]) -> LLMResult:
    if model.clew_hooks.generate_managed:
        return model._generate(prompts, stop=stop, run_manager=blocking(run), **kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
    return model._generate(prompts, stop=stop, **kwargs)  # pyright: ignore[reportPrivateUsage] - the hook


async def _acall(model: BaseLLM, prompts: list[str], stop: Any, run: Any, kwargs: dict[str, Any]) -> LLMResult:
    if model.clew_hooks.agenerate_managed:
        return await model._agenerate(prompts, stop=stop, run_manager=run, **kwargs)  # pyright: ignore[reportPrivateUsage] - the hook
    return await model._agenerate(prompts, stop=stop, **kwargs)  # pyright: ignore[reportPrivateUsage] - the hook


_BLOCKING = _Face(True, awaited(get_prompts), awaited(update_cache), awaited(_call), awaited(Flight.wait))
_AWAITED = _Face(False, aget_prompts, aupdate_cache, _acall, Flight.await_end)


async def in_thread(model: BaseLLM, prompts: list[str], stop: Any, run: Any, kwargs: dict[str, Any]) -> LLMResult:
    """Call a blocking `_generate` in a worker thread."""
    from clew._pool import run_in_executor

    return await run_in_executor(None, _call, model, prompts, stop, run, kwargs)


def _with_runs(result: LLMResult, runs: list[Any]) -> LLMResult:
    result.run = [RunInfo(run_id=run.run_id) for run in runs if run is not None] or None
    return result


# -- the begin of runs ------------------------------------------------------------------------------------


def _begin(model: BaseLLM, prompt: str, stop: Any, said: Said, kwargs: dict[str, Any], size: int) -> Any:
    if not is_heard(model, said.callbacks):
        return None
    manager = _configured(CallbackManager, model, stop, said, kwargs)
    return manager.on_llm_start(serialized(model), [prompt], **_facts(model, stop, said, kwargs, size))[0]


async def _abegin(model: BaseLLM, prompt: str, stop: Any, said: Said, kwargs: dict[str, Any], size: int) -> Any:
    if not is_heard(model, said.callbacks):
        return None
    manager = _configured(AsyncCallbackManager, model, stop, said, kwargs)
    return (await manager.on_llm_start(serialized(model), [prompt], **_facts(model, stop, said, kwargs, size)))[0]


def _configured(kind: Any, model: BaseLLM, stop: Any, said: Said, kwargs: dict[str, Any]) -> Any:
    params = model._get_ls_params(stop=stop, **kwargs)  # pyright: ignore[reportPrivateUsage] - a hook
    metadata = {**(said.metadata or {}), **params}
    return kind.configure(
        said.callbacks, model.callbacks, model.verbose, said.tags, model.tags, metadata, model.metadata
    )


def _facts(model: BaseLLM, stop: Any, said: Said, kwargs: dict[str, Any], size: int) -> dict[str, Any]:
    return {
        "invocation_params": model._get_invocation_params(stop=stop, **kwargs),  # pyright: ignore[reportPrivateUsage] - a hook
        "options": {"stop": stop},
        "name": said.run_name or model.get_name(),
        "run_id": said.run_id,
        "batch_size": size,
    }


# -- invoke and batch -------------------------------------------------------------------------------------


def _given(config: Any) -> dict[str, Any]:
    return {key: config.get(key) for key in ("callbacks", "tags", "metadata", "run_name", "run_id")}


def invoke(model: BaseLLM, input: Any, config: Any, stop: Any, kwargs: dict[str, Any]) -> str:
    """See `BaseLLM.invoke`."""
    full: Any = ensure_config(config)
    if (seconds := full.pop("timeout", None)) is not None:
        from clew.runnables._timeout import within

        return within(seconds, lambda: invoke(model, input, full, stop, kwargs))
    prompt = model._convert_input(input)  # pyright: ignore[reportPrivateUsage] - one component
    return model.generate_prompt([prompt], stop=stop, **_given(full), **kwargs).generations[0][0].text


async def ainvoke(model: BaseLLM, input: Any, config: Any, stop: Any, kwargs: dict[str, Any]) -> str:
    """See `BaseLLM.ainvoke`."""
    full: Any = ensure_config(config)
    if (seconds := full.pop("timeout", None)) is not None:
        from clew.runnables._timeout import awithin

        return await awithin(seconds, ainvoke(model, input, full, stop, kwargs))
    prompt = model._convert_input(input)  # pyright: ignore[reportPrivateUsage] - one component
    result = await model.agenerate_prompt([prompt], stop=stop, **_given(full), **kwargs)
    return result.generations[0][0].text


def _groups(inputs: list[Any], config: Any) -> list[tuple[list[Any], dict[str, Any]]]:
    """Return the inputs with what is said about them, as many at a time as max_concurrency allows."""
    configs: list[Any] = get_config_list(config, len(inputs))
    size = (configs[0].get("max_concurrency") if configs else None) or len(inputs) or 1
    groups: list[tuple[list[Any], dict[str, Any]]] = []
    for start in range(0, len(inputs), size):
        rows = configs[start : start + size]
        said = {key: [row.get(key) for row in rows] for key in ("metadata", "run_name", "run_id")}
        said["callbacks"] = [row.get("callbacks") for row in rows]
        said["tags"] = [row.get("tags") or [] for row in rows]
        groups.append((inputs[start : start + size], said))
    return groups


def batch(model: BaseLLM, inputs: list[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]) -> list[Any]:
    """See `BaseLLM.batch`."""
    texts: list[Any] = []
    for group, said in _groups(inputs, config):
        try:
            prompts = [model._convert_input(each) for each in group]  # pyright: ignore[reportPrivateUsage] - one component
            texts += [row[0].text for row in model.generate_prompt(prompts, **said, **kwargs).generations]
        except Exception as error:
            if not return_exceptions:
                raise
            texts += [error] * len(group)
    return texts


async def abatch(
    model: BaseLLM, inputs: list[Any], config: Any, return_exceptions: bool, kwargs: dict[str, Any]
) -> list[Any]:
    """See `BaseLLM.abatch`."""
    texts: list[Any] = []
    for group, said in _groups(inputs, config):
        try:
            prompts = [model._convert_input(each) for each in group]  # pyright: ignore[reportPrivateUsage] - one component
            texts += [row[0].text for row in (await model.agenerate_prompt(prompts, **said, **kwargs)).generations]
        except Exception as error:
            if not return_exceptions:
                raise
            texts += [error] * len(group)
    return texts


# -- stream -----------------------------------------------------------------------------------------------


def stream(model: BaseLLM, input: Any, config: Any, stop: Any, kwargs: dict[str, Any]) -> Iterator[str]:
    """See `BaseLLM.stream`."""
    if not model.clew_hooks.streams:
        yield model.invoke(input, config, stop=stop, **kwargs)
        return
    full: Any = ensure_config(config)
    prompt = model._convert_input(input).to_string()  # pyright: ignore[reportPrivateUsage] - one component
    run = _begin(model, prompt, stop, Said(**_given(full)), kwargs, 1)
    came: list[GenerationChunk] = []
    try:
        with closing(stream_of(_turn(model, prompt, stop, kwargs, run))) as chunks:
            for chunk in chunks:
                came.append(chunk)
                if run is not None:
                    run.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk.text
        if not came:
            raise EmptyStreamError
    except GeneratorExit:
        if run is not None:
            run.on_llm_end(_summed(came))
        raise
    except BaseException as error:
        if run is not None:
            run.on_llm_error(error, response=_summed(came) if came else None)
        raise
    if run is not None:
        run.on_llm_end(_summed(came))


async def astream(model: BaseLLM, input: Any, config: Any, stop: Any, kwargs: dict[str, Any]) -> AsyncIterator[str]:
    """See `BaseLLM.astream`."""
    if not model.clew_hooks.streams and not model.clew_hooks.astreams:
        yield await model.ainvoke(input, config, stop=stop, **kwargs)
        return
    full: Any = ensure_config(config)
    prompt = model._convert_input(input).to_string()  # pyright: ignore[reportPrivateUsage] - one component
    run = await _abegin(model, prompt, stop, Said(**_given(full)), kwargs, 1)
    came: list[GenerationChunk] = []
    try:
        async with aclosing(astream_of(_turn(model, prompt, stop, kwargs, run))) as chunks:
            async for chunk in chunks:
                came.append(chunk)
                if run is not None:
                    await run.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk.text
        if not came:
            raise EmptyStreamError
    except GeneratorExit:
        if run is not None:
            await run.on_llm_end(_summed(came))
        raise
    except BaseException as error:
        if run is not None:
            await run.on_llm_error(error, response=_summed(came) if came else None)
        raise
    if run is not None:
        await run.on_llm_end(_summed(came))


def _turn(model: BaseLLM, prompt: str, stop: Any, kwargs: dict[str, Any], run: Any) -> Any:
    return TextTurn(model, prompt, stop, kwargs, run)


def _summed(chunks: list[GenerationChunk]) -> LLMResult:
    from clew._kernel.merge import merge_facts

    infos = [chunk.generation_info for chunk in chunks if chunk.generation_info]
    whole = GenerationChunk(
        text="".join(chunk.text for chunk in chunks), generation_info=merge_facts(*infos) if infos else None
    )
    return LLMResult(generations=[[whole]])
