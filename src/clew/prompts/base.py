"""What all prompt templates share: named variables in, a prompt value out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import Field

from clew.runnables._entry import acall_observed, call_observed, plain
from clew.runnables.base import RunnableSerializable
from clew.runnables.config import merge_configs

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from clew.config import RunnableConfig
    from clew.documents import Document
    from clew.prompt_values import PromptValue

__all__ = [
    "BasePromptTemplate",
    "aformat_document",
    "format_document",
]

FormatOutputType = TypeVar("FormatOutputType")


class BasePromptTemplate(RunnableSerializable[Any, Any], Generic[FormatOutputType]):
    """A prompt with named variables; as a runnable it takes a dict and returns a PromptValue.

    input_variables: names that must be given. optional_variables: names that may be. partial_variables: values (or
    functions without arguments, called at each use) that are given already.
    """

    input_variables: list[str] = Field(default_factory=list)
    optional_variables: list[str] = Field(default_factory=list)
    input_types: dict[str, Any] = Field(default_factory=dict, exclude=True)
    output_parser: Any = None
    partial_variables: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Prompts are described by their arguments."""
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The path under which stored data names these classes."""
        return ["langchain", "schema", "prompt_template"]

    def model_post_init(self, context: Any, /) -> None:
        """Check the names. Raises: ValueError."""
        if "stop" in self.input_variables:
            raise ValueError("a variable can't be named 'stop': models take that keyword themselves")
        twice = set(self.input_variables) & set(self.partial_variables)
        if twice:
            raise ValueError(f"{sorted(twice)} are both input_variables and partial_variables")

    # -- formatting

    @abstractmethod
    def format(self, **kwargs: Any) -> FormatOutputType:
        """Return the formatted prompt."""

    async def aformat(self, **kwargs: Any) -> FormatOutputType:
        """Return the formatted prompt."""
        return self.format(**kwargs)

    @abstractmethod
    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the prompt value for these variables."""

    async def aformat_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the prompt value for these variables."""
        return self.format_prompt(**kwargs)

    def partial(self, **kwargs: Any) -> Self:
        """Return a template with some variables given; a value may be a function without arguments."""
        return self.model_copy(
            update={
                "input_variables": [name for name in self.input_variables if name not in kwargs],
                "optional_variables": [name for name in self.optional_variables if name not in kwargs],
                "partial_variables": {**self.partial_variables, **kwargs},
            }
        )

    def _with_partials(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The caller's values over the partial ones."""
        if not self.partial_variables:
            return values
        given = {key: value() if callable(value) else value for key, value in self.partial_variables.items()}
        given.update(values)
        return given

    def _from_input(self, value: Any) -> PromptValue:
        """The prompt value for what `invoke` was given."""
        return self.format_prompt(**self._checked(value))

    def _checked(self, value: Any) -> dict[str, Any]:
        """The input as a dict with all variables. Raises: TypeError, KeyError."""
        if not isinstance(value, Mapping):
            if len(self.input_variables) != 1:
                raise TypeError(
                    f"{type(self).__name__} takes a dict with {sorted(self.input_variables)}, "
                    f"not {type(value).__name__}"
                )
            return {self.input_variables[0]: value}
        values = cast("dict[str, Any]", value)
        for name in self.input_variables:
            if name not in values:
                raise self._missing(values)
        return values

    def _missing(self, values: Mapping[str, Any]) -> KeyError:
        names = [name for name in self.input_variables if name not in values]
        return KeyError(
            f"{type(self).__name__} needs the variables {sorted(self.input_variables)}; missing {sorted(names)}, "
            f"given {sorted(values)}. Write {{{{ and }}}} for braces that are meant literally."
        )

    # -- as a runnable

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> PromptValue:
        """Return the prompt value for a dict of variables (or the bare value of the only one)."""
        if config is None and plain():
            return self._from_input(input)
        return call_observed(
            self, lambda value, _child, _run: self._from_input(value), input, self._own(config), run_type="prompt"
        )

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> PromptValue:
        """Return the prompt value for a dict of variables."""
        if config is None and plain():
            return await self._afrom_input(input)

        async def body(value: Any, _child: Any, _run: Any) -> PromptValue:
            return await self._afrom_input(value)

        return await acall_observed(self, body, input, self._own(config), run_type="prompt")

    async def _afrom_input(self, value: Any) -> PromptValue:
        return await self.aformat_prompt(**self._checked(value))

    def _own(self, config: RunnableConfig | None) -> RunnableConfig | None:
        if self.tags or self.metadata:
            return merge_configs(cast("Any", {"tags": self.tags, "metadata": self.metadata}), config)
        return config

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return a pydantic model with one field per variable."""
        from pydantic import create_model

        fields: dict[str, Any] = {name: (self.input_types.get(name, str), ...) for name in self.input_variables}
        fields.update({name: (self.input_types.get(name, str), None) for name in self.optional_variables})
        return create_model("PromptInput", **fields)

    # -- as data

    @property
    def _prompt_type(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no type for files")

    def asdict(self, **kwargs: Any) -> dict[str, Any]:
        """Return the template as a dict for files."""
        return {**self.model_dump(exclude_none=True, **kwargs), "_type": self._prompt_type}

    def save(self, file_path: Path | str) -> None:
        """Write the template to a .json or .yaml file. Raises: ValueError if it has partial variables."""
        from clew.prompts.loading import save_prompt

        save_prompt(self, file_path)


def _document_values(doc: Document, prompt: BasePromptTemplate[str]) -> dict[str, Any]:
    known = {"page_content": doc.page_content, **doc.metadata}
    missing = [name for name in prompt.input_variables if name not in known]
    if missing:
        raise ValueError(f"the document has no {missing}; its metadata has {sorted(doc.metadata)}")
    return {name: known[name] for name in prompt.input_variables}


def format_document(doc: Document, prompt: BasePromptTemplate[str]) -> str:
    """Return a document as a prompt shows it: its page_content and metadata are the variables. Raises: ValueError."""
    return prompt.format(**_document_values(doc, prompt))


async def aformat_document(doc: Document, prompt: BasePromptTemplate[str]) -> str:
    """Return a document as a prompt shows it."""
    return await prompt.aformat(**_document_values(doc, prompt))
