"""The base of components: runnables that are pydantic models.

In a file of its own, since it loads pydantic's models and most of what composes runnables does not need them.
"""

from __future__ import annotations

from typing import Any

from clew.load._serializable import Serializable
from clew.runnables.base import Input, Output, Runnable


class RunnableSerializable(Serializable, Runnable[Input, Output]):
    """Base of components that users subclass and configure: pydantic models that are runnables."""

    name: str | None = None

    def configurable_fields(self, **kwargs: Any) -> RunnableSerializable[Input, Output]:
        """Return a component whose named fields can be set per call.

        kwargs: field -> ConfigurableField(id=…) or one of the option forms; the value comes from `configurable[id]`.
        Raises: ValueError if there is no such field.
        """
        from clew.runnables.configurable import RunnableConfigurableFields

        return RunnableConfigurableFields(default=self, fields=kwargs)  # pyright: ignore[reportReturnType] - it stands for the component

    def configurable_alternatives(
        self, which: Any, *, default_key: str = "default", prefix_keys: bool = False, **kwargs: Any
    ) -> RunnableSerializable[Input, Output]:
        """Return a component that is replaced by an alternative when `configurable[which.id]` says so.

        kwargs: key -> runnable, or a function that makes it. prefix_keys: ids of an alternative's own fields are
            written `id==key/field`.
        """
        from clew.runnables.configurable import RunnableConfigurableAlternatives

        return RunnableConfigurableAlternatives(  # pyright: ignore[reportReturnType] - it stands for the component
            which=which, default=self, alternatives=kwargs, default_key=default_key, prefix_keys=prefix_keys
        )
