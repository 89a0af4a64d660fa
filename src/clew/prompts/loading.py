"""Prompts in files.

A prompt file may name further files (template, examples) beside it or below, and nothing else: paths are resolved,
links included, and must stay inside the folder of the prompt file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from clew._lazy import need
from clew.prompts.base import BasePromptTemplate
from clew.prompts.few_shot import FewShotPromptTemplate
from clew.prompts.prompt import PromptTemplate

__all__ = [
    "load_prompt",
    "load_prompt_from_config",
]


def load_prompt(
    path: str | Path,
    encoding: str | None = None,
    *,
    allow_dangerous_paths: bool = False,
    root: str | Path | None = None,
) -> BasePromptTemplate[str]:
    """Return the template in a .json or .yaml file that you name.

    root: the folder that all files named inside must be in (default: that of the file). allow_dangerous_paths: no such
    limit. Raises: ValueError for a broken file, a path that leads out, or a jinja2 template.
    """
    file = Path(path)
    limit = None if allow_dangerous_paths else Path(root or file.parent).resolve()
    if root is not None:
        file = _inside(file, file.parent, limit)
    return load_prompt_from_config(_read(file, encoding or "utf-8"), base=file.parent, limit=limit)


def load_prompt_from_config(
    config: dict[str, Any], *, base: Path | None = None, limit: Path | None = None
) -> BasePromptTemplate[str]:
    """Return the template that a dict describes; without `base` it can't name files."""
    members = dict(config)
    kind = members.pop("_type", "prompt")
    if members.get("template_format") == "jinja2":
        raise ValueError("jinja2 templates can run code and are not loaded from files: build them in your program")
    members.pop("trusted", None)
    members.pop("input_types", None)
    for name in ("template", "prefix", "suffix"):
        if f"{name}_path" in members:
            if name in members:
                raise ValueError(f"both {name} and {name}_path are given")
            members[name] = _text(members.pop(f"{name}_path"), base, limit, (".txt", ".md"))
    if kind == "prompt":
        return PromptTemplate(**members)
    if kind == "few_shot":
        return _few_shot(members, base, limit)
    raise ValueError(f"can't load a prompt of type {kind!r}: use 'prompt' or 'few_shot'")


def _few_shot(members: dict[str, Any], base: Path | None, limit: Path | None) -> FewShotPromptTemplate:
    examples = members.get("examples")
    if isinstance(examples, str):
        members["examples"] = _parse(_resolve(examples, base, limit))
    if "example_prompt_path" in members:
        found = _resolve(members.pop("example_prompt_path"), base, limit)
        members["example_prompt"] = load_prompt_from_config(_read(found, "utf-8"), base=found.parent, limit=limit)
    elif isinstance(members.get("example_prompt"), dict):
        members["example_prompt"] = load_prompt_from_config(members["example_prompt"], base=base, limit=limit)
    return FewShotPromptTemplate(**members)


def _resolve(path: str, base: Path | None, limit: Path | None) -> Path:
    if base is None:
        raise ValueError("this prompt can't name files: load it with load_prompt(path)")
    return _inside(Path(path), base, limit)


def _inside(path: Path, base: Path, limit: Path | None) -> Path:
    found = (base / path).resolve()
    if limit is not None and not found.is_relative_to(limit):
        raise ValueError(f"the path {str(path)!r} leads out of {str(limit)!r}")
    return found


def _text(path: str, base: Path | None, limit: Path | None, suffixes: tuple[str, ...]) -> str:
    found = _resolve(path, base, limit)
    if found.suffix not in suffixes:
        raise ValueError(f"a template file ends in {' or '.join(suffixes)}, not {found.suffix!r}")
    return found.read_text(encoding="utf-8")


def _read(file: Path, encoding: str) -> dict[str, Any]:
    data = _parse(file, encoding)
    if not isinstance(data, dict):
        raise ValueError(f"{str(file)!r} does not hold a prompt")
    return cast("dict[str, Any]", data)


def _parse(file: Path, encoding: str = "utf-8") -> Any:
    text = file.read_text(encoding=encoding)
    if file.suffix == ".json":
        return json.loads(text)
    if file.suffix in (".yaml", ".yml"):
        return cast("Any", need("yaml", "all", "a prompt in YAML")).safe_load(text)
    raise ValueError(f"a prompt file ends in .json, .yaml or .yml, not {file.suffix!r}")


def save_prompt(prompt: BasePromptTemplate[Any], file_path: str | Path) -> None:
    """Write a template to a .json or .yaml file. Raises: ValueError if it has partial variables."""
    if prompt.partial_variables:
        raise ValueError("a template with partial variables can't be saved")
    file = Path(file_path)
    data = prompt.asdict()
    if file.suffix == ".json":
        text = json.dumps(data, indent=2, ensure_ascii=False)
    elif file.suffix in (".yaml", ".yml"):
        text = cast("Any", need("yaml", "all", "a prompt in YAML")).safe_dump(data, allow_unicode=True)
    else:
        raise ValueError(f"a prompt file ends in .json or .yaml, not {file.suffix!r}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
