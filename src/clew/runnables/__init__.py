"""Runnables: compose models, prompts, functions and tools with a few verbs."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew._pool import cancel_requested, run_in_executor
    from clew.config import RunnableConfig
    from clew.runnables._binding import RunnableBinding, RunnableBindingBase
    from clew.runnables._each import RunnableEach, RunnableEachBase
    from clew.runnables._generator import RunnableGenerator
    from clew.runnables._lambda import RunnableLambda, chain
    from clew.runnables._parallel import RunnableMap, RunnableParallel
    from clew.runnables._sequence import RunnableSequence
    from clew.runnables._serializable import RunnableSerializable
    from clew.runnables.base import Runnable, coerce_to_runnable
    from clew.runnables.branch import RunnableBranch
    from clew.runnables.config import ensure_config, get_config_list, merge_configs, patch_config
    from clew.runnables.fallbacks import RunnableWithFallbacks
    from clew.runnables.history import RunnableWithMessageHistory
    from clew.runnables.passthrough import RunnableAssign, RunnablePassthrough, RunnablePick
    from clew.runnables.retry import RunnableRetry
    from clew.runnables.router import RouterInput, RouterRunnable
    from clew.runnables.utils import (
        AddableDict,
        ConfigurableField,
        ConfigurableFieldMultiOption,
        ConfigurableFieldSingleOption,
        ConfigurableFieldSpec,
    )

__all__ = [
    "AddableDict",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "RouterInput",
    "RouterRunnable",
    "Runnable",
    "RunnableAssign",
    "RunnableBinding",
    "RunnableBindingBase",
    "RunnableBranch",
    "RunnableConfig",
    "RunnableEach",
    "RunnableEachBase",
    "RunnableGenerator",
    "RunnableLambda",
    "RunnableMap",
    "RunnableParallel",
    "RunnablePassthrough",
    "RunnablePick",
    "RunnableRetry",
    "RunnableSequence",
    "RunnableSerializable",
    "RunnableWithFallbacks",
    "RunnableWithMessageHistory",
    "cancel_requested",
    "chain",
    "coerce_to_runnable",
    "ensure_config",
    "get_config_list",
    "merge_configs",
    "patch_config",
    "run_in_executor",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "AddableDict": ".utils",
        "ConfigurableField": ".utils",
        "ConfigurableFieldMultiOption": ".utils",
        "ConfigurableFieldSingleOption": ".utils",
        "ConfigurableFieldSpec": ".utils",
        "RouterInput": ".router",
        "RouterRunnable": ".router",
        "Runnable": ".base",
        "RunnableAssign": ".passthrough",
        "RunnableBinding": "._binding",
        "RunnableBindingBase": "._binding",
        "RunnableBranch": ".branch",
        "RunnableConfig": ".config",
        "RunnableEach": "._each",
        "RunnableEachBase": "._each",
        "RunnableGenerator": "._generator",
        "RunnableLambda": "._lambda",
        "RunnableMap": "._parallel",
        "RunnableParallel": "._parallel",
        "RunnablePassthrough": ".passthrough",
        "RunnablePick": ".passthrough",
        "RunnableRetry": ".retry",
        "RunnableSequence": "._sequence",
        "RunnableSerializable": "._serializable",
        "RunnableWithFallbacks": ".fallbacks",
        "RunnableWithMessageHistory": ".history",
        "cancel_requested": "clew._pool",
        "chain": "._lambda",
        "coerce_to_runnable": ".base",
        "ensure_config": ".config",
        "get_config_list": ".config",
        "merge_configs": ".config",
        "patch_config": ".config",
        "run_in_executor": "clew._pool",
    },
)
