"""Callbacks: hear what models, chains, tools and retrievers do. Nobody listening, nothing paid."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.callbacks._dispatch import ahandle_event, handle_event, new_run_id
    from clew.callbacks._events import adispatch_custom_event, dispatch_custom_event
    from clew.callbacks._group import (
        AsyncCallbackManagerForChainGroup,
        CallbackManagerForChainGroup,
        atrace_as_chain_group,
        trace_as_chain_group,
    )
    from clew.callbacks._manager import (
        AsyncCallbackManager,
        BaseCallbackManager,
        CallbackManager,
        ambient_handlers,
        anyone_listening,
    )
    from clew.callbacks._run import (
        AsyncCallbackManagerForChainRun,
        AsyncCallbackManagerForLLMRun,
        AsyncCallbackManagerForRetrieverRun,
        AsyncCallbackManagerForToolRun,
        AsyncParentRunManager,
        AsyncRunManager,
        BaseRunManager,
        CallbackManagerForChainRun,
        CallbackManagerForLLMRun,
        CallbackManagerForRetrieverRun,
        CallbackManagerForToolRun,
        ParentRunManager,
        RunManager,
    )
    from clew.callbacks._stdout import FileCallbackHandler, StdOutCallbackHandler, StreamingStdOutCallbackHandler
    from clew.callbacks._usage import UsageMetadataCallbackHandler, get_usage_metadata_callback
    from clew.callbacks.base import (
        AsyncCallbackHandler,
        BaseCallbackHandler,
        CallbackManagerMixin,
        Callbacks,
        ChainManagerMixin,
        LLMManagerMixin,
        RetrieverManagerMixin,
        RunManagerMixin,
        ToolManagerMixin,
    )

__all__ = [
    "AsyncCallbackHandler",
    "AsyncCallbackManager",
    "AsyncCallbackManagerForChainGroup",
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "AsyncParentRunManager",
    "AsyncRunManager",
    "BaseCallbackHandler",
    "BaseCallbackManager",
    "BaseRunManager",
    "CallbackManager",
    "CallbackManagerForChainGroup",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "CallbackManagerMixin",
    "Callbacks",
    "ChainManagerMixin",
    "FileCallbackHandler",
    "LLMManagerMixin",
    "ParentRunManager",
    "RetrieverManagerMixin",
    "RunManager",
    "RunManagerMixin",
    "StdOutCallbackHandler",
    "StreamingStdOutCallbackHandler",
    "ToolManagerMixin",
    "UsageMetadataCallbackHandler",
    "adispatch_custom_event",
    "ahandle_event",
    "ambient_handlers",
    "anyone_listening",
    "atrace_as_chain_group",
    "dispatch_custom_event",
    "get_usage_metadata_callback",
    "handle_event",
    "new_run_id",
    "trace_as_chain_group",
]

__getattr__, __dir__ = attributes(
    __name__,
    {name: "._dispatch" for name in ("ahandle_event", "handle_event", "new_run_id")}
    | {name: "._events" for name in ("adispatch_custom_event", "dispatch_custom_event")}
    | {
        name: "._group"
        for name in (
            "AsyncCallbackManagerForChainGroup",
            "CallbackManagerForChainGroup",
            "atrace_as_chain_group",
            "trace_as_chain_group",
        )
    }
    | {
        name: "._manager"
        for name in (
            "AsyncCallbackManager",
            "BaseCallbackManager",
            "CallbackManager",
            "ambient_handlers",
            "anyone_listening",
        )
    }
    | {
        name: "._run"
        for name in (
            "AsyncCallbackManagerForChainRun",
            "AsyncCallbackManagerForLLMRun",
            "AsyncCallbackManagerForRetrieverRun",
            "AsyncCallbackManagerForToolRun",
            "AsyncParentRunManager",
            "AsyncRunManager",
            "BaseRunManager",
            "CallbackManagerForChainRun",
            "CallbackManagerForLLMRun",
            "CallbackManagerForRetrieverRun",
            "CallbackManagerForToolRun",
            "ParentRunManager",
            "RunManager",
        )
    }
    | {
        name: "._stdout"
        for name in ("FileCallbackHandler", "StdOutCallbackHandler", "StreamingStdOutCallbackHandler")
    }
    | {name: "._usage" for name in ("UsageMetadataCallbackHandler", "get_usage_metadata_callback")}
    | {
        name: ".base"
        for name in (
            "AsyncCallbackHandler",
            "BaseCallbackHandler",
            "CallbackManagerMixin",
            "Callbacks",
            "ChainManagerMixin",
            "LLMManagerMixin",
            "RetrieverManagerMixin",
            "RunManagerMixin",
            "ToolManagerMixin",
        )
    },
)
