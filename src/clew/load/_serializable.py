"""The base of components that can be written down as data, and what they say about it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from clew.load._dump import constructor, not_implemented


class Serializable(BaseModel):
    """A component that `dumpd` can describe: its class by id, its arguments, its secrets by name only.

    Override `is_lc_serializable` to return True where the arguments describe the object in full.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, defer_build=True, protected_namespaces=(), extra="ignore", validate_by_name=True
    )

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Tell whether `dumpd` may describe objects of this class by their arguments."""
        return False

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Return the path of the class's module; of the package, for classes of this library."""
        path = cls.__module__.split(".")
        return path[:2] if path[0] == "clew" else path

    @classmethod
    def lc_id(cls) -> list[str]:
        """Return the id of the class in dumps: namespace and name."""
        return [*cls.get_lc_namespace(), cls.__name__.partition("[")[0]]

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Field name -> name of the secret (an environment variable, say) that stands for its value in dumps."""
        return {}

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Further arguments for dumps, beside the fields."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return the description that `dumpd` writes."""
        return constructor(self) if self.is_lc_serializable() else self.to_json_not_implemented()

    def to_json_not_implemented(self) -> dict[str, Any]:
        """Return the description of an object that can't be rebuilt."""
        return not_implemented(self)
