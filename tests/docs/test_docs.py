"""README, docs pages and docstring examples run.

The ```python blocks of a page run in order in one namespace, in an empty folder. A block is left out only
when the line before it is `<!-- not run: why -->`. A ```text block must be what the block before it printed.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pathlib
import pkgutil
import re
import sys
import types

import pytest

import clew

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"(?P<skip><!-- not run: [^\n]+ -->\n)?```(?P<kind>python|text)\n(?P<code>.*?)```", re.S)
MODULES = sorted(m.name for m in pkgutil.walk_packages(clew.__path__, "clew.", onerror=lambda _: None))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_page_runs(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    text, printed = page.read_text(), ""
    for match in BLOCK.finditer(text):
        line = text[: match.start("code")].count("\n")
        if match["kind"] == "text":
            assert match["code"].strip() == printed.strip(), (
                f"{page.name}:{line + 1}: what the example prints"
            )
        elif not match["skip"]:
            out = io.StringIO()
            code = compile("\n" * line + match["code"], str(page), "exec", dont_inherit=True)
            with contextlib.redirect_stdout(out):
                exec(code, vars(module))
            printed = out.getvalue()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pathlib.Path(clew.__file__).parents[1] / (name.replace(".", "/") + ".py")
    if not source.exists():
        source = source.with_suffix("") / "__init__.py"
    if ">>> " not in source.read_text():
        return
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
        if not target.startswith(("http:", "https:", "mailto:")) and not (page.parent / target).exists()
    ]
    assert dead == []
