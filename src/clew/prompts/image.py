"""Templates that make one image."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from clew.prompt_values import ImagePromptValue, ImageURL, PromptValue
from clew.prompts._template import PromptTemplateFormat
from clew.prompts.base import BasePromptTemplate
from clew.prompts.dict import compile_data

__all__ = [
    "ImagePromptTemplate",
]


class ImagePromptTemplate(BasePromptTemplate[ImageURL]):
    """An image by URL, with variables. Files are refused: load the data yourself."""

    template: dict[str, Any] = Field(default_factory=dict)
    template_format: PromptTemplateFormat = "f-string"

    def model_post_init(self, context: Any, /) -> None:
        """Read the template. Raises: ValueError."""
        if "path" in self.template or "path" in self.input_variables:
            raise ValueError("an image in a prompt is given by url, not by path: load the file yourself")
        names = compile_data(self.template, self.template_format)[0]
        self.input_variables = [name for name in names if name not in self.partial_variables] or self.input_variables
        super().model_post_init(context)

    @property
    def _prompt_type(self) -> str:
        return "image-prompt"

    def format(self, **kwargs: Any) -> ImageURL:
        """Return {"url", "detail"} for these variables. Raises: ValueError without a url."""
        values = self._with_partials(kwargs)
        image = compile_data(self.template, self.template_format)[1](values)
        url = image.get("url") or values.get("url")
        if not isinstance(url, str) or not url:
            raise ValueError("an image prompt needs a url")
        if "path" in kwargs:
            raise ValueError("an image in a prompt is given by url, not by path: load the file yourself")
        out = ImageURL(url=url)
        if detail := image.get("detail") or values.get("detail"):
            out["detail"] = detail
        return out

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """Return the image as a prompt value."""
        return ImagePromptValue(image_url=self.format(**kwargs))
