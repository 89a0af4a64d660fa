"""Tools: functions that a model may ask for."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.tools._injected import (
        DirectlyInjectedToolArg,
        InjectedToolArg,
        InjectedToolCallId,
    )
    from clew.tools._schema import (
        create_schema_from_function,
    )
    from clew.tools.base import (
        BaseTool,
        BaseToolkit,
        SchemaAnnotationError,
        ToolException,
    )
    from clew.tools.convert import (
        convert_runnable_to_tool,
        tool,
    )
    from clew.tools.render import (
        ToolsRenderer,
        render_text_description,
        render_text_description_and_args,
    )
    from clew.tools.retriever import (
        RetrieverInput,
        create_retriever_tool,
    )
    from clew.tools.structured import (
        StructuredTool,
        Tool,
    )

__all__ = [
    "BaseTool",
    "BaseToolkit",
    "DirectlyInjectedToolArg",
    "InjectedToolArg",
    "InjectedToolCallId",
    "RetrieverInput",
    "SchemaAnnotationError",
    "StructuredTool",
    "Tool",
    "ToolException",
    "ToolsRenderer",
    "convert_runnable_to_tool",
    "create_retriever_tool",
    "create_schema_from_function",
    "render_text_description",
    "render_text_description_and_args",
    "tool",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "DirectlyInjectedToolArg": "._injected",
        "InjectedToolArg": "._injected",
        "InjectedToolCallId": "._injected",
        "create_schema_from_function": "._schema",
        "BaseTool": ".base",
        "BaseToolkit": ".base",
        "SchemaAnnotationError": ".base",
        "ToolException": ".base",
        "convert_runnable_to_tool": ".convert",
        "tool": ".convert",
        "ToolsRenderer": ".render",
        "render_text_description": ".render",
        "render_text_description_and_args": ".render",
        "RetrieverInput": ".retriever",
        "create_retriever_tool": ".retriever",
        "StructuredTool": ".structured",
        "Tool": ".structured",
    },
)
