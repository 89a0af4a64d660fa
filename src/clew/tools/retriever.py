"""A retriever as a tool."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from clew.documents import Document
from clew.prompts.base import BasePromptTemplate, aformat_document, format_document
from clew.prompts.prompt import PromptTemplate
from clew.tools.structured import StructuredTool


class RetrieverInput(BaseModel):
    """What the model gives."""

    query: str = Field(description="what to look for")


def create_retriever_tool(
    retriever: Any,
    name: str,
    description: str,
    *,
    document_prompt: BasePromptTemplate[str] | None = None,
    document_separator: str = "\n\n",
    response_format: Literal["content", "content_and_artifact"] = "content",
) -> StructuredTool:
    """Make a tool that returns the documents a retriever finds, as text.

    document_prompt: how a document is shown, default its text. response_format: "content_and_artifact" returns the
    documents as the artifact.
    """
    prompt = document_prompt or PromptTemplate.from_template("{page_content}")

    def answer(texts: list[str], documents: list[Document]) -> Any:
        text = document_separator.join(texts)
        return (text, documents) if response_format == "content_and_artifact" else text

    def search(query: str) -> Any:
        documents = retriever.invoke(query)
        return answer([format_document(document, prompt) for document in documents], documents)

    async def asearch(query: str) -> Any:
        documents = await retriever.ainvoke(query)
        return answer([await aformat_document(document, prompt) for document in documents], documents)

    return StructuredTool(
        name=name,
        description=description,
        func=search,
        coroutine=asearch,
        args_schema=RetrieverInput,
        response_format=response_format,
    )
