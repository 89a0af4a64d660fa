"""The memory that recalls by meaning, whatever the age.

One turn is one document. What a retrieval put into the inputs is never stored again: not under this memory's key and
not under the keys that the caller excludes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, PrivateAttr

from clew._ids import new_id
from clew.documents import Document
from clew.memory._keys import get_prompt_input_key, messages_of
from clew.memory.base import BaseMemory
from clew.messages import AIMessage, BaseMessage, get_buffer_string
from clew.vectorstores import VectorStoreRetriever

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VectorStoreRetrieverMemory"]


class VectorStoreRetrieverMemory(BaseMemory):
    """Remember turns in a vector store and recall those near the input. Deprecated for new designs, supported.

    retriever: of the store; left out of dumps. memory_key: the key it fills. input_key: the key of the question; told
    from the inputs when None. return_docs: load documents rather than text. exclude_input_keys: keys that are not
    stored. include_input_keys: when given, the only input keys that are stored. metadata: of every document, such as
    the session or user, for filters and for `forget`. deduplicate: a turn that was stored before is not stored twice.
    `clear` deletes what this object stored, and nothing else.
    """

    retriever: VectorStoreRetriever = Field(exclude=True)
    memory_key: str = "history"
    input_key: str | None = None
    return_docs: bool = False
    exclude_input_keys: Sequence[str] = ()
    include_input_keys: Sequence[str] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    deduplicate: bool = False
    _stored: list[str] = PrivateAttr(default_factory=list)

    @property
    def memory_variables(self) -> list[str]:
        """The one key that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the stored turns that are near the input."""
        return self._documents_to_memory_variables(self.retriever.invoke(self._query(inputs)))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the stored turns that are near the input."""
        return self._documents_to_memory_variables(await self.retriever.ainvoke(self._query(inputs)))

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn as one document."""
        self._stored.extend(self.retriever.add_documents(self._form_documents(inputs, outputs)))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn as one document."""
        self._stored.extend(await self.retriever.aadd_documents(self._form_documents(inputs, outputs)))

    def clear(self) -> None:
        """Delete what this object stored."""
        ids, self._stored = self._stored, []
        if ids:
            self.retriever.vectorstore.delete(ids)

    async def aclear(self) -> None:
        """Delete what this object stored."""
        ids, self._stored = self._stored, []
        if ids:
            await self.retriever.vectorstore.adelete(ids)

    def _query(self, inputs: dict[str, Any]) -> str:
        return _text(inputs[self._get_prompt_input_key(inputs)])

    def _get_prompt_input_key(self, inputs: dict[str, Any]) -> str:
        return self.input_key or get_prompt_input_key(inputs, self.memory_variables)

    def _documents_to_memory_variables(self, docs: list[Document]) -> dict[str, Any]:
        return {self.memory_key: docs if self.return_docs else "\n".join(doc.page_content for doc in docs)}

    def _form_documents(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Document]:
        excluded = {*self.exclude_input_keys, self.memory_key}
        kept = {
            key: value
            for key, value in inputs.items()
            if key not in excluded and (self.include_input_keys is None or key in self.include_input_keys)
        }
        lines = [f"{key}: {_text(value)}" for key, value in [*kept.items(), *outputs.items()]]
        content = "\n".join(lines)
        return [Document(page_content=content, metadata=dict(self.metadata), id=self._id(content))]

    def _id(self, content: str) -> str:
        if not self.deduplicate:
            return new_id()
        scope = repr(sorted(self.metadata.items()))
        return hashlib.sha256(f"{scope}\x00{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _text(value: Any) -> str:
    """Return what is stored of a value: of messages, their lines, tool calls and results included."""
    if isinstance(value, str):
        return value
    if isinstance(value, BaseMessage):
        return value.text if not getattr(value, "tool_calls", None) else get_buffer_string([value])
    if isinstance(value, (list, tuple)) and any(isinstance(item, BaseMessage) for item in cast("list[Any]", value)):
        return get_buffer_string(messages_of(value, AIMessage))
    return str(cast("object", value))
