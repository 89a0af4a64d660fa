"""Text as words that can be looked up, in scripts with and without spaces.

A run of Chinese, Japanese or Korean characters becomes its overlapping pairs ("北京大学": 北京, 京大, 大学), which
needs no dictionary and finds every word of two characters or more; a single character stands for itself.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["segment"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_PART = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+")
_IS_CJK = re.compile(rf"[{_CJK}]")


def segment(text: str, *, singles: bool = False) -> list[str]:
    """Return the words of a text, in order, in one form whatever their width, case or composition.

    singles: also give each character of a run, so that a query of one character finds it (for what is indexed).
    """
    return list(_words(unicodedata.normalize("NFKC", text).casefold(), singles))


def _words(text: str, singles: bool) -> Iterator[str]:
    for match in _PART.finditer(text):
        part = match.group()
        if not _IS_CJK.match(part):
            yield part
            continue
        if len(part) == 1 or singles:
            yield from part
        for place in range(len(part) - 1):
            yield part[place : place + 2]
