"""Server-sent events out of bytes cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.providers import _sse

STREAM = (
    b": hello\n\nevent: a\ndata: 1\n\ndata:2\n\n: keep-alive\n\n"
    b"data: x\ndata: y\nid: 7\n\nevent: c\ndata: \xe4\xbd\xa0\n\n"
)
EVENTS = [("a", b"1"), ("", b"2"), ("", b"x\ny"), ("c", "你".encode())]


@given(st.lists(st.integers(1, 12)), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_do_not_depend_on_the_pieces(sizes: list[int], ending: bytes) -> None:
    data = STREAM.replace(b"\n", ending)
    pieces: list[bytes] = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    assert list(_sse.events([*pieces, data])) == EVENTS


def test_the_last_event_may_lack_its_blank_line() -> None:
    assert list(_sse.events([b"data: 1\n\ndata: 2"])) == [("", b"1"), ("", b"2")]


def test_an_event_without_data_is_none() -> None:
    assert list(_sse.events([b"event: ping\n\ndata: 1\n\n"])) == [("", b"1")]
