"""Pieces of text with metadata, as vector stores and retrievers give them."""

from clew.documents.base import BaseDocumentCompressor, BaseDocumentTransformer, Document

__all__ = ["BaseDocumentCompressor", "BaseDocumentTransformer", "Document"]
