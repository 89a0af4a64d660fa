"""Fixtures of this folder."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_global_cache() -> Iterator[None]:
    from clew.globals import set_llm_cache

    yield
    set_llm_cache(None)
