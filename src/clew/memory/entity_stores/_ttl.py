"""The rules of notes that expire: a day after writing, three days after the last reading."""

from __future__ import annotations

DAY = 24 * 60 * 60
TTL = DAY
RECALL_TTL = 3 * DAY


def session_prefix(key_prefix: str, session_id: str) -> str:
    """Return what the keys of a session begin with; a colon in the session's id is escaped, so none begins another."""
    escaped = session_id.replace("%", "%25").replace(":", "%3A")
    return f"{key_prefix}:{escaped}"


def pattern(prefix: str) -> str:
    """Return the glob that matches the keys of a session and no others."""
    return "".join(f"\\{letter}" if letter in "*?[]\\^-" else letter for letter in prefix) + ":*"
