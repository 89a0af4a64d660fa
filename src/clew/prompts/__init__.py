"""Prompts with variables: texts, conversations, examples."""

from typing import TYPE_CHECKING

from clew._lazy import attributes

if TYPE_CHECKING:
    from clew.prompts._template import (
        PromptTemplateFormat,
        check_valid_template,
        get_template_variables,
    )
    from clew.prompts.base import (
        BasePromptTemplate,
        aformat_document,
        format_document,
    )
    from clew.prompts.chat import (
        AIMessagePromptTemplate,
        BaseChatPromptTemplate,
        BaseMessagePromptTemplate,
        BaseStringMessagePromptTemplate,
        ChatMessagePromptTemplate,
        ChatPromptTemplate,
        HumanMessagePromptTemplate,
        MessagesPlaceholder,
        SystemMessagePromptTemplate,
    )
    from clew.prompts.dict import (
        DictPromptTemplate,
    )
    from clew.prompts.few_shot import (
        FewShotChatMessagePromptTemplate,
        FewShotPromptTemplate,
        FewShotPromptWithTemplates,
    )
    from clew.prompts.image import (
        ImagePromptTemplate,
    )
    from clew.prompts.loading import (
        load_prompt,
    )
    from clew.prompts.prompt import (
        PromptTemplate,
    )
    from clew.prompts.string import (
        StringPromptTemplate,
    )

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseMessagePromptTemplate",
    "BasePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "DictPromptTemplate",
    "FewShotChatMessagePromptTemplate",
    "FewShotPromptTemplate",
    "FewShotPromptWithTemplates",
    "HumanMessagePromptTemplate",
    "ImagePromptTemplate",
    "MessagesPlaceholder",
    "PromptTemplate",
    "PromptTemplateFormat",
    "StringPromptTemplate",
    "SystemMessagePromptTemplate",
    "aformat_document",
    "check_valid_template",
    "format_document",
    "get_template_variables",
    "load_prompt",
]

__getattr__, __dir__ = attributes(
    __name__,
    {
        "check_valid_template": "._template",
        "get_template_variables": "._template",
        "PromptTemplateFormat": "._template",
        "BasePromptTemplate": ".base",
        "aformat_document": ".base",
        "format_document": ".base",
        "AIMessagePromptTemplate": ".chat",
        "BaseChatPromptTemplate": ".chat",
        "BaseMessagePromptTemplate": ".chat",
        "BaseStringMessagePromptTemplate": ".chat",
        "ChatMessagePromptTemplate": ".chat",
        "ChatPromptTemplate": ".chat",
        "HumanMessagePromptTemplate": ".chat",
        "MessagesPlaceholder": ".chat",
        "SystemMessagePromptTemplate": ".chat",
        "DictPromptTemplate": ".dict",
        "FewShotChatMessagePromptTemplate": ".few_shot",
        "FewShotPromptTemplate": ".few_shot",
        "FewShotPromptWithTemplates": ".few_shot",
        "ImagePromptTemplate": ".image",
        "load_prompt": ".loading",
        "PromptTemplate": ".prompt",
        "StringPromptTemplate": ".string",
    },
)
