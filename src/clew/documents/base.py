"""Documents, and what transforms them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clew.messages._model import copy_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


class _Page(msgspec.Struct, omit_defaults=True):
    page_content: str


class Document(_Page, kw_only=True, omit_defaults=True, tag="Document", tag_field="_"):
    """A text and what is known about it. id: unique in its collection, or None."""

    metadata: dict[str, Any] = {}
    id: str | None = None
    type: str = "Document"

    def __post_init__(self) -> None:
        if not isinstance(self.page_content, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
            raise ValueError(f"page_content must be a str, not {type(self.page_content).__name__}")
        if self.id is not None and not isinstance(self.id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.id = str(self.id)

    def __str__(self) -> str:
        if self.metadata:
            return f"page_content='{self.page_content}' metadata={self.metadata}"
        return f"page_content='{self.page_content}'"

    def model_dump(self, *, exclude: Any = None, include: Any = None, **_: Any) -> dict[str, Any]:
        """Return the fields as a dict of new containers."""
        out = {
            "id": self.id,
            "metadata": copy_value(self.metadata),
            "page_content": self.page_content,
            "type": self.type,
        }
        if include is not None:
            out = {key: value for key, value in out.items() if key in include}
        return {key: value for key, value in out.items() if exclude is None or key not in exclude}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with deep=True the metadata is copied as well."""
        out = copy(self)
        if deep:
            out.metadata = copy_value(out.metadata)
        for name, value in (update or {}).items():
            setattr(out, name, value)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.model_copy(deep=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Documents can always be written down."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names this class."""
        return ["langchain", "schema", "document"]

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Return the document that a document or dict describes. Raises: ValueError."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, dict):
            raise ValueError(f"expected a Document or a dict, not {type(obj).__name__}")
        try:
            return cls(**cast("dict[str, Any]", obj))
        except TypeError as error:
            raise ValueError(f"this is no Document: {error}") from error

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema as cs

        return cs.no_info_plain_validator_function(
            cls.model_validate,
            serialization=cs.plain_serializer_function_ser_schema(lambda document: document.model_dump()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "title": "Document",
            "type": "object",
            "properties": {
                "page_content": {"type": "string"},
                "metadata": {"type": "object"},
                "id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "type": {"const": "Document", "default": "Document"},
            },
            "required": ["page_content"],
        }


class BaseDocumentTransformer(ABC):
    """Turns documents into other documents (splits, filters, translates)."""

    @abstractmethod
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Return the transformed documents."""

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Return the transformed documents; by default in a worker thread."""
        from clew._pool import run_in_executor

        return await run_in_executor(None, self.transform_documents, documents, **kwargs)


class BaseDocumentCompressor(ABC):
    """Keeps of some documents what matters for a query."""

    @abstractmethod
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the documents, or their parts, that matter."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the documents that matter; by default in a worker thread."""
        from clew._pool import run_in_executor

        return await run_in_executor(None, self.compress_documents, documents, query, callbacks)
