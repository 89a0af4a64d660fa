"""Types of fields: what pydantic checks at run time, with their parameters stated for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import InstanceOf

from clew.language_models import BaseLanguageModel
from clew.prompts import BasePromptTemplate
from clew.runnables import Runnable

__all__ = ["AnyModel", "AnyPrompt", "AnyRunnable"]

if TYPE_CHECKING:
    AnyModel = BaseLanguageModel[Any]
    AnyPrompt = BasePromptTemplate[Any]
    AnyRunnable = Runnable[Any, Any]
else:
    AnyModel = BaseLanguageModel
    AnyPrompt = BasePromptTemplate
    AnyRunnable = InstanceOf[Runnable]
