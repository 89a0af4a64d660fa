"""Output parsers: from what a model says to a value."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.output_parsers.base import (
        BaseGenerationOutputParser,
        BaseLLMOutputParser,
        BaseOutputParser,
        OutputParserException,
        OutputParserLike,
    )
    from clew.output_parsers.json import (
        JsonOutputParser,
        SimpleJsonOutputParser,
    )
    from clew.output_parsers.list import (
        CommaSeparatedListOutputParser,
        ListOutputParser,
        MarkdownListOutputParser,
        NumberedListOutputParser,
    )
    from clew.output_parsers.openai_functions import (
        JsonKeyOutputFunctionsParser,
        JsonOutputFunctionsParser,
        PydanticOutputFunctionsParser,
    )
    from clew.output_parsers.openai_tools import (
        JsonOutputKeyToolsParser,
        JsonOutputToolsParser,
        PydanticToolsParser,
    )
    from clew.output_parsers.pydantic import (
        PydanticOutputParser,
    )
    from clew.output_parsers.string import (
        StrOutputParser,
    )
    from clew.output_parsers.transform import (
        BaseCumulativeTransformOutputParser,
        BaseTransformOutputParser,
    )
    from clew.output_parsers.xml import (
        XMLOutputParser,
    )

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "BaseTransformOutputParser",
    "CommaSeparatedListOutputParser",
    "JsonKeyOutputFunctionsParser",
    "JsonOutputFunctionsParser",
    "JsonOutputKeyToolsParser",
    "JsonOutputParser",
    "JsonOutputToolsParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
    "OutputParserException",
    "OutputParserLike",
    "PydanticOutputFunctionsParser",
    "PydanticOutputParser",
    "PydanticToolsParser",
    "SimpleJsonOutputParser",
    "StrOutputParser",
    "XMLOutputParser",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "BaseGenerationOutputParser": ".base",
        "BaseLLMOutputParser": ".base",
        "BaseOutputParser": ".base",
        "OutputParserException": ".base",
        "OutputParserLike": ".base",
        "JsonOutputParser": ".json",
        "SimpleJsonOutputParser": ".json",
        "CommaSeparatedListOutputParser": ".list",
        "ListOutputParser": ".list",
        "MarkdownListOutputParser": ".list",
        "NumberedListOutputParser": ".list",
        "JsonKeyOutputFunctionsParser": ".openai_functions",
        "JsonOutputFunctionsParser": ".openai_functions",
        "PydanticOutputFunctionsParser": ".openai_functions",
        "JsonOutputKeyToolsParser": ".openai_tools",
        "JsonOutputToolsParser": ".openai_tools",
        "PydanticToolsParser": ".openai_tools",
        "PydanticOutputParser": ".pydantic",
        "StrOutputParser": ".string",
        "BaseCumulativeTransformOutputParser": ".transform",
        "BaseTransformOutputParser": ".transform",
        "XMLOutputParser": ".xml",
    },
)
