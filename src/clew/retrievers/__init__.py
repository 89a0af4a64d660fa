"""Retrievers: from a question to documents."""

from clew.retrievers.base import BaseRetriever

__all__ = ["BaseRetriever"]
